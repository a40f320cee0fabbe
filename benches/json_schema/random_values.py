"""Compares verdicts on random values of random schemas with the ``jsonschema`` library, for a given time.

Usage: ``python benches/json_schema/random_values.py [--seconds N] [--seed N]``. Schemas have the keywords of draft 7 or
2020-12, nested three deep. Values are random ones, texts that the engine generates, and mutations of both. Each is
judged in any key order; in the declared order an accepted text must be valid. A text that repeats a name must be
rejected with ``unique_names=True``, and with ``"counted"`` if ``json.loads`` reads an invalid value from it. The exit
status is 1 if a verdict differs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from grammask import CompiledGrammar, Grammar, GrammarError, LimitExceeded
from schema_oracle import (
    END,
    GROUPS,
    LIMITS,
    NAMES,
    NUMBERS,
    PATTERNS,
    PLAIN_TEXTS,
    VOCABULARY,
    Oracle,
    is_plain,
    slip,
)

NAME_PATTERNS = ["^a", "b", "^é$", "^[a-c]$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
DRAFTS = {
    "7": "http://json-schema.org/draft-07/schema#",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_SCHEMAS_PER_LINE = 500
"""Number of schemas after which the counts are printed, for runs that are cut off."""
MAX_TEXT = 300
"""Maximum length of a generated text, in characters."""


class Schemas:
    """Draws schemas of a draft."""

    def __init__(self, draft: str, random_: random.Random) -> None:
        self._draft = draft
        self._random = random_

    def root(self) -> dict[str, Any]:
        """Return a schema that names its draft, with a shared definition."""
        node = self._keywords(2)
        if self._draft == "7" and "$ref" in node:
            node = {"allOf": [node]}
        shared = self.node(1)
        if "shared" in json.dumps(shared):
            shared = {"type": ["array", "null"], "items": {"$ref": "#/definitions/shared"}}
        return {"$schema": DRAFTS[self._draft], **node, "definitions": {"shared": shared}}

    def node(self, depth: int) -> Any:
        """Return a schema of at most this depth."""
        if not depth or self._random.randrange(10) == 0:
            leaves: list[Any] = [
                True,
                True,
                False,
                {},
                {"type": "string"},
                {"type": "integer"},
                {"enum": [1, "a"]},
            ]
            return self._random.choice(leaves)
        return self._keywords(depth)

    def value(self, depth: int) -> Any:
        """Return a value of the kind that the schemas constrain."""
        choose = self._random
        kind = choose.randrange(3) if depth else 0
        if kind == 1:
            items = [self.value(depth - 1) for _ in range(choose.randrange(5))]
            return [*items, *items[:1]] if choose.randrange(4) == 0 else items
        if kind == 2:
            return {name: self.value(depth - 1) for name in choose.sample(NAMES, choose.randrange(4))}
        return choose.choice([None, True, False, *NUMBERS, *PLAIN_TEXTS])

    def _keywords(self, depth: int) -> dict[str, Any]:
        choose = self._random
        known = {name: draw for name, draw in self._draws(depth - 1).items() if draw is not None}
        group = [name for name in choose.choice(GROUPS) if name in known]
        names = choose.sample(group, choose.randint(1, min(4, len(group))))
        if choose.randrange(2):
            names = ["type", *names]
        schema = {name: known[name]() for name in dict.fromkeys(names)}
        if self._draft == "7" and "$ref" in schema:
            return {"$ref": schema["$ref"]}
        return schema

    def _draws(self, depth: int) -> dict[str, Any]:
        """Return functions that draw the contents of keywords; None where the draft lacks the keyword."""
        choose = self._random
        is_new = self._draft != "7"

        def inner() -> Any:
            return self.node(depth)

        def some() -> list[Any]:
            return [inner() for _ in range(choose.randint(1, 3))]

        def by_name() -> dict[str, Any]:
            return {name: inner() for name in choose.sample(NAMES, choose.randrange(4))}

        def names() -> list[str]:
            return choose.sample(NAMES, choose.randrange(3))

        def small() -> int:
            return choose.randrange(4)

        def number() -> float:
            return choose.choice(NUMBERS)

        def kind() -> Any:
            return choose.choice([*TYPES, ["string", "integer"], ["object", "null"]])

        def different() -> list[Any]:
            drawn = [self.value(1) for _ in range(choose.randint(1, 4))]
            return list({json.dumps(value): value for value in drawn}.values())

        def name_schema() -> dict[str, Any]:
            if choose.randrange(2):
                return {"maxLength": small()}
            return {"enum": choose.sample(NAMES, choose.randint(1, 3))}

        return {
            "type": kind,
            "enum": different,
            "const": lambda: self.value(1),
            "minimum": number,
            "maximum": number,
            "exclusiveMinimum": number,
            "exclusiveMaximum": number,
            "multipleOf": lambda: choose.choice([1, 2, 5, 0.5, 0.25]),
            "minLength": small,
            "maxLength": small,
            "pattern": lambda: choose.choice(PATTERNS),
            "minItems": small,
            "maxItems": small,
            "uniqueItems": lambda: choose.randrange(4) > 0,
            "contains": inner,
            "properties": by_name,
            "required": names,
            "additionalProperties": inner,
            "patternProperties": lambda: {
                name: inner() for name in choose.sample(NAME_PATTERNS, choose.randrange(3))
            },
            "propertyNames": name_schema,
            "minProperties": small,
            "maxProperties": small,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": lambda: "#/definitions/shared",
            "items": inner if is_new else lambda: inner() if choose.randrange(2) else some(),
            "additionalItems": None if is_new else inner,
            "dependencies": None
            if is_new
            else lambda: {
                name: inner() if choose.randrange(2) else names()
                for name in choose.sample(NAMES, choose.randrange(3))
            },
            "prefixItems": some if is_new else None,
            "minContains": small if is_new else None,
            "maxContains": small if is_new else None,
            "dependentRequired": (lambda: {name: names() for name in names()}) if is_new else None,
            "dependentSchemas": by_name if is_new else None,
            "unevaluatedProperties": inner if is_new else None,
            "unevaluatedItems": inner if is_new else None,
        }


def main() -> int:
    """Compare for the given time, and print the counts and each difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="CPU time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--values", type=int, default=60, help="random values per schema")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    seed = options.seed * 10**9
    while time.process_time() < options.seconds:
        seed += 1
        counts += _compare(seed, options.values)
        if counts["schemas"] % _SCHEMAS_PER_LINE == 0:
            print(json.dumps(dict(sorted(counts.items()))), flush=True)
    print(json.dumps(dict(sorted(counts.items()))))
    return 1 if counts["differences"] else 0


