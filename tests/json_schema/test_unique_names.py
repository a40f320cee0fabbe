"""Unique names: verdicts, masks and random texts against ``json.loads`` and the ``jsonschema`` library."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from typing import TYPE_CHECKING, Any, Literal

import jsonschema
import numpy as np
import pytest
from case_counts import by_profile
from grammask import (
    CompiledGrammar,
    Grammar,
    GrammarError,
    Vocabulary,
    allocate_mask,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KeyOrder = Literal["declared", "any"]

CASES = by_profile(1, 10)
REFUSED = 4 * CASES
"""The number of refused tokens per mask that are compared; that there is no completion takes long to try."""
PIECES = [
    '"a"',
    '"b"',
    '":',
    '",',
    ',"',
    '":1',
    ':1,"',
    'a":1,"a',
    '"a":1,"',
    '":{"',
    "\\u00",
    "61",
    "1}",
    '},"',
    '{"',
    "ab",
]
VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES), None],
    eos=256 + len(PIECES),
)
ONE: dict[str, Any] = {"const": 1}

SCHEMAS: dict[str, dict[str, Any]] = {
    "free": {"type": "object", "additionalProperties": {"anyOf": [ONE, {"$ref": "#"}]}},
    "declared and others": {
        "type": "object",
        "properties": {"a": ONE, "b": ONE},
        "additionalProperties": ONE,
    },
    "required": {
        "type": "object",
        "properties": {"a": ONE, "b": ONE},
        "required": ["b"],
        "additionalProperties": ONE,
        "minProperties": 2,
    },
    "patterns": {
        "type": "object",
        "properties": {"a": ONE, "ab": ONE},
        "patternProperties": {"^a": ONE, "b$": ONE},
        "additionalProperties": False,
        "maxProperties": 3,
    },
    "listed": {
        "type": "object",
        "propertyNames": {"enum": ["a", "b", "ab", "é"]},
        "additionalProperties": ONE,
        "minProperties": 2,
    },
    "many listed": {
        "type": "object",
        "propertyNames": {"pattern": "^[ab]{1,3}$"},
        "additionalProperties": ONE,
        "minProperties": 2,
        "maxProperties": 4,
    },
    "listed and others": {
        "type": "object",
        "properties": {"a": ONE},
        "patternProperties": {"^[bc]$": {"const": 2}, "^x": {"const": 3}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "dependencies": {
        "type": "object",
        "patternProperties": {"^[ab]$": ONE, "^x": ONE},
        "additionalProperties": False,
        "anyOf": [{"required": ["a"]}, {"minProperties": 2}],
    },
    "contains": {
        "type": "object",
        "additionalProperties": {"enum": [1, 2]},
        "not": {"additionalProperties": ONE},
        "maxProperties": 3,
    },
    "items": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "object", "additionalProperties": ONE},
    },
}


class Repeated(Exception):
    """An object has a name twice."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of members.

    Raises:
        Repeated: A name occurs twice.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Repeated
    return members


def is_valid(validator: jsonschema.Draft202012Validator, text: str) -> bool:
    """Whether a text is JSON without a repeated name, and valid."""
    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except (ValueError, Repeated):
        return False
    return bool(validator.is_valid(value))


def in_declared_order(schema: dict[str, Any], text: str) -> bool:
    """Whether the declared names of a flat object come first, in their order."""
    names = list(json.loads(text))
    declared = [name for name in schema.get("properties", {}) if name in names]
    branches = [schema, *schema.get("anyOf", [])]
    required = [name for branch in branches for name in branch.get("required", [])]
    declared += [name for name in required if name in names and name not in declared]
    return names[: len(declared)] == declared


def compiled(schema: dict[str, Any], **options: Any) -> CompiledGrammar:
    return Grammar.from_json_schema(schema, **{"unique_names": True, **options}).compile(VOCABULARY)


def texts(rng: random.Random) -> Iterator[str]:
    """Random texts of objects with few names, some of them repeated."""
    while True:
        names = [
            rng.choice(["a", "b", "c", "ab", "x1", "x", "é", "\\u00e9", "", "bb"])
            for _ in range(rng.randrange(5))
        ]
        values = [rng.choice(["1", "1", "2", "3", '{"a":1}', '{"a":1,"a":1}', '{"b":{}}']) for _ in names]
        yield "{" + ",".join(f'"{name}":{value}' for name, value in zip(names, values, strict=True)) + "}"


