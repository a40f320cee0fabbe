"""Reads the cases of ``cases/compare/*.toml``: generated documents, and the grammar in the language of each engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomllib

from comparison import documents

if TYPE_CHECKING:
    from comparison.vocabularies import TokenTable

_FOLDER = Path(__file__).parents[1] / "cases" / "compare"


@dataclass(frozen=True)
class Case:
    """A grammar in several languages and texts of its language."""

    name: str
    title: str
    grammars: dict[str, str]
    """Grammar by language."""
    texts: list[str]
    tokens: str
    """``tokenizer``, or ``bytes`` for a token per byte."""
    unambiguous: bool
    """Whether the cost of a token must not grow with its position."""
    differences: dict[str, str]
    """Reasons for expected differences of masks, by engine: its grammar cannot have exactly the same meaning."""
    least_gain: int
    """Aim: ratio of the mean of the best peer to that of grammask."""

    def tokenised(self, table: TokenTable) -> list[list[int]]:
        """Return the texts as tokens."""
        if self.tokens == "bytes":
            ids = [table.id_of_byte(byte) for byte in range(256)]
            return [[ids[byte] for byte in text.encode()] for text in self.texts]
        encoding = table.encoding()
        return [encoding.encode_ordinary(text) for text in self.texts]


def names() -> list[str]:
    """Return the names of all cases, in the order of the tables."""
    return [name for _, case in _definitions() for name in [case["name"]]]


def load(name: str, *, quick: bool) -> Case:
    """Read a case, with fewer and shorter texts if ``quick``."""
    file, definition = next(pair for pair in _definitions() if pair[1]["name"] == name)
    source = dict(definition["quick" if quick else "documents"])
    grammars = definition.get("grammar", file.get("grammar", {}))
    values = _values(definition)
    return Case(
        name=name,
        title=definition["title"],
        grammars={language: _fill_in(text, values) for language, text in grammars.items()},
        texts=documents.generate(source.pop("generator"), source),
        tokens=definition.get("tokens", "tokenizer"),
        unambiguous=definition["unambiguous"],
        differences=file.get("differences", {}),
        least_gain=definition.get("least_gain", 3),
    )


def _definitions() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each case with its file, which has the shared definitions."""
    order = (
        "json",
        "arithmetic",
        "recursion",
        "ambiguous",
        "c_like",
        "tool_call",
        "bounded_strings",
        "regexes",
        "literals",
    )
    files = (tomllib.loads((_FOLDER / f"{stem}.toml").read_text("utf-8")) for stem in order)
    return [(file, case) for file in files for case in file["case"]]


def _values(definition: dict[str, Any]) -> dict[str, str]:
    """Return the values of the placeholders ``@name@`` in the grammars."""
    values = {name: str(value) for name, value in definition.get("parameters", {}).items()}
    if "regex" in values:
        values["regex_slashes_escaped"] = values["regex"].replace("/", "\\/")
    if "words" in definition:
        words = documents.word_list(**definition["words"])
        values["words_quoted"] = " | ".join(f'"{word}"' for word in words)
    return values


def _fill_in(grammar: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        grammar = grammar.replace(f"@{name}@", value)
    return grammar
