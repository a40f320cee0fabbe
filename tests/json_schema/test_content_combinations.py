"""Random combinations of contents with other keywords equal a validator, or are refused."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import grammask
import pytest
from grammask import Grammar, UnsupportedSchema
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from peer_verdicts import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_BALANCED = Grammar.from_kbnf('start ::= "" | "(" start ")";')
_ALTERNATING = Grammar.from_kbnf('start ::= "" | "(" start "a";')
_WORDS = Grammar.from_regex("[(a]*")
_GRAMMARS = {"x/balanced": _BALANCED, "x/alternating": _ALTERNATING, "x/words": _WORDS}
_TEXTS = ["".join(letters) for length in range(5) for letters in itertools.product("()a", repeat=length)]


def _holds(media_type: str, text: str) -> bool:
    half = len(text) // 2
    match media_type:
        case "x/balanced":
            return text == "(" * half + ")" * half
        case "x/alternating":
            return text == "(" * half + "a" * half
        case "x/words":
            return ")" not in text
    msg = f"no such media type: {media_type}"
    raise AssertionError(msg)


def _check_content(_validator: Any, media_type: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _holds(media_type, value):
        yield ValidationError("another content")


_Validator = extend(Draft202012Validator, {"contentMediaType": _check_content})


def _schema(rng: random.Random, depth: int) -> dict[str, Any]:
    kind = rng.randrange(9 if depth else 5)
    match kind:
        case 0 | 1 | 2:
            media_types = ["x/balanced", "x/alternating", "x/words"]
            return {
                "type": rng.choice(["string", ["string", "null"]]),
                "contentMediaType": rng.choice(media_types),
            }
        case 3:
            return {"enum": rng.sample([*_TEXTS[:12], None, 1], 2)}
        case 4:
            return rng.choice(
                [{"type": "null"}, {"maxLength": 2, "type": "string"}, {"pattern": "^a"}, {"type": "integer"}]
            )
        case 5 | 6:
            return {"anyOf": [_schema(rng, depth - 1) for _ in range(2)]}
        case 7:
            return {rng.choice(["allOf", "oneOf"]): [_schema(rng, depth - 1) for _ in range(2)]}
    parts = [_schema(rng, depth - 1) for _ in range(3)]
    return rng.choice([{"not": parts[0]}, {"if": parts[0], "then": parts[1], "else": parts[2]}])


def _values() -> list[Any]:
    return [*_TEXTS, None, 1, 2]


@pytest.mark.parametrize("place", ["value", "member", "items", "branches"])
def test_verdicts_are_those_of_a_validator(place: str) -> None:
    counts = {"exact": 0, "refused": 0, "unsatisfiable": 0}
    for seed in range(400):
        rng = random.Random(f"{place} {seed}")
        inner = _schema(rng, 2)
        schema: dict[str, Any] = inner
        values = _values()
        if place == "member":
            schema = {"type": "object", "properties": {"p": inner}, "additionalProperties": False}
            values = [{}, *({"p": value} for value in values)]
        elif place == "items":
            other = _schema(rng, 1)
            schema = {"type": "array", "prefixItems": [inner], "items": False, "contains": other}
            values = [[], *([value] for value in values)]
        elif place == "branches":
            others = [_schema(rng, 1) for _ in range(2)]
            branches = [
                {"properties": {"k": {"const": index}, "p": each}, "required": ["k"]}
                for index, each in enumerate([inner, *others])
            ]
            schema = {
                "type": "object",
                "properties": {"k": {"enum": [0, 1, 2]}, "p": {"type": ["string", "null", "integer"]}},
                rng.choice(["oneOf", "anyOf"]): branches,
                "additionalProperties": False,
            }
            values = [{"k": k, "p": value} for k in range(3) for value in values[::3]]
        validator = _Validator(schema)
        try:
            compiled = Grammar.from_json_schema(
                schema, content="enforce", content_grammars=_GRAMMARS
            ).compile(BYTES)
        except UnsupportedSchema:
            counts["refused"] += 1
            continue
        except grammask.GrammarSemanticError:
            assert not any(validator.is_valid(value) for value in values), schema
            counts["unsatisfiable"] += 1
            continue
        for value in values:
            assert compiled.is_valid(json.dumps(value).encode()) == validator.is_valid(value), (schema, value)
        counts["exact"] += 1
    assert min(counts["exact"], counts["refused"]) > 40, counts
