"""Random schemas against the ``jsonschema`` library: what the engine accepts and generates is valid, in all spellings.

The short profile runs with the other tests. ``GRAMMASK_PROFILE=long`` runs many more examples. The oracle computes with
exact decimals. It knows no spelling, so instances are spelled here in the ways that the options allow.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from case_counts import by_profile
from hypothesis import assume, event, given, reject, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis_jsonschema import from_schema
from hypothesis_jsonschema._canonicalise import HypothesisRefResolutionError
from schema_oracle import (
    END,
    GROUPS,
    NAMES,
    NUMBERS,
    PATTERNS,
    PLAIN_TEXTS,
    PROFILE,
    VOCABULARY,
    Oracle,
    accepts,
    compiled_or_none,
    is_plain,
    slip,
    string_bodies,
    with_python_patterns,
)

if TYPE_CHECKING:
    from grammask import CompiledGrammar

TEXTS = [*PLAIN_TEXTS, "2020-01-01"]
INTEGERS = st.integers(0, 3)
MOST_ORDERS = 300


def values(depth: int = 2) -> st.SearchStrategy[Any]:
    """JSON values that the schemas below speak about."""
    scalars = st.sampled_from([None, True, False, *NUMBERS, *TEXTS])
    if not depth:
        return scalars
    inner = values(depth - 1)
    objects = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return scalars | st.lists(inner, max_size=4) | objects


def keywords(draft: str, inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Keywords with what can stand in them."""
    by_name = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    name_lists = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
    some = st.lists(inner, min_size=1, max_size=3)
    known: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
        | st.just(["string", "integer"])
        | st.just(["object", "null"]),
        "enum": st.lists(values(1), min_size=1, max_size=4, unique_by=json.dumps),
        "const": values(1),
        "minimum": st.sampled_from(NUMBERS),
        "maximum": st.sampled_from(NUMBERS),
        "exclusiveMinimum": st.sampled_from(NUMBERS),
        "exclusiveMaximum": st.sampled_from(NUMBERS),
        "multipleOf": st.sampled_from([1, 2, 5, 0.5, 0.25]),
        "minLength": INTEGERS,
        "maxLength": INTEGERS,
        "pattern": st.sampled_from(PATTERNS),
        "minItems": INTEGERS,
        "maxItems": INTEGERS,
        "uniqueItems": st.booleans(),
        "contains": inner,
        "properties": by_name,
        "required": name_lists,
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "^é$"]), inner, max_size=2),
        "propertyNames": st.fixed_dictionaries({"maxLength": INTEGERS})
        | st.fixed_dictionaries(
            {"enum": st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3)}
        ),
        "minProperties": INTEGERS,
        "maxProperties": INTEGERS,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.just("#/definitions/shared"),
    }
    if draft == "7":
        known |= {
            "items": inner | some,
            "additionalItems": inner,
            "dependencies": st.dictionaries(st.sampled_from(NAMES), inner | name_lists, max_size=2),
        }
    else:
        known |= {
            "prefixItems": some,
            "items": inner,
            "minContains": INTEGERS,
            "maxContains": INTEGERS,
            "dependentRequired": st.dictionaries(st.sampled_from(NAMES), name_lists, max_size=2),
            "dependentSchemas": by_name,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
        }
    return known


@st.composite
def nodes(draw: st.DrawFn, draft: str, depth: int) -> Any:
    """A schema without a root."""
    if not depth or draw(st.integers(0, 9)) == 0:
        return draw(
            st.sampled_from(
                [True, True, False, {}, {"type": "string"}, {"type": "integer"}, {"enum": [1, "a"]}]
            )
        )
    known = keywords(draft, nodes(draft, depth - 1))
    group = [name for name in draw(st.sampled_from(GROUPS)) if name in known]
    names = draw(st.lists(st.sampled_from(group), min_size=1, max_size=4, unique=True))
    if draw(st.booleans()):
        names = ["type", *names]
    schema = {name: draw(known[name]) for name in dict.fromkeys(names)}
    if draft == "7" and "$ref" in schema:
        return {"$ref": schema["$ref"]}
    return schema