@pytest.mark.parametrize("key_order", ["declared", "any"])
@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "items"])
def test_verdicts(name: str, key_order: KeyOrder) -> None:
    schema = SCHEMAS[name]
    validator = jsonschema.Draft202012Validator(schema)
    grammar = compiled(schema, key_order=key_order)
    flat = key_order == "declared"
    accepted = rejected = 0
    for text in itertools.islice(texts(random.Random(name)), 2_000 * CASES):
        expected = is_valid(validator, text) and (not flat or in_declared_order(schema, text))
        assert grammar.is_valid(text.encode()) == expected, text
        accepted += expected
        rejected += not expected
    assert accepted > 1
    assert rejected > 100


ENDINGS = ["", '"', "1", "2", "3", "}", "]"]
MEMBERS = [
    '"a":1',
    '"b":1',
    '"ab":1',
    '"zz~":1',
    '"zz~":2',
    '"zzz~":1',
    '"xz~":3',
    '"xz~":1',
    '"b":2',
    '"c":2',
    '"aaa":1',
    '"é":1',
]


def is_refuted(prefix: str) -> bool:
    """Whether ``json.loads`` stops at a character of a prefix, so that no text that begins with it can be read."""
    try:
        json.loads(prefix)
    except json.JSONDecodeError as error:
        return error.pos < len(prefix) and not error.msg.startswith(("Unterminated string", "Invalid \\"))
    return False


def completions(prefix: str) -> Iterator[str]:
    """Texts that begin with a prefix: enough to show that it is viable, if it is."""
    stack: list[str] = []
    inside = False
    for at, character in enumerate(prefix):
        if inside:
            if character == "\\":
                continue
            inside = character != '"' or prefix[at - 1] == "\\"
        elif character == '"':
            inside = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and (not stack or stack.pop() != character):
            return
    end = "".join(reversed(stack))
    starts = [prefix]
    if inside:
        tail = prefix[prefix.rindex('"') :]
        rests = ["", "a", "b", "ab", "aa", "bb", "ba", "aab", "zz~", "c"]
        if "\\" in tail:
            after = tail[tail.rindex("\\") :]
            rests = [
                ("\\u00e9"[len(after) :] if "\\u00e9".startswith(after) else "") + rest for rest in rests
            ]
            rests += [
                ("\\u00E9"[len(after) :] if "\\u00E9".startswith(after) else "") + rest for rest in rests
            ]
            rests += ["u001f", "n", "/", "u007f"] + [
                digits[len(after) - 2 :] for digits in ("u001f", "u2028")
            ]
        starts = [f'{prefix}{rest}"' for rest in rests]
    for start in starts:
        for value in ("", ":1", ":2", ":3", "1", "2", "3", ":{}"):
            begun = start + value
            yield begun + end
            for first in MEMBERS:
                for comma in ("", ","):
                    yield begun + comma + first + end
                    yield begun + comma + first + "," + MEMBERS[3] + end
                    yield begun + comma + first + ',"b":1' + end
                    yield begun + comma + first + ',"aa":1' + end
                    yield begun + comma + first + ',"b":2' + end


class Viability:
    """Whether prefixes are viable, by trying completions."""

    def __init__(self, is_valid: Callable[[str], bool]) -> None:
        self.is_valid = is_valid
        self.known: dict[str, bool] = {}

    def __call__(self, prefix: str) -> bool:
        if prefix not in self.known:
            self.known[prefix] = not is_refuted(prefix) and any(map(self.is_valid, completions(prefix)))
        return self.known[prefix]


@pytest.mark.parametrize("name", ["free", "declared and others", "listed", "listed and others", "required"])
def test_masks_are_those_of_brute_force(name: str) -> None:
    schema = SCHEMAS[name]
    grammar = compiled(schema, key_order="any", whitespace="compact")
    # Before a line feed at the end, `$` matches in Python, and not in ECMA-262.
    excluded = b" \\" if name == "listed and others" else b" "
    validator = jsonschema.Draft202012Validator(schema)
    compare_masks(grammar, lambda text: is_valid(validator, text), excluded, name)