def _compare(seed: int, value_count: int) -> Counter[str]:
    """Compare the verdicts on the values of one schema."""
    random_ = random.Random(seed)
    schemas = Schemas(random_.choice(list(DRAFTS)), random_)
    schema = schemas.root()
    unique_names = random_.choice([False, True, "counted"])
    numbers = random_.choice(["natural", "any"])
    counts = Counter({"schemas": 1})
    try:
        free = _compiled(schema, key_order="any", numbers=numbers, unique_names=unique_names)
        declared = _compiled(schema, numbers=numbers, unique_names=unique_names)
    except GrammarError as error:
        return counts + Counter({f"refused: {error.code}": 1})
    oracle = Oracle(schema)
    values = [schemas.value(2) for _ in range(value_count)]
    likely = [] if free is None else [_generated(free, random_) for _ in range(6)]
    read = [json.loads(text) for text in likely if text is not None and not _repeated(text)]
    values += [value for value in read if is_plain(value)]
    near = [slip(value, random_) for value in read for _ in range(3)]
    values += [value for value in near if is_plain(value)]
    for value in values:
        text = json.dumps(value if numbers == "any" else _with_natural_integers(value))
        if numbers == "natural" and re.search(r"\d{16}", text):
            continue  # Natural numbers have a maximum number of digits.
        verdicts = [(text, {oracle.is_valid(text)})]
        if unique_names:
            repeated = _with_repetition(text, value, random_)
            if repeated is not None:
                may_be_accepted = unique_names == "counted" and oracle.is_valid(
                    json.dumps(json.loads(repeated))
                )
                verdicts.append((repeated, {False, may_be_accepted}))
        for text, expected in verdicts:
            try:
                in_any_order = free is not None and free.is_valid(text.encode())
                in_order = declared is not None and declared.is_valid(text.encode())
            except LimitExceeded as error:
                counts[f"no verdict: {error.code}"] += 1
                continue
            if len(expected) == 1:
                counts["valid" if True in expected else "invalid"] += 1
            else:
                counts[f"repeated name {'accepted' if in_any_order else 'rejected'}"] += 1
            if in_any_order not in expected or (in_order and True not in expected):
                counts["differences"] += 1
                difference = {"seed": seed, "schema": schema, "text": text, "expected": sorted(expected)}
                print(json.dumps(difference), flush=True)
    return counts