@st.composite
def schemas(draw: st.DrawFn, draft: str) -> dict[str, Any]:
    """A schema that says its draft."""
    root = draw(nodes(draft, 2).filter(lambda node: isinstance(node, dict)))
    shared = draw(nodes(draft, 1))
    if "shared" in json.dumps(shared):
        shared = {"type": ["array", "null"], "items": {"$ref": "#/definitions/shared"}}
    uri = (
        "http://json-schema.org/draft-07/schema#"
        if draft == "7"
        else "https://json-schema.org/draft/2020-12/schema"
    )
    if draft == "7" and "$ref" in root:
        root = {"allOf": [root]}
    return {"$schema": uri, **root, "definitions": {"shared": shared}}


DRAFTED = st.sampled_from(["7", "2020-12"]).flatmap(schemas)


def orders(value: Any) -> list[Any] | None:
    """Return the value with the members of its objects in every order; None if these are too many."""
    found: Any = [value]
    if isinstance(value, list):
        parts = [orders(part) for part in value]
        if any(part is None for part in parts) or math.prod(map(len, filter(None, parts))) > MOST_ORDERS:
            return None
        found = [list(items) for items in itertools.product(*filter(None, parts))]
    if isinstance(value, dict):
        parts = [orders(part) for part in value.values()]
        count = math.prod(map(len, filter(None, parts))) * math.factorial(len(parts))
        if any(part is None for part in parts) or count > MOST_ORDERS:
            return None
        members = [[(name, part) for part in inner or ()] for name, inner in zip(value, parts, strict=True)]
        found = [
            dict(chosen)
            for permuted in itertools.permutations(members)
            for chosen in itertools.product(*permuted)
        ]
    return list(found)


@PROFILE
@given(DRAFTED, st.lists(values(), min_size=8, max_size=8), st.integers(0, 2**32))
def test_verdicts_are_those_of_the_oracle(schema: dict[str, Any], instances: list[Any], seed: int) -> None:
    oracle = Oracle(schema)
    # Verdicts are about values, so numbers may be written in any way.
    declared = compiled_or_none(schema, numbers="any")
    free = compiled_or_none(schema, numbers="any", key_order="any")
    for value in [*instances, *likely(free, random.Random(seed))]:
        text = json.dumps(value)
        expected = oracle.is_valid(text)
        event(f"valid: {expected}")
        assert accepts(free, text) == expected, text
        # In the declared order there is a way to write exactly the valid objects.
        in_order = orders(value)
        if in_order is not None:
            assert any(accepts(declared, json.dumps(order)) for order in in_order) == expected, text
        if accepts(declared, text):
            assert expected, text


@PROFILE
@given(schemas("7"), st.data())
def test_instances_that_another_generator_makes(schema: dict[str, Any], data: st.DataObject) -> None:
    oracle = Oracle(schema)
    free = compiled_or_none(schema, key_order="any")
    try:
        made = data.draw(st.lists(from_schema(with_python_patterns(schema)), max_size=5)) if free else []
    except (InvalidArgument, HypothesisRefResolutionError):
        reject()  # What it does not understand.
    for value in filter(is_plain, made):
        text = json.dumps(value)
        expected = oracle.is_valid(text)
        event(f"valid: {expected}")
        assert accepts(free, text) == expected, text


