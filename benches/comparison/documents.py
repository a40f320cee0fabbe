"""Seeded generators of documents; each case names one of them.

Nothing is downloaded, and a seed determines the texts on all machines. All texts belong to the languages of the cases.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomllib

from comparison import programs

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = Path(__file__).parents[1] / "cases" / "words.toml"


def generate(generator: str, options: dict[str, Any]) -> list[str]:
    """Return the texts of a case."""
    return _GENERATORS[generator](random.Random(f"grammask {generator}"), **options)


def word_list(count: int, seed: int) -> list[str]:
    """Return distinct pronounceable words of lower-case letters."""
    random_ = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < count:
        words[
            "".join(
                random_.choice("bcdfghklmnprstvz") + random_.choice("aeiou")
                for _ in range(random_.randint(2, 6))
            )
        ] = None
    return list(words)


def _json_documents(random_: random.Random, sizes: list[int]) -> list[str]:
    """Return arrays of records, alternately indented and compact, of about the given sizes in bytes."""
    return [
        _json_document(random_, size, indent=None if index % 2 else 2) for index, size in enumerate(sizes)
    ]


def _json_document(random_: random.Random, size: int, indent: int | None) -> str:
    records: list[Any] = []
    written = 0
    while written < size:
        record = _json_value(random_, 0)
        records.append(record)
        written += len(json.dumps(record, indent=indent, ensure_ascii=False).encode()) + 2
    return json.dumps(records if len(records) > 1 else records[0], indent=indent, ensure_ascii=False)


def _json_value(random_: random.Random, depth: int) -> Any:
    kind = random_.random() if depth else 0.0
    if depth < 4 and kind < 0.22:
        return {
            random_.choice(["id", "name", "tags", "note", "price", "items", _sentence(random_, 2)])
            + str(index): _json_value(random_, depth + 1)
            for index in range(random_.randint(1, 6))
        }
    if depth < 4 and kind < 0.35:
        return [_json_value(random_, depth + 1) for _ in range(random_.randint(0, 5))]
    if kind < 0.75:
        text = _sentence(random_, random_.randint(1, 14))
        return text + random_.choice(["", "", "", '"quoted"', "\n", "\\path\\", "\x01"])
    if kind < 0.92:
        return random_.choice(
            [
                random_.randint(-5, 99_999),
                round(random_.uniform(-100, 1000), 3),
                1.5e-9 * random_.randint(1, 9),
            ]
        )
    return random_.choice([True, False, None])


def _sentence(random_: random.Random, count: int) -> str:
    words = _words()
    return " ".join(
        random_.choice(words["unusual"] if random_.random() < 0.04 else words["common"]) for _ in range(count)
    )


@cache
def _words() -> dict[str, list[str]]:
    words: dict[str, list[str]] = tomllib.loads(_WORDS.read_text("utf-8"))
    return words


def _arithmetic(random_: random.Random, sizes: list[int]) -> list[str]:
    """Return expressions with brackets, of about the given numbers of characters."""

    def expression(size: int) -> str:
        parts: list[str] = []
        open_brackets = length = 0
        while length < size or open_brackets:
            if length < size and open_brackets < 12 and random_.random() < 0.3:
                part = "("
                open_brackets += 1
            else:
                part = str(random_.randint(0, 9999))
                if random_.random() < 0.3:
                    part += "." + str(random_.randint(0, 99))
                while open_brackets and (length >= size or random_.random() < 0.35):
                    part += ")"
                    open_brackets -= 1
                if length < size or open_brackets:
                    part += random_.choice("+-*/")
            parts.append(part)
            length += len(part)
        text = "".join(parts)
        return text if text[-1] not in "+-*/(" else text + "1"

    return [expression(size) for size in sizes]


def _nested(random_: random.Random, depth: int) -> list[str]:  # noqa: ARG001
    """Return nested brackets."""
    return ["(" * depth + "x" + ")" * depth]


def _joined(random_: random.Random, items: int, separator: str, kind: str) -> list[str]:
    """Return items with separators: digits, numbers or words."""
    make: Callable[[], str] = {
        "digits": lambda: str(random_.randint(0, 9)),
        "numbers": lambda: str(random_.randint(0, 99_999)),
        "words": lambda: random_.choice(_words()["common"]),
    }[kind]
    text = make()
    for _ in range(items - 1):
        text += random_.choice(separator) + make()
    return [text]


def _repeated(random_: random.Random, text: str, times: int) -> list[str]:  # noqa: ARG001
    """Return repetitions of one text."""
    return [text * times]


def _tool_calls(random_: random.Random, sizes: list[int]) -> list[str]:
    """Return free text of about the given sizes, a trigger, and a call as JSON."""
    texts = []
    for size in sizes:
        text = ""
        while len(text) < size:
            text += _sentence(random_, random_.randint(4, 16)) + random_.choice(
                [". ", ", ", "? ", ".\n\n", " <b>", ": `x < 3` "]
            )
        call = {"name": _sentence(random_, 1), "arguments": _json_value(random_, 0)}
        texts.append(f"{text}<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>")
    return texts


def _bounded_strings(random_: random.Random, longest: int, characters: int) -> list[str]:
    """Return an array of strings of at most ``longest`` characters each and about ``characters`` in total."""
    strings: list[str] = []
    written = 0
    while written < characters:
        length = min(random_.randint(0, min(longest, 20_000)), characters)
        text = _sentence(random_, length // 2 + 1)[:length]
        strings.append(text)
        written += len(text) + 3
    return [json.dumps(strings, ensure_ascii=False, separators=(",", ":"))]


def _dates(random_: random.Random, count: int) -> list[str]:
    return [
        f"{random_.randint(1900, 2099)}-{random_.randint(1, 12):02}-{random_.randint(1, 28):02}"
        f"T{random_.randint(0, 23):02}:{random_.randint(0, 59):02}:{random_.randint(0, 59):02}"
        + random_.choice(["Z", "+02:00", ".125Z"])
        for _ in range(count)
    ]


def _emails(random_: random.Random, count: int) -> list[str]:
    words = _words()["common"]
    return [
        f"{random_.choice(words)}.{random_.choice(words)}{random_.randint(1, 99)}"
        + f"@{random_.choice(words)}-{random_.choice(words)}."
        + random_.choice(["example.org", "co.uk", "com"])
        for _ in range(count)
    ]


def _urls(random_: random.Random, count: int) -> list[str]:
    words = _words()["common"]
    return [
        f"https://www.{random_.choice(words)}.{random_.choice(['com', 'org', 'net'])}{random_.choice(['', ':8080'])}/"
        + "/".join(random_.choice(words) for _ in range(random_.randint(0, 5)))
        + random_.choice(["", f"?{random_.choice(words)}={random_.randint(1, 99)}&q=a%20b", "#top"])
        for _ in range(count)
    ]


def _identifiers(random_: random.Random, count: int) -> list[str]:
    words = [word for word in _words()["common"] + _words()["unusual"] * 4 if word.isidentifier()]
    return ["_".join(random_.choice(words) for _ in range(random_.randint(1, 5))) for _ in range(count)]


def _chosen_words(random_: random.Random, count: int, seed: int, items: int) -> list[str]:
    """Return comma-separated words of a list."""
    words = word_list(count, seed)
    return [",".join(random_.choice(words) for _ in range(items))]


def _programs(random_: random.Random, sizes: list[int]) -> list[str]:
    """Return programs of the C-like language, of about the given sizes in bytes."""
    return [programs.program(random_, size) for size in sizes]


_GENERATORS: dict[str, Callable[..., list[str]]] = {
    "arithmetic": _arithmetic,
    "bounded_strings": _bounded_strings,
    "chosen_words": _chosen_words,
    "dates": _dates,
    "emails": _emails,
    "identifiers": _identifiers,
    "joined": _joined,
    "json": _json_documents,
    "nested": _nested,
    "programs": _programs,
    "repeated": _repeated,
    "tool_calls": _tool_calls,
    "urls": _urls,
}
