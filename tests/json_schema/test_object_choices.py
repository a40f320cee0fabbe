"""Random choices between objects that constrain the same members, against the ``jsonschema`` library.

The branches share a few names and values, so most of them overlap, and a member or its absence decides between them.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema
import pytest
from case_counts import by_profile
from grammask import Grammar, GrammarError, Vocabulary

NAMES = "abcd"
CONSTANTS = ["x", "y", "z", "xy", 1, 2, True, None]
VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
SCHEMAS = by_profile(80, 5_000)


def member(draw: random.Random, depth: int) -> Any:
    """A schema for a member: a constant, a type, a pattern, a bound, or an object or array of such."""
    kind = draw.randrange(10)
    if kind < 3:
        return {"const": draw.choice(CONSTANTS)}
    if kind < 5:
        return {"enum": draw.sample(CONSTANTS, draw.randint(1, 3))}
    if kind == 5:
        return {"type": draw.choice(["string", "integer", "boolean", "object", "array", "null"])}
    if kind == 6:
        return {"pattern": draw.choice(["^x", "y$", "z"])}
    if kind == 7:
        return draw.choice([{"minimum": 2}, {"multipleOf": 2}, True, {"not": {"const": "x"}}])
    if kind == 8 and depth:
        return choice(draw, depth - 1)
    return {"type": "array", "items": {"const": draw.choice(CONSTANTS)}, "maxItems": 2}


def branch(draw: random.Random, depth: int) -> dict[str, Any]:
    """An object schema about some of the names."""
    names = draw.sample(NAMES, draw.randint(0, 3))
    schema: dict[str, Any] = {"properties": {name: member(draw, depth) for name in names}}
    if draw.random() < 0.5:
        schema["required"] = draw.sample(NAMES, draw.randint(0, 2))
    if draw.random() < 0.15:
        schema["additionalProperties"] = draw.choice([False, member(draw, 0)])
    if draw.random() < 0.1:
        schema["patternProperties"] = {"[ae]": member(draw, 0)}
    if draw.random() < 0.1:
        schema[draw.choice(["minProperties", "maxProperties"])] = draw.randint(1, 3)
    if draw.random() < 0.1:
        schema["dependentRequired"] = {draw.choice(NAMES): [draw.choice(NAMES)]}
    return schema


def choice(draw: random.Random, depth: int = 1) -> dict[str, Any]:
    """An object schema with a choice between branches."""
    schema = branch(draw, depth) | {"type": "object"}
    branches = [branch(draw, depth) for _ in range(draw.randint(2, 7))]
    kind = draw.randrange(5)
    if kind < 2:
        schema["oneOf"] = branches
    elif kind == 2:
        schema["anyOf"] = branches
    elif kind == 3:
        schema["allOf"] = [{"if": part, "then": branch(draw, depth)} for part in branches]
    else:
        schema["not"] = {draw.choice(["anyOf", "oneOf"]): branches[:3]}
    if draw.random() < 0.2:
        schema["unevaluatedProperties"] = draw.choice([False, member(draw, 0)])
    return schema


def value(draw: random.Random, depth: int = 1) -> Any:
    if depth and draw.random() < 0.2:
        return instance(draw, depth - 1)
    if draw.random() < 0.15:
        return draw.choices(CONSTANTS, k=draw.randint(0, 2))
    return draw.choice([*CONSTANTS, 3, "w"])


def instance(draw: random.Random, depth: int = 1) -> dict[str, Any]:
    names = draw.sample([*NAMES, "e"], draw.randint(0, 4))
    return {name: value(draw, depth) for name in names}


@pytest.mark.parametrize("key_order", ["declared", "any"])
def test_choices_between_objects(key_order: Any) -> None:
    compiled_schemas = valid = 0
    for seed in range(SCHEMAS):
        draw = random.Random(seed)
        schema = choice(draw)
        library = jsonschema.Draft202012Validator(schema)
        instances = [instance(draw) for _ in range(30)]
        verdicts = [library.is_valid(each) for each in instances]
        try:
            grammar = Grammar.from_json_schema(schema, key_order=key_order, whitespace="compact")
        except GrammarError as error:
            is_expected = error.code == "limit-exceeded" if any(verdicts) else True
            if not is_expected:
                pytest.fail(f"{error.code}: {seed} {schema}")
            continue
        compiled = grammar.compile(VOCABULARY, cache=False)
        compiled_schemas += 1
        for each, is_valid in zip(instances, verdicts, strict=True):
            orders = list(itertools.permutations(each.items()))
            texts = [json.dumps(dict(order), separators=(",", ":")).encode() for order in orders]
            if key_order == "any":
                accepted = {compiled.is_valid(text) for text in texts}
                # Members of nested objects keep their order, any of which is allowed.
                assert accepted == {is_valid}, (seed, schema, each)
            elif not any(isinstance(part, dict) for part in each.values()):
                assert any(compiled.is_valid(text) for text in texts) == is_valid, (seed, schema, each)
            elif any(compiled.is_valid(text) for text in texts):
                assert is_valid, (seed, schema, each)
            valid += is_valid
    assert compiled_schemas > SCHEMAS // 2
    assert valid > SCHEMAS


def overlapping(draw: random.Random, names: str, count: int) -> dict[str, Any]:
    """A ``oneOf`` whose branches constrain an object and the values of another one; no member tells them apart."""
    branches = []
    for _ in range(count):
        members = {name: member(draw, 0) for name in draw.sample(names, draw.randint(1, len(names) - 1))}
        options: dict[str, Any] = {"type": "object", "properties": members}
        if draw.random() < 0.8:
            options["additionalProperties"] = False
        if draw.random() < 0.2:
            options["required"] = draw.sample(names, 1)
        maps = {"type": "object", "additionalProperties": options}
        branches.append({"properties": {"a": options, "b": maps}})
    return {"type": "object", "oneOf": branches}


def nested(draw: random.Random, names: str) -> dict[str, Any]:
    """A value for the schemas of :func:`overlapping`."""
    objects = [{name: value(draw, 0) for name in draw.sample(names, draw.randint(0, 2))} for _ in range(3)]
    members: dict[str, Any] = {"a": objects[0], "b": dict(zip("xy", objects[1:], strict=True))}
    return {name: members[name] for name in "ab" if draw.random() < 0.8}


def spellings(each: dict[str, Any]) -> list[bytes]:
    """The texts of a value of :func:`nested`, with all orders of the innermost members."""
    objects = [each.get("a", {}), *each.get("b", {}).values()]
    orders = [[dict(order) for order in itertools.permutations(part.items())] for part in objects]
    texts = []
    for first, *others in itertools.product(*orders):
        members = {"a": first, "b": dict(zip("xy", others, strict=False))}
        ordered = {name: members[name] for name in each}
        texts.append(json.dumps(ordered, separators=(",", ":")).encode())
    return texts


def test_overlapping_branches_of_nested_objects() -> None:
    names = "cdefg"
    valid = 0
    for seed in range(SCHEMAS // 2):
        draw = random.Random(seed)
        schema = overlapping(draw, names, draw.randint(2, 5))
        library = jsonschema.Draft202012Validator(schema)
        instances = [nested(draw, names) for _ in range(40)]
        verdicts = [library.is_valid(each) for each in instances]
        try:
            grammar = Grammar.from_json_schema(schema, whitespace="compact")
        except GrammarError as error:
            if error.code != "unsatisfiable-schema" or any(verdicts):
                pytest.fail(f"{error.code}: {seed} {schema}")
            continue
        compiled = grammar.compile(VOCABULARY, cache=False)
        for each, is_valid in zip(instances, verdicts, strict=True):
            # One of the orders is the declared one.
            is_accepted = any(compiled.is_valid(text) for text in spellings(each))
            assert is_accepted == is_valid, (seed, schema, each)
            valid += is_valid
    assert valid > SCHEMAS


def test_many_overlapping_branches_share_their_rules() -> None:
    """Such branches are those of the workspace configuration of Angular; without sharing they exceed a limit."""
    Grammar.from_json_schema(overlapping(random.Random(1), "abcdefghijklmnopqrstuvwx", 8))


def test_a_condition_that_absorbs_another() -> None:
    """The absence of ``c`` satisfies two conditions, and the literals about ``d`` still count."""
    conditions = [
        {"if": {"properties": {"d": {"enum": []}}}, "then": {}},
        {"if": {"properties": {"d": {"const": "y"}}, "required": ["c"]}, "then": {}},
        {"if": {"properties": {"d": {"pattern": "^x"}}}, "then": {"properties": {"c": {"const": "y"}}}},
    ]
    schema = {"type": "object", "properties": {"c": {"type": "array"}}, "allOf": conditions}
    grammar = Grammar.from_json_schema(schema, key_order="any", whitespace="compact")
    compiled = grammar.compile(VOCABULARY, cache=False)
    for text in ('{"d":[]}', '{"d":"xa"}', '{"d":"y"}', '{"d":"a","c":[]}', "{}"):
        assert compiled.is_valid(text.encode()), text
    assert not compiled.is_valid(b'{"d":"xa","c":[]}')


@pytest.mark.parametrize("is_required", [False, True])
def test_unevaluated_members_under_a_discriminator(*, is_required: bool) -> None:
    """Conditions on one member exclude each other, so the members that they evaluate need no subsets of conditions."""
    kinds = [f"kind {number}" for number in range(40)]
    conditions = [
        {
            "if": {"properties": {"type": {"const": kind}}} | ({"required": ["type"]} if is_required else {}),
            "then": {"properties": {"host": {"type": "string"}, f"k{kind[5:]}": {}}, "required": ["host"]},
        }
        for kind in kinds
    ]
    schema = {
        "properties": {"type": {"enum": [*kinds, "other"]}, "name": {}},
        "allOf": conditions,
        "unevaluatedProperties": False,
    }
    library = jsonschema.Draft202012Validator(schema)
    grammar = Grammar.from_json_schema(schema | {"type": "object"}, key_order="any", whitespace="compact")
    compiled = grammar.compile(VOCABULARY, cache=False)
    for instance in (
        *(
            {"type": kind} | rest
            for kind in (kinds[0], kinds[39], "other")
            for rest in ({}, {"host": "h"}, {"k": 1})
        ),
        *(
            {"type": kind, "host": "h", f"k{name}": 1}
            for kind in (kinds[7], kinds[31])
            for name in ("7", "31")
        ),
        *({}, {"name": 1}, {"host": "h"}, {"host": "h", "name": 1, "k7": 1}, {"type": "other", "name": 1}),
        *(
            {"type": "kind 8", "host": 1},
            {"type": "kind 8", "host": "h", "name": 1, "x": 1},
            {"type": "none"},
        ),
    ):
        assert compiled.is_valid(json.dumps(instance, separators=(",", ":")).encode()) == library.is_valid(
            instance
        ), instance