@settings(PROFILE, max_examples=by_profile(8, 5_000))
@given(st.integers(0, 2**32))
def test_many_members_are_judged_as_by_the_oracle(seed: int) -> None:
    random_ = random.Random(seed)
    names = [f"{random_.choice('abé')}{index}" for index in range(random_.randrange(4, 40))]
    few = [random_.sample(names, random_.randrange(3)) for _ in range(3)]
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {name: {"type": random_.choice(["integer", "string", "null"])} for name in names},
        "required": few[0],
        "dependentRequired": {
            name: random_.sample(names, random_.randrange(1, 3))
            for name in random_.sample(names, random_.randrange(len(names)))
        },
        "additionalProperties": random_.choice([False, {"type": "boolean"}]),
        **random_.choice(
            [
                {},
                {"not": {"required": few[1]}},
                {"anyOf": [{"required": few[1]}, {"required": few[2]}]},
                {"minProperties": 2, "maxProperties": 8},
                {"patternProperties": {"^x": {"type": "null"}}},
                {"if": {"required": few[1]}, "then": {"required": few[2]}, "else": {"maxProperties": 5}},
            ]
        ),
    }
    oracle = Oracle(schema)
    declared, free = compiled_or_none(schema), compiled_or_none(schema, key_order="any")
    for _ in range(20):
        chosen = random_.sample(names, random_.randrange(min(9, len(names) + 1)))
        needs = schema["dependentRequired"]
        if random_.random() < 0.7:
            for name in chosen:
                chosen += [other for other in needs.get(name, []) if other not in chosen]
        plain = {"integer": 1, "string": "a", "null": None}
        value: dict[str, Any] = {name: plain[schema["properties"][name]["type"]] for name in chosen}
        if random_.random() < 0.3:
            value[random_.choice([*names, "x", "y"])] = random_.choice([None, True, 1, "a"])
        expected = oracle.is_valid(json.dumps(value))
        event(f"valid: {expected}")
        members = list(value.items())
        random_.shuffle(members)
        assert accepts(free, json.dumps(dict(members))) == expected, members
        order = {name: place for place, name in enumerate(names)}
        in_order = dict(sorted(members, key=lambda member: order.get(member[0], len(names))))
        if "anyOf" not in schema and "if" not in schema and "not" not in schema:
            assert accepts(declared, json.dumps(in_order)) == expected, in_order
        elif accepts(declared, json.dumps(in_order)):
            assert expected, in_order


def likely(compiled: CompiledGrammar | None, random_: random.Random) -> list[Any]:
    """Values of texts that the engine generates, and slips of them."""
    found = []
    for _ in range(3 if compiled is not None else 0):
        text = generated(compiled, random_)
        value = text and json.loads(text)
        if text and not repeated_names(text) and len(text) < 300 and is_plain(value):
            near = [value, slip(value, random_), slip(slip(value, random_), random_)]
            found += [value for value in near if is_plain(value)]
    return found