def _with_repetition(text: str, value: Any, random_: random.Random) -> str | None:
    """Return the text of a value with another member of a name that one of its objects has; None if there is none."""
    objects = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict) and node:
            objects.append(node)
        stack.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else [])
    if not objects:
        return None
    chosen = random_.choice(objects)
    name = json.dumps(random_.choice(list(chosen)))
    member = json.dumps(random_.choice([*chosen.values(), 1, "", None]))
    before = json.dumps(chosen)
    members = random_.choice([f"{before[1:-1]}, {name}: {member}", f"{name}: {member}, {before[1:-1]}"])
    repeated = text.replace(before, f"{{{members}}}", 1)
    return repeated if repeated != text else None


def _with_natural_integers(value: Any) -> Any:
    """Return the value with whole numbers as integers, which natural numbers write without a point."""
    if isinstance(value, dict):
        return {name: _with_natural_integers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_natural_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _compiled(schema: dict[str, Any], **options: Any) -> CompiledGrammar | None:
    """Compile a schema; None if no value satisfies it."""
    try:
        grammar = Grammar.from_json_schema(schema, limits=LIMITS, **options)
    except GrammarError as error:
        if error.code == "unsatisfiable-schema":
            return None
        raise
    return grammar.compile(VOCABULARY, limits=LIMITS, cache=False)


def _generated(compiled: CompiledGrammar, random_: random.Random) -> str | None:
    """Return a text of random legal tokens, mostly short; None if it becomes too long, or a limit is exceeded."""
    try:
        return _random_text(compiled, random_)
    except LimitExceeded:
        return None


def _random_text(compiled: CompiledGrammar, random_: random.Random) -> str | None:
    matcher = compiled.matcher()
    text = b""
    while len(text) < MAX_TEXT:
        allowed = matcher.allowed_ids().tolist()
        if END in allowed and (len(allowed) == 1 or random_.random() < 0.3):
            return text.decode()
        pieces = [(token, VOCABULARY.token(token) or b"") for token in allowed if token != END]
        weights = [_weight(piece, is_late=len(text) > 60) for _, piece in pieces]
        token, piece = random_.choices(pieces, weights)[0]
        matcher.accept(token)
        text += piece
    return None


def _weight(piece: bytes, *, is_late: bool) -> float:
    if piece[:1] in (b'"', b"}", b"]"):
        return 200.0 if is_late else 8.0
    if piece in b" \t\n\r":
        return 0.001
    if piece[0] >= 0x80 or piece[0] < 0x20 or piece[:1] == b"\\":
        return 0.01 if is_late else 0.2
    if piece[:1] in b"[{,-eE+":
        return 0.05 if is_late else 2.0
    return 3.0 if piece in (b"a", b"b", b"ab", b"1", b"0", b":") else 0.5


def _repeated(text: str) -> bool:
    """Return whether an object of the text repeats a name."""
    repeated = False

    def look(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        repeated |= len({name for name, _ in members}) < len(members)
        return dict(members)

    json.loads(text, object_pairs_hook=look)
    return repeated


if __name__ == "__main__":
    sys.exit(main())