def compare_masks(
    grammar: CompiledGrammar, is_valid: Callable[[str], bool], excluded: bytes, seed: str
) -> None:
    """Checks that every allowed token has a valid completion, and that one that is not allowed has none among many.

    Tokens with excluded bytes are not checked.
    """
    viability = Viability(is_valid)
    rng = random.Random(seed)
    checked = 0
    pieces = [(id, VOCABULARY.token(id) or b"") for id in range(VOCABULARY.size - 1)]
    tokens = [
        id
        for id, piece in pieces
        if piece.isascii() and piece.decode().isprintable() and not any(byte in excluded for byte in piece)
    ]
    for _ in range(CASES):
        matcher = grammar.matcher()
        text = ""
        while len(text) < 30 and not matcher.is_finished:
            allowed = {int(id) for id in matcher.allowed_ids()}
            refused = [id for id in tokens if id not in allowed]
            for id in [*allowed.intersection(tokens), *rng.sample(refused, min(REFUSED, len(refused)))]:
                piece = (VOCABULARY.token(id) or b"").decode()
                if (id in allowed) != viability(text + piece):
                    assert id in allowed, f"{text!r} + {piece!r} is refused"
                    # The completions above are not all: a text that the engine writes shows that it is viable.
                    fork = matcher.fork()
                    assert fork.accept(id)
                    assert is_valid(text + piece + finish(fork)), f"{text!r} + {piece!r}"
            checked += 1
            likely = [id for id in allowed if id >= 256] or list(allowed)
            id = rng.choice(likely if rng.random() < 0.6 else sorted(allowed))
            assert matcher.accept(id)
            text += (VOCABULARY.token(id) or b"").decode(errors="replace")
            if not text.isascii() or "\\" in text:
                break
    assert checked > 0


def finish(matcher: Any) -> str:
    """Returns a text after which a matcher is finished."""
    text = bytes(matcher.shortest_completion().text)
    assert matcher.accept_bytes(text)
    assert matcher.is_complete
    return text.decode()


@pytest.mark.parametrize("key_order", ["declared", "any"])
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_random_texts_repeat_no_name(name: str, key_order: KeyOrder) -> None:
    schema = SCHEMAS[name]
    validator = jsonschema.Draft202012Validator(schema)
    grammar = compiled(schema, key_order=key_order, whitespace="compact", escapes="any")
    rng = random.Random(name)
    members = 0
    for _ in range(10 * CASES):
        matcher = grammar.matcher()
        mask = allocate_mask(1, VOCABULARY.size)
        text = b""
        for _ in range(300):
            matcher.fill_mask(mask)
            ids = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size])
            texts_of = {int(id): VOCABULARY.token(int(id)) for id in ids}
            if VOCABULARY.eos[0] in texts_of and (
                rng.random() < 0.3 or len(text) > 200 or len(texts_of) == 1
            ):
                break
            short = [id for id, piece in texts_of.items() if piece and piece[0] in b'{}[],:"ab1x\\u0623']
            closing = [id for id, piece in texts_of.items() if piece in (b"}", b"]", b'"', b":", b"1")]
            if len(text) > 60 and closing:
                short = closing
            id = rng.choice(short or [id for id in texts_of if texts_of[id] is not None])
            assert matcher.accept(id)
            text += texts_of[id] or b""
        if not matcher.is_complete:
            text += finish(matcher).encode()
        assert is_valid(validator, text.decode()), text
        members += text.count(b":")
    assert members > 20


@pytest.mark.parametrize("count", [2, 3, 9, 40])
@pytest.mark.parametrize("key_order", ["declared", "any"])
def test_names_run_out(count: int, key_order: KeyOrder) -> None:
    names = [f"n{number}" for number in range(count)]
    schema: dict[str, Any] = {"type": "object", "propertyNames": {"enum": names}, "additionalProperties": ONE}
    grammar = compiled(schema | {"minProperties": count}, key_order=key_order)
    members = [f'"{name}":1' for name in reversed(names)]
    assert grammar.is_valid(("{" + ",".join(members) + "}").encode())
    assert not grammar.is_valid(("{" + ",".join(members[1:]) + "}").encode())
    assert not grammar.is_valid(("{" + ",".join([*members, members[0]]) + "}").encode())
    matcher = grammar.matcher()
    assert matcher.accept_bytes(("{" + ",".join(members)).encode())
    assert not matcher.accept_bytes(b",")
    with pytest.raises(GrammarError) as error:
        compiled(schema | {"minProperties": count + 1}, key_order=key_order)
    assert error.value.diagnostics[0].code == "unsatisfiable-schema"


def test_the_option_permits_repetitions() -> None:
    schema = {"type": "object", "properties": {"a": ONE}}
    assert not compiled(schema).is_valid(b'{"b":1,"b":2}')
    permissive = compiled(schema, unique_names=False)
    assert permissive.is_valid(b'{"b":1,"b":2}')
    assert not permissive.is_valid(b'{"a":1,"a":1}')
    assert not permissive.is_valid(b'{"b":1,"a":1}')


