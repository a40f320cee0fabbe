"""What tests of schemas share: the ``jsonschema`` library as oracle, an engine for texts, and slips of values."""

from __future__ import annotations

import decimal
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
from case_counts import LONG, by_profile
from grammask import (
    CompiledGrammar,
    Grammar,
    GrammarError,
    LimitExceeded,
    Limits,
    UnsupportedSchema,
    Vocabulary,
)
from hypothesis import HealthCheck, assume, event, settings

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

PROFILE = settings(
    max_examples=by_profile(60, 5_000),
    deadline=None,
    derandomize=not LONG,
    suppress_health_check=list(HealthCheck),
)
LIMITS = Limits(seconds=10)
EXACT = decimal.Context(prec=2_000, Emax=10_000, Emin=-10_000)

PIECES = [
    b"true",
    b"false",
    b"null",
    b'"a"',
    b'":',
    b'",',
    b"\\u00",
    b"10",
    b".0",
    b"},",
    b"]}",
    b"ab",
    "é".encode(),
]
VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), *PIECES, None], eos=256 + len(PIECES))
END = VOCABULARY.eos[0]

NAMES = ["a", "b", "c", "ab", "é", 'x"']
"""Names of members in random schemas and in slips."""

PLAIN_TEXTS = ["", "a", "b", "ab", "ba", "aab", "é", "你", "a/b", '"', "\\", "\n"]
PATTERNS = ["a", "^a", "^[ab]*$", "b{2}", "^.?$", "^(a|b)+é?$", "[^a]"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, -10, 0.5, 1.5, -2.5, 100]

GROUPS = [
    ["type", "enum", "const"],
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    ["minLength", "maxLength", "pattern"],
    [
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
    ],
    ["uniqueItems", "items", "minItems", "contains", "maxContains", "prefixItems"],
    ["properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"],
    ["properties", "required", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas"],
    ["allOf", "anyOf", "oneOf", "not", "$ref", "properties"],
    ["if", "then", "else", "properties", "type", "uniqueItems"],
    ["unevaluatedProperties", "unevaluatedItems", "properties", "prefixItems", "allOf", "anyOf"],
]
"""Keywords of random schemas that depend on each other, which are drawn together."""


def validator_for(schema: dict[str, Any]) -> Any:
    """Return the library's class for a schema; where `items` is true or false it breaks at `additionalItems`."""
    validator = jsonschema.validators.validator_for(schema)
    library = validator.VALIDATORS.get("additionalItems")
    if library is None:
        return validator

    def additional_items(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(schema.get("items"), list):
            yield from library(validator, additional, instance, schema) or ()

    return jsonschema.validators.extend(validator, {"additionalItems": additional_items})


class Oracle:
    """The ``jsonschema`` library with exact numbers, and without formats."""

    def __init__(self, schema: dict[str, Any]) -> None:
        exact = with_python_patterns(read(json.dumps(schema)))
        self._validator = validator_for(schema)(exact)

    def is_valid(self, text: str) -> bool:
        with decimal.localcontext(EXACT):
            return bool(self._validator.is_valid(read(text)))


MAPS = ("properties", "definitions", "$defs", "dependencies", "dependentSchemas")
"""Keywords whose members are named by the author of a schema, not by the standard."""


def with_python_patterns(schema: Any) -> Any:
    """Write patterns as Python means them: there `$` also matches before a last line end, and digits are Unicode's."""
    if isinstance(schema, list):
        return [with_python_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema

    def part_of(keyword: str, part: Any) -> Any:
        if keyword in ("enum", "const", "default", "examples"):
            return part
        if keyword == "pattern" and isinstance(part, str):
            return python_pattern(part)
        if keyword == "patternProperties" and isinstance(part, dict):
            return {python_pattern(name): with_python_patterns(inner) for name, inner in part.items()}
        if keyword in MAPS and isinstance(part, dict):
            return {name: with_python_patterns(inner) for name, inner in part.items()}
        return with_python_patterns(part)

    return {keyword: part_of(keyword, part) for keyword, part in schema.items()}


WHITE_SPACE = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What `\\s` is in ECMA-262, for a class of characters."""


def python_pattern(pattern: str) -> str:
    def rewritten(found: re.Match[str]) -> str:
        part = found[0]
        if part.startswith("["):
            return re.sub(r"\\(.)", lambda one: WHITE_SPACE if one[1] == "s" else one[0], part)
        return {"$": r"\Z", r"\s": f"[{WHITE_SPACE}]", r"\S": f"[^{WHITE_SPACE}]"}.get(part, part)

    return "(?a:" + re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", rewritten, pattern, flags=re.DOTALL) + ")"


def read(text: str) -> Any:
    """Read JSON with exact numbers; whole numbers are integers however they are written."""

    def number(digits: str) -> Any:
        value = EXACT.create_decimal(digits)
        whole = value == value.to_integral_value(context=EXACT) and value.adjusted() < 1_000
        return int(value) if whole else value

    return json.loads(text, parse_float=number)


def compiled_schema(schema: dict[str, Any], **options: Any) -> CompiledGrammar:
    grammar = Grammar.from_json_schema(schema, limits=LIMITS, **options)
    return grammar.compile(VOCABULARY, limits=LIMITS, cache=False)


def compiled_or_none(schema: dict[str, Any], **options: Any) -> CompiledGrammar | None:
    """Compile a schema; None if nothing satisfies it. What cannot be enforced is no example."""
    try:
        return compiled_schema(schema, **options)
    except (UnsupportedSchema, LimitExceeded) as error:
        event(error.code)
        assume(condition=False)
    except GrammarError as error:
        if error.code != "unsatisfiable-schema":
            raise
        event(error.code)
    return None


def accepts(compiled: CompiledGrammar | None, text: str) -> bool:
    return compiled is not None and compiled.is_valid(text.encode())


def string_bodies(text: str) -> list[str]:
    """The strings and names in a JSON text, as they are written between their quotes."""
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


def slip(value: Any, random_: random.Random) -> Any:
    """A value that differs a little."""
    kind = random_.randrange(4)
    if isinstance(value, dict) and value and kind:
        name = random_.choice(list(value))
        others = {other: part for other, part in value.items() if other != name}
        if kind == 1:
            return others
        return (
            {**others, name: slip(value[name], random_)}
            if kind == 2
            else {**others, random_.choice(NAMES): 1}
        )
    if isinstance(value, list) and value and kind:
        place = random_.randrange(len(value))
        inside = {1: [], 2: [slip(value[place], random_)], 3: [value[place]] * 2}[kind]
        return [*value[:place], *inside, *value[place + 1 :]]
    if isinstance(value, str) and kind:
        return value[1:] if kind == 1 else value + random_.choice("ab1é")
    if isinstance(value, int | float) and not isinstance(value, bool) and kind:
        return value + random_.choice([1, -1, 0.5])
    return random_.choice([None, True, 0, 1.5, "a", [], {}, {"a": 1}, ["a", 1]])


def is_plain(value: Any) -> bool:
    """Whether a value can be written so that it means the same to everybody."""
    if isinstance(value, dict):
        return all(is_plain(name) and is_plain(part) for name, part in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, str):
        return not any(0xD800 <= ord(character) < 0xE000 for character in value)
    return not isinstance(value, float) or value == 0 or 1e-4 < abs(value) < 1e15
