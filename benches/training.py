"""The workload of profile-guided optimisation: ``make profile`` runs it with an instrumented build.

    python benches/training.py common|features

The part ``common`` consists of seeded schemas with matching values, the grammars under ``examples/grammars`` and the
bundled languages with programs of ``testdata/languages``. The part ``features`` has a little of what other users
need: keys in any order, items that differ, token budgets, calls of tools, and code in answers. Its counts weigh less,
but what never runs is optimised for size. The vocabulary is the embedded one. The benchmarks measure none of these
texts, so a build that was trained with them has no advantage there over other work.
"""

from __future__ import annotations

import argparse
import json
import random
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
from grammask.texts import markdown_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

_ROOT = Path(__file__).parents[1]
_SCHEMAS = 400
_VALUES_PER_SCHEMA = 3
_SCHEMAS_WITH_OPTIONS = 50
_WORDS = [
    "name",
    "id",
    "type",
    "value",
    "items",
    "title",
    "description",
    "address",
    "street",
    "city",
    "country",
    "state",
    "status",
    "created",
    "updated",
    "owner",
    "email",
    "phone",
    "price",
    "amount",
    "currency",
    "count",
    "total",
    "tags",
    "labels",
    "version",
    "options",
    "settings",
    "enabled",
    "path",
    "url",
    "host",
    "port",
]
_TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "Größe und Gewicht: 12 kg",
    'a "quoted" word, a \\ and a\nnew line',
    "東京都千代田区",
    "https://example.org/a/b?c=d#e",
    "lorem ipsum dolor sit amet consectetur adipiscing elit",
)
_FORMATTED = {
    "date": "2024-02-29",
    "date-time": "2026-11-23T08:30:00Z",
    "time": "08:30:00Z",
    "email": "someone@example.org",
    "ipv4": "192.0.2.17",
    "uri": "https://example.org/a?b=c",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "hostname": "www.example.org",
}
_PATTERNS = {
    "^[a-z]+[0-9]{2,4}$": "abc123",
    "^[A-Z]{2}-[0-9]+$": "DE-4711",
    "^#[0-9a-f]{6}$": "#00ff7f",
    "^(foo|bar)": "foobar",
    r"\.json$": "settings.json",
    r"^\d+(\.\d+){2}$": "1.20.3",
}