INTEGERS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "integer"}}
COUNTED = [
    (INTEGERS, '{"a":1,"a":2}', True),
    (INTEGERS | {"minProperties": 1}, '{"a":1,"a":2}', True),
    (INTEGERS | {"minProperties": 2}, '{"a":1,"a":2}', False),
    (INTEGERS | {"minProperties": 2}, '{"a":1,"\\u0061":2,"b":3}', False),
    (INTEGERS | {"minProperties": 2}, '{"a":1,"b":2}', True),
    (INTEGERS | {"minProperties": 2, "required": ["b"]}, '{"b":1,"a":1,"a":2}', True),
    (INTEGERS | {"minProperties": 3, "required": ["b"]}, '{"b":1,"a":1,"a":2}', False),
    ({"type": "object", "not": INTEGERS}, '{"a":"","a":2}', False),
    ({"type": "object", "not": INTEGERS}, '{"b":1,"a":"","c":2}', True),
    ({"type": "object", "not": {"propertyNames": {"maxLength": 1}}}, '{"aa":1,"aa":2}', True),
    ({"if": {"patternProperties": {"^a": ONE}}, "then": False}, '{"a":2,"a":1}', False),
    ({"if": {"patternProperties": {"^a": ONE}}, "then": False}, '{"b":2,"b":1,"a":2}', True),
    ({"anyOf": [INTEGERS, {"additionalProperties": {"type": "string"}}], "type": "object"}, '{"a":1,"a":2}', True),
    ({"type": "array", "contains": INTEGERS | {"minProperties": 2}}, '[{"a":1,"a":2}]', False),
    ({"type": "array", "contains": INTEGERS | {"minProperties": 2}}, '[{"a":1,"b":2},{"a":1,"a":2}]', True),
    ({"type": "array", "uniqueItems": True, "items": INTEGERS}, '[{"a":2},{"a":1,"a":2}]', False),
    ({"type": "array", "uniqueItems": True, "items": {"items": INTEGERS}}, '[[{"a":1,"a":2}]]', False),
    ({"type": "array", "items": INTEGERS}, '[{"a":2},{"a":1,"a":2}]', True),
    ({"properties": {"set": {"uniqueItems": True}}}, '{"set":[{"a":1}],"a":1,"a":[{"b":1,"b":1}]}', True),
    ({"properties": {"set": {"uniqueItems": True}}}, '{"set":[{"b":1},{"b":{"a":1,"a":2}}]}', False),
]  # fmt: skip


@pytest.mark.parametrize("key_order", ["declared", "any"])
@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case[1])
def test_names_differ_where_members_count(
    case: tuple[dict[str, Any], str, bool], key_order: KeyOrder
) -> None:
    """Of equal names ``json.loads`` keeps the last. None is repeated if the object without the others is invalid."""
    schema, text, is_accepted = case
    grammar = Grammar.from_json_schema(schema, key_order=key_order).compile(VOCABULARY)
    assert grammar.is_valid(text.encode()) == is_accepted


COUNTED_AT_DEPTHS: dict[str, tuple[dict[str, Any], set[int]]] = {
    "outside": (
        {
            "type": "object",
            "additionalProperties": {"anyOf": [ONE, {"type": "object", "additionalProperties": ONE}]},
            "minProperties": 2,
        },
        {0},
    ),
    "inside": (
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [ONE, {"type": "object", "additionalProperties": ONE, "minProperties": 2}]
            },
        },
        {1},
    ),
    "a value": (
        {
            "type": "object",
            "additionalProperties": {"enum": [1, 2]},
            "not": {"additionalProperties": ONE},
            "maxProperties": 3,
        },
        {0},
    ),
    "items": (
        {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "object", "additionalProperties": ONE},
            "maxItems": 2,
        },
        {1},
    ),
    "nothing": ({"type": "object", "additionalProperties": {"anyOf": [ONE, {"$ref": "#"}]}}, set()),
}
"""Schemas, with the depths of the objects in which ``unique_names="counted"`` permits no repeated name."""


@pytest.mark.parametrize("name", list(COUNTED_AT_DEPTHS))
def test_masks_are_those_of_brute_force_where_members_count(name: str) -> None:
    schema, depths = COUNTED_AT_DEPTHS[name]
    grammar = compiled(schema, unique_names="counted", key_order="any", whitespace="compact")
    validator = jsonschema.Draft202012Validator(schema)

    def is_accepted(text: str) -> bool:
        try:
            value = json.loads(text, object_pairs_hook=Members)
            value = with_other_names(value, depths)
        except (ValueError, Repeated):
            return False
        return bool(validator.is_valid(value))

    compare_masks(grammar, is_accepted, b" ", name)