UNENFORCEABLE = st.sampled_from(
    [
        {"pattern": r"(a)\1"},
        {"type": "array", "items": {"pattern": r"(a)\1"}, "minItems": 2},
        {"contains": {"pattern": r"(a)\1"}},
    ]
)


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with another one inside, in places where leaving it out loosens, and where that would tighten."""
    some = nodes("2020-12", 1)
    pairs = st.tuples(inner, some).map(list)
    return st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"oneOf": pairs}),
        st.fixed_dictionaries({"anyOf": pairs}),
        st.fixed_dictionaries({"allOf": pairs}),
        st.fixed_dictionaries({"if": inner, "then": some, "else": some}),
        st.fixed_dictionaries({"if": some, "then": inner}),
        st.fixed_dictionaries({"properties": st.fixed_dictionaries({"a": inner})}),
        st.fixed_dictionaries({"patternProperties": st.fixed_dictionaries({"^a": inner})}),
        st.fixed_dictionaries({"items": inner, "minItems": INTEGERS}),
        st.fixed_dictionaries({"contains": inner}),
        st.fixed_dictionaries({"anyOf": pairs, "unevaluatedItems": st.just(value=False)}),
    )


@PROFILE
@given(UNENFORCEABLE.flatmap(lambda leaf: st.recursive(st.just(leaf), around, max_leaves=3)), st.data())
def test_relaxing_only_loosens(schema: dict[str, Any], data: st.DataObject) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "definitions": {"shared": True},
    }
    compiled = compiled_or_none(schema, key_order="any", on_unsupported="relax")
    oracle = Oracle(schema)
    for value in data.draw(st.lists(values(), min_size=10, max_size=10)):
        text = json.dumps(value)
        if oracle.is_valid(text):
            assert accepts(compiled, text), text
    if compiled is not None and not compiled.relaxations:
        event("nothing relaxed")


SPELLINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"indent": 2, "ensure_ascii": False}),
    ({"whitespace": "compact"}, {"separators": (",", ":"), "ensure_ascii": False}),
    ({"separators": (", ", ": ")}, {}),
    ({"indent": 2}, {"indent": 2}),
    ({"indent": 0, "ensure_ascii": False}, {"indent": 0, "ensure_ascii": False}),
    ({"ensure_ascii": True, "whitespace": "compact"}, {"separators": (",", ":")}),
    ({"escapes": "any", "separators": (",", ":")}, {"separators": (",", ":")}),
    ({"numbers": "plain"}, {"ensure_ascii": False}),
]
"""Options of the grammar, and those of ``json.dumps`` that write what they allow."""


@PROFILE
@given(DRAFTED, st.lists(values(), min_size=6, max_size=6), st.integers(0, len(SPELLINGS) - 1))
def test_each_spelling_is_that_of_json_dumps(
    schema: dict[str, Any], instances: list[Any], index: int
) -> None:
    oracle = Oracle(schema)
    options, spelling = SPELLINGS[index]
    free = compiled_or_none(schema, key_order="any", **options)
    for value in instances:
        text = json.dumps(value, **spelling)
        assert accepts(free, text) == oracle.is_valid(text), text
        if options.keys() & {"separators", "indent", "whitespace"}:
            # No instance has white space in its strings, so all that is left out here stands between them.
            texts = {json.dumps(value, **other) for _, other in SPELLINGS} - {text}
            respaced = {other for other in texts if "".join(other.split()) == "".join(text.split())}
            assert not any(accepts(free, other) for other in respaced), (text, respaced)


@PROFILE
@given(
    DRAFTED,
    st.sampled_from(["declared", "any"]),
    st.sampled_from(SPELLINGS),
    st.integers(0, 2**32),
)
def test_generated_texts_are_valid(
    schema: dict[str, Any], key_order: str, spelling: tuple[dict[str, Any], dict[str, Any]], seed: int
) -> None:
    compiled = compiled_or_none(schema, key_order=key_order, **spelling[0])
    assume(compiled is not None)
    assert compiled is not None
    oracle = Oracle(schema)
    random_ = random.Random(seed)
    declared = declared_names(schema)
    for _ in range(4):
        text = generated(compiled, random_)
        if text is None:
            event("cut off")
            continue
        assert compiled.is_valid(text.encode()), text
        repeated = repeated_names(text)
        assert not repeated & declared, text
        if not repeated and not re.search(r"\d[eE][+-]?\d{4}", text):  # What the oracle can compute.
            assert oracle.is_valid(text), text


@PROFILE
@given(
    DRAFTED,
    st.sampled_from(["declared", "any"]),
    st.lists(st.sampled_from(["a", "b", "ab", "é", "\\", "\\n", "\\u00", "0", "c"]), min_size=1, max_size=2),
    st.integers(0, 2**32),
)
def test_excluded_words_take_texts_out_and_change_no_others(
    schema: dict[str, Any], key_order: str, words: list[str], seed: int
) -> None:
    whole = compiled_or_none(schema, key_order=key_order)
    filtered = compiled_or_none(schema, key_order=key_order, excludes=words)
    random_ = random.Random(seed)
    texts = [
        generated(compiled, random_) for compiled in (whole, whole, whole, filtered) if compiled is not None
    ]
    for text in filter(None, texts):
        has_word = any(word in body for word in words for body in string_bodies(text))
        event(f"excluded: {has_word}")
        assert accepts(whole, text)
        assert accepts(filtered, text) == (not has_word), text


def generated(compiled: CompiledGrammar, random_: random.Random) -> str | None:
    """Make a text of random legal tokens; after a while such that the text comes to its end."""
    matcher = compiled.matcher()
    text = b""
    for length in range(600):
        allowed = matcher.allowed_ids().tolist()
        assert allowed
        if END in allowed and (length > 40 or random_.random() < 0.3 or len(allowed) == 1):
            matcher.accept(END)
            assert matcher.is_finished
            return text.decode()
        choices = [token for token in allowed if token != END]
        weights = [weight(VOCABULARY.token(token) or b"", is_late=length > 60) for token in choices]
        token = random_.choices(choices, weights)[0]
        assert matcher.accept(token)
        text += VOCABULARY.token(token) or b""
    return None


def weight(token: bytes, *, is_late: bool) -> float:
    """How much a token is liked: letters of the schemas more than others, and what closes more than what opens."""
    if token in (b'"', b"}", b"]", b"},", b"]}"):
        return 200.0 if is_late else 8.0
    if token in b" \t\n\r":
        return 0.001 if is_late else 0.2
    if token[0] >= 0x80 or token[0] < 0x20 or token == b"\\":
        return 0.01 if is_late else 0.3
    if token in (b"[", b"{", b",", b'",', b"-", b"e", b"E", b"+"):
        return 0.05 if is_late else 2.0
    return 3.0 if token in (b"a", b"b", b"ab", b"1", b"0", b"true", b"null", b":", b'":') else 0.5


def declared_names(schema: Any) -> set[str]:
    """Names that the schema declares anywhere."""
    if isinstance(schema, list):
        return set().union(*map(declared_names, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return own.union(*map(declared_names, schema.values()))


def repeated_names(text: str) -> set[str]:
    """Names that occur twice in one object."""
    repeated: set[str] = set()

    def look(members: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in members]
        repeated.update(name for name in names if names.count(name) > 1)
        return dict(members)

    json.loads(text, object_pairs_hook=look)
    return repeated


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
def test_the_oracle_is_exact(draft: str) -> None:
    oracle = Oracle({"$schema": draft, "multipleOf": 0.01, "maximum": 1e300})
    assert oracle.is_valid("0.29")
    assert oracle.is_valid("6000.0")
    assert not oracle.is_valid("0.295")
    assert not oracle.is_valid("1.1e300")
    assert Oracle({"$schema": draft, "type": "integer"}).is_valid("1e2")
    assert Oracle({"$schema": draft, "items": True, "additionalItems": False}).is_valid("[1]")
    assert not Oracle({"$schema": draft, "exclusiveMinimum": 0}).is_valid("-1e-900")
    assert Oracle({"$schema": draft, "exclusiveMinimum": 0}).is_valid("1e-900")


@PROFILE
@given(st.randoms(use_true_random=False))
def test_many_patterns_of_names(random_: random.Random) -> None:
    """From some number of patterns on, the ones that have names in common are found by one search."""
    words = random_.sample(["".join(letters) for letters in itertools.product("abc", repeat=3)], 20)
    forms = random_.choice([["^{}"], ["^x.*{}$"], ["^{}[0-9]+$", "^{}", "^[ab]*{}$"]])
    schema = {
        "type": "object",
        "patternProperties": {
            random_.choice(forms).format(word): random_.choice(
                [{"minimum": random_.randrange(4)}, {"multipleOf": 2}, {"type": "integer"}, {"type": "null"}]
            )
            for word in words
        },
        "additionalProperties": random_.choice([True, False, {"type": "string"}]),
    }
    oracle = Oracle(schema)
    compiled = compiled_or_none(schema)
    assert compiled is not None
    for _ in range(20):
        parts = ["x", *random_.sample(words, 2), "1", "a"]
        names = {"".join(random_.sample(parts, random_.randrange(1, 4))) for _ in range(2)}
        text = json.dumps({name: random_.choice([None, 1, 2, 1.5, "a"]) for name in names})
        assert accepts(compiled, text) == oracle.is_valid(text), text