def main() -> None:
    """Run a part of the workload once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("part", choices=("common", "features"))
    if parser.parse_args().part == "common":
        _run_common()
    else:
        _run_features()


def _run_common() -> None:
    vocabulary = grammask.Vocabulary.default()
    reader = _Reader(vocabulary)
    rng = random.Random(20261123)
    for _ in range(_SCHEMAS):
        schema, values = _described(rng, 4)
        text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema)
        compiled = grammask.Grammar.from_json_schema(text).compile(vocabulary, cache=False)
        for value in values:
            reader.read(compiled, json.dumps(value, ensure_ascii=rng.random() < 0.5))
    for file, start, texts in _small_grammars(rng):
        compiled = grammask.Grammar.from_kbnf(file.read_text("utf-8"), start=start).compile(
            vocabulary, cache=False
        )
        for text in texts:
            reader.read(compiled, text)
    for pattern, text in _PATTERNS.items():
        anchored = pattern if pattern.endswith("$") else f"{pattern}.*"
        compiled = grammask.Grammar.from_regex(anchored.strip("^$")).compile(vocabulary, cache=False)
        reader.read(compiled, text)
    words = sorted({"".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 12))) for _ in range(3000)})
    compiled = grammask.Grammar.from_choices(words).compile(vocabulary, cache=False)
    for word in words[::20]:
        reader.read(compiled, word)
    for name, file in (
        ("c", "sample.c"),
        ("go", "sample.go"),
        ("java", "Sample.java"),
        ("javascript", "sample.js"),
    ):
        compiled = grammask.Grammar.bundled(name).compile(vocabulary, cache=False)
        reader.read(compiled, (_ROOT / "testdata" / "languages" / file).read_text("utf-8"))


def _run_features() -> None:
    vocabulary = grammask.Vocabulary.default()
    reader = _Reader(vocabulary)
    rng = random.Random(20261127)
    for number in range(_SCHEMAS_WITH_OPTIONS):
        schema, values = _described(rng, 4)
        options: Any = {"key_order": "any", "unique_names": rng.random() < 0.5 or "counted"}
        compiled = grammask.Grammar.from_json_schema(schema, **options).compile(vocabulary, cache=False)
        reader.read(compiled, json.dumps(_shuffled(rng, values[0])))
        if number % 5 == 0:
            reader.read_within_budget(compiled, json.dumps(values[0]))
    different: list[tuple[dict[str, Any], list[Any]]] = [
        ({"type": "string"}, [f"{word} {number}" for word in _WORDS for number in range(2)]),
        ({"type": "integer"}, rng.sample(range(10_000), 40)),
        (
            {"type": "object", "properties": {"name": {"type": "string"}, "id": {"type": "integer"}}},
            [{"name": word, "id": id} for id, word in enumerate(_WORDS)],
        ),
    ]
    for items, values in different:
        schema: dict[str, Any] = {"type": "array", "items": items, "uniqueItems": True, "minItems": 2}
        compiled = grammask.Grammar.from_json_schema(schema).compile(vocabulary, cache=False)
        reader.read(compiled, json.dumps(values))
        reader.read_within_budget(compiled, json.dumps(values[:3]))
    tools = []
    for word in _WORDS[:5]:
        parameters, values = _described(rng, 4)
        tools.append({"type": "function", "function": {"name": word, "parameters": parameters}})
    for style in ("hermes", "llama3", "mistral"):
        grammar = grammask.Grammar.from_tools(tools, style=style, vocabulary=vocabulary)
        reader.read(grammar.compile(vocabulary, cache=False), "I look it up for you, one moment please.")
    call = {"name": _WORDS[4], "arguments": values[0]}
    grammar = grammask.Grammar.from_tools(tools, style="hermes", vocabulary=vocabulary)
    text = f"I look it up.\n<tool_call>\n{json.dumps(call)}\n</tool_call>"
    reader.read(grammar.compile(vocabulary, cache=False), text)
    program = (_ROOT / "examples" / "demo.py").read_text("utf-8")
    reader.read(grammask.Grammar.bundled("python").compile(vocabulary, cache=False), program)
    query = (
        "SELECT name, count(*) FROM people WHERE age > 18 AND city = 'Oslo' GROUP BY name ORDER BY 2 DESC;\n"
    )
    reader.read(grammask.Grammar.bundled("sql").compile(vocabulary, cache=False), query)
    answer = (
        f"Some words before it.\n\n```python\n{program}```\n\nAnd a query:\n\n```sql\n{query}```\n\n- done\n"
    )
    compiled = markdown_answer(code=["python", "sql"]).compile(vocabulary, cache=False)
    reader.read(compiled, answer)
    reader.read_within_budget(compiled, "Short:\n\n```sql\nSELECT name FROM people;\n```\n")


def _shuffled(rng: random.Random, value: Any) -> Any:
    """Return a value with the members of its objects in another order."""
    if isinstance(value, dict):
        return {name: _shuffled(rng, value[name]) for name in rng.sample(sorted(value), len(value))}
    return [_shuffled(rng, item) for item in value] if isinstance(value, list) else value


class _Reader:
    """Fills masks and accepts tokens along texts, each split into the longest possible tokens."""

    def __init__(self, vocabulary: grammask.Vocabulary) -> None:
        self._mask: npt.NDArray[np.int32] = grammask.allocate_mask(1, vocabulary.size)
        self._ids: dict[bytes, int] = {}
        for token, text in enumerate(vocabulary.tokens()):
            if text:
                self._ids.setdefault(text, token)
        self._longest = 16

    def read(self, compiled: grammask.CompiledGrammar, text: str) -> None:
        """Process a text twice, the second time in visited states."""
        for _ in range(2):
            matcher = compiled.matcher()
            for token in self._tokens(text.encode()):
                matcher.fill_mask(self._mask)
                if not matcher.accept(token):
                    break
            matcher.fill_mask(self._mask)

    def read_within_budget(self, compiled: grammask.CompiledGrammar, text: str) -> None:
        """Process a text once, with few tokens more than it needs."""
        tokens = list(self._tokens(text.encode()))
        matcher = compiled.matcher()
        matcher.budget = max(len(tokens) + 3, matcher.tokens_to_finish)
        for token in tokens:
            matcher.fill_mask(self._mask)
            if not matcher.accept(token):
                break

    def _tokens(self, text: bytes) -> Iterator[int]:
        position = 0
        while position < len(text):
            end = min(position + self._longest, len(text))
            while text[position:end] not in self._ids:
                end -= 1
            yield self._ids[text[position:end]]
            position = end


def _described(rng: random.Random, depth: int) -> tuple[dict[str, Any], list[Any]]:
    """Return a schema and matching values."""
    kinds = [_text, _number, _choice, _formatted, _matched]
    if depth:
        kinds += [_object] * (6 if depth == 4 else 2) + [_array, _one_of]
    return rng.choice(kinds)(rng, depth) if depth < 4 else _object(rng, depth)


def _text(rng: random.Random, _: int) -> tuple[dict[str, Any], list[Any]]:
    schema: dict[str, Any] = {"type": "string"}
    if rng.random() < 0.3:
        schema |= {"minLength": rng.randint(0, 2), "maxLength": rng.choice([80, 100, 255])}
    return schema, rng.sample(_TEXTS, _VALUES_PER_SCHEMA)


def _number(rng: random.Random, _: int) -> tuple[dict[str, Any], list[Any]]:
    kind = rng.choice(["integer", "number"])
    schema: dict[str, Any] = {"type": kind}
    if rng.random() < 0.4:
        schema |= {"minimum": 0} | ({"maximum": 10 ** rng.randint(2, 6)} if rng.random() < 0.5 else {})
    values: list[Any] = [rng.randint(0, 99) for _ in range(_VALUES_PER_SCHEMA)]
    return schema, values if kind == "integer" else [value + 0.25 for value in values]


def _choice(rng: random.Random, _: int) -> tuple[dict[str, Any], list[Any]]:
    values: list[Any] = rng.sample(_WORDS, rng.randint(3, 8))
    if rng.random() < 0.3:
        return {"type": ["boolean", "null"]}, [True, False, None]
    return {"enum": values}, values[:_VALUES_PER_SCHEMA]


def _formatted(rng: random.Random, _: int) -> tuple[dict[str, Any], list[Any]]:
    name = rng.choice(sorted(_FORMATTED))
    return {"type": "string", "format": name}, [_FORMATTED[name]] * _VALUES_PER_SCHEMA


def _matched(rng: random.Random, _: int) -> tuple[dict[str, Any], list[Any]]:
    pattern = rng.choice(sorted(_PATTERNS))
    return {"type": "string", "pattern": pattern}, [_PATTERNS[pattern]] * _VALUES_PER_SCHEMA


def _array(rng: random.Random, depth: int) -> tuple[dict[str, Any], list[Any]]:
    schema, values = _described(rng, depth - 1)
    bounds = {"minItems": 1} if rng.random() < 0.3 else {}
    if rng.random() < 0.2:
        bounds["maxItems"] = 10
    return {"type": "array", "items": schema} | bounds, [
        values[: index + 1] for index in range(_VALUES_PER_SCHEMA)
    ]


def _one_of(rng: random.Random, depth: int) -> tuple[dict[str, Any], list[Any]]:
    schema, values = _described(rng, depth - 1)
    return {rng.choice(["anyOf", "oneOf"]): [schema, {"type": "null"}]}, [*values[1:], None]


def _object(rng: random.Random, depth: int) -> tuple[dict[str, Any], list[Any]]:
    names = rng.sample(_WORDS, rng.randint(2, 9))
    members = {name: _described(rng, depth - 1) for name in names}
    required = [name for name in names if rng.random() < 0.6]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: part for name, (part, _) in members.items()},
        "required": required,
    }
    values = [
        {name: found[index] for name, (_, found) in members.items() if name in required or rng.random() < 0.5}
        for index in range(_VALUES_PER_SCHEMA)
    ]
    style = rng.random()
    if style < 0.4:
        schema["additionalProperties"] = False
    elif style < 0.6:
        values[0]["x-other"] = "another"
    elif style < 0.7:
        schema["patternProperties"] = {"^x-": {"type": "string"}}
        values[0]["x-other"] = "another"
    if depth == 4 and rng.random() < 0.3:
        schema["$defs"] = {"part": schema["properties"][names[0]]}
        schema["properties"][names[0]] = {"$ref": "#/$defs/part"}
    return schema, values


def _small_grammars(rng: random.Random) -> Iterator[tuple[Path, str, list[str]]]:
    folder = _ROOT / "examples" / "grammars"
    value = [_described(rng, 4)[1] for _ in range(10)]
    yield folder / "json.kbnf", "object", [json.dumps({"a": value}), json.dumps({"a": value}, indent=2)]
    sums = [
        " + ".join(f"{rng.randint(1, 999)} * ({rng.randint(1, 9)} - x)" for _ in range(100)) for _ in range(3)
    ]
    yield folder / "arithmetic.kbnf", "start", [text.replace("x", "7") for text in sums]
    rows = [",".join(rng.sample(_WORDS, 4)) + "\n" for _ in range(50)]
    yield folder / "csv.kbnf", "record", rows


if __name__ == "__main__":
    main()