class Members(list[tuple[str, Any]]):
    """The members of an object in a text, also those whose name is repeated."""


def with_other_names(value: Any, depths: set[int], depth: int = 0) -> Any:
    """Returns a value in which repeated names are replaced by others.

    Raises:
        Repeated: A name occurs twice at one of the depths.
    """
    if isinstance(value, Members):
        members = [(name, with_other_names(member, depths, depth + 1)) for name, member in value]
        if depth in depths:
            return distinct(members)
        return {f"{name}#{number}": member for number, (name, member) in enumerate(members)}
    if isinstance(value, list):
        return [with_other_names(item, depths, depth + 1) for item in value]
    return value


@pytest.mark.parametrize("key_order", ["declared", "any"])
@pytest.mark.parametrize("name", list(SCHEMAS))
def test_the_value_that_a_reader_keeps_is_valid(name: str, key_order: KeyOrder) -> None:
    schema = SCHEMAS[name]
    grammar = Grammar.from_json_schema(schema, key_order=key_order).compile(VOCABULARY)
    permissive, strict = (
        compiled(schema, key_order=key_order, unique_names=option) for option in (False, True)
    )
    objects = texts(random.Random(name))
    arrays = (f"[{first},{second}]" for first, second in zip(objects, objects, strict=False))
    accepted = 0
    for text in itertools.islice(arrays if name == "items" else objects, 2_000 * CASES):
        is_accepted = grammar.is_valid(text.encode())
        accepted += is_accepted
        if is_accepted:
            assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)), text
            assert permissive.is_valid(text.encode())
        else:
            assert not strict.is_valid(text.encode()), text
    assert accepted > 1


def test_everything_that_a_matcher_does_works_in_scopes() -> None:
    grammar = Grammar.from_json_schema({"type": "object"}, whitespace="compact", unique_names=True)
    restored = pickle.loads(pickle.dumps(grammar))
    for each in (grammar.compile(VOCABULARY), restored.compile(VOCABULARY, cache=False)):
        matcher = each.matcher()
        assert matcher.accept_bytes(b'{"aa":{"aa":1},"a')
        fork = matcher.fork()
        assert not fork.accept_bytes(b'a"')
        assert fork.accept_bytes(b'b":')
        assert fork.shortest_completion().text.endswith(b"}")
        fork.rollback()
        assert fork.accept_bytes(b'":1}')
        assert fork.is_complete
        assert not matcher.is_complete
        quote, name = VOCABULARY.ids_of(b'"')[0], VOCABULARY.ids_of(b"a")[0]
        assert matcher.is_allowed(quote)
        assert matcher.is_allowed(name)
        assert matcher.validate([name, quote]) == 1
        assert matcher.accept(name)
        assert not matcher.is_allowed(quote)
        explained = matcher.explain(quote)
        assert not explained.is_allowed
        rows = allocate_mask(3, VOCABULARY.size)
        assert matcher.draft_masks([quote], rows) == 1
        assert matcher.forced_bytes() == b""


@pytest.mark.parametrize("encoding", ["json-string", "xml-text"])
def test_encoded_names_are_compared_decoded(encoding: Any) -> None:
    schema = {"type": "object", "additionalProperties": ONE}
    grammar = Grammar.from_json_schema(schema, whitespace="compact", unique_names=True)
    encoded = grammar.encoded(encoding).compile(VOCABULARY)
    quote = '\\"' if encoding == "json-string" else '"'

    def members(*names: str) -> bytes:
        return ("{" + ",".join(f"{quote}{name}{quote}:1" for name in names) + "}").encode()

    assert encoded.is_valid(members("a", "b", "ab"))
    assert not encoded.is_valid(members("a", "b", "a"))
    other = "\\u0061" if encoding == "json-string" else "&#x61;"
    assert encoded.is_valid(members("b", other))
    assert not encoded.is_valid(members("a", other))
    matcher = encoded.matcher()
    assert matcher.accept_bytes(members("a", "b")[:-1] + f",{quote}a".encode())
    assert not matcher.accept_bytes(quote.encode())
    assert matcher.accept_bytes(f"b{quote}".encode())


def test_an_unsatisfiable_schema_has_its_own_error() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^[ab]$": {}},
        "additionalProperties": False,
        "minProperties": 3,
    }
    with pytest.raises(GrammarError) as error:
        compiled(schema)
    assert error.value.diagnostics[0].code == "unsatisfiable-schema"
