"""Parameters as nested tags: random schemas and texts against XGrammar, and where the two differ on purpose."""

from __future__ import annotations

import json
import random
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags.nested_parameters import NESTED_STYLES
from grammask.structural_tags.places import StructuralTagError
from peer_verdicts import BYTES

MARK = "]<]minimax[>["
STYLES = list(NESTED_STYLES)
COHERE, MINIMAX = STYLES


def tag(schema: Any, style: str, **options: Any) -> dict[str, Any]:
    content = {"type": "json_schema", "json_schema": schema, "style": style, **options}
    return {"type": "structural_tag", "format": content}


def is_valid(schema: Any, style: str, text: str, **options: Any) -> bool:
    return Grammar.from_structural_tag(tag(schema, style, **options)).compile(BYTES).is_valid(text.encode())


def cohere(key: str | None, kind: str, body: str) -> str:
    name = "" if key is None else f' name="{key}"'
    return f'<cofl:value{name} type="{kind}">{body}</cofl:value>'


def minimax(key: str, body: str) -> str:
    return f"{MARK}<{key}>{body}{MARK}</{key}>"


class Samples:
    """Random schemas, and texts of them or nearly so, in a style."""

    def __init__(self, style: str, seed: int) -> None:
        self.style = style
        self.rng = random.Random(seed)
        self.schema = self.object(3)
        self.schema["$defs"] = {"t": self.object(2)}

    def object(self, depth: int) -> dict[str, Any]:
        keys = self.rng.sample(["a", "b c", "é", "k&v"], self.rng.randint(0, 3))
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {key: self.value_schema(depth) for key in keys},
            "required": [key for key in keys if self.rng.random() < 0.5],
        }
        if self.style == COHERE and self.rng.random() < 0.25:
            schema["additionalProperties"] = self.rng.choice([True, {"type": "integer"}])
        return schema

    def value_schema(self, depth: int) -> dict[str, Any]:
        leaves: list[dict[str, Any]] = [
            *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null")),
            {"type": ["string", "null"]},
            {"enum": self.rng.sample([1, None, True, 2.5], 2)},
        ]
        # XGrammar allows white space around listed strings in Cohere's tags, where it is a part of the string.
        if self.style == MINIMAX:
            leaves.append({"type": "string", "enum": self.rng.sample(["x", "<y>", "a&b", "1"], 2)})
        kind = self.rng.randrange(8 if depth else 4)
        if kind < 4:
            return self.rng.choice(leaves)
        if kind == 4:
            return {"anyOf": [{"type": "integer"}, self.object(depth - 1)]}
        if kind == 5:
            return self.object(depth - 1)
        if kind == 6:
            return {"$ref": "#/$defs/t"}
        least = self.rng.randint(0, 1)
        bounds = [("minItems", least), ("maxItems", least + self.rng.randint(0, 2))]
        items = {"type": "array", "items": self.value_schema(depth - 1)}
        return {**items, **dict(self.rng.sample(bounds, self.rng.randint(0, 2)))}

    def value(self, schema: Any, depth: int = 0) -> Any:
        """A value that mostly satisfies a schema; free ones are any."""
        rng = self.rng
        if schema is True:
            return rng.choice(["q", 1, None, {"z": 1}, [1, "t"]])
        if "$ref" in schema:
            return self.value(self.schema["$defs"]["t"], depth + 1)
        if "anyOf" in schema:
            return self.value(rng.choice(schema["anyOf"]), depth)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kind = schema["type"]
        match rng.choice(kind) if isinstance(kind, list) else kind:
            case "string":
                return rng.choice(["", "null", "1", "a<b", "]<]x", "</cofl", " s\n", "é"])
            case "integer":
                return rng.choice([0, -3, 12, 1.5])
            case "number":
                return rng.choice([0, -1.5, 2e10])
            case "boolean":
                return rng.random() < 0.5
            case "object":
                likely = 0.4 if depth < 4 else 0
                found = {
                    key: self.value(inner, depth)
                    for key, inner in schema["properties"].items()
                    if rng.random() < (0.95 if key in schema["required"] else likely)
                }
                if rng.random() < 0.2:
                    found["new"] = self.value(schema.get("additionalProperties", True), depth)
                return found
            case "array":
                least = schema.get("minItems", 0)
                count = rng.randint(least, min(schema.get("maxItems", 3), 3)) if depth < 4 else least
                return [self.value(schema["items"], depth) for _ in range(count + (rng.random() < 0.1))]
        return None

    def text(self) -> str:
        """A text of the schema, often with something changed."""
        value = self.value(self.schema)
        text = self.members(value)
        if self.style == COHERE or value:
            text = self.space() + text
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            text = self.changed(text)
        return text

    def members(self, value: dict[str, Any]) -> str:
        return "".join(self.tagged(inner, key) + self.space() for key, inner in value.items())

    def tagged(self, value: Any, key: str | None) -> str:
        match value:
            case str():
                kind, body = "raw", value
            case dict():
                kind, body = "dict", self.space() + self.members(value)
            case list():
                kind = "list"
                between = self.space if self.style == MINIMAX else str
                body = self.space() + "".join(self.tagged(inner, None) + between() for inner in value)
            case _:
                space = self.space() if self.style == COHERE else ""
                kind, body = "json", space + json.dumps(value) + space
        if self.style == MINIMAX:
            return minimax("item" if key is None else key, "" if value in ([], {}) else body)
        kind = self.rng.choice(["raw", "json", "dict", "list"]) if self.rng.random() < 0.03 else kind
        return cohere(None if key is None else key.replace("&", "&amp;"), kind, body)

    def space(self) -> str:
        return self.rng.choice(["", "", "", "", "\n", " ", "\r\t"])

    def changed(self, text: str) -> str:
        first, last = sorted(self.rng.randrange(len(text) + 1) for _ in range(2))
        match self.rng.randrange(4):
            case 0:
                return text[:first] + text[first + 1 :]
            case 1:
                return text[:first] + self.rng.choice(' \n<>a1"]') + text[first:]
            case 2:
                return text[:first]
            case _:
                return text[:last] + text[first:last] + text[last:]


@pytest.mark.parametrize("style", STYLES)
def test_texts_are_those_of_xgrammar(style: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    counts = {True: 0, False: 0}
    for seed in range(16):
        samples = Samples(style, seed)
        ours = Grammar.from_structural_tag(tag(samples.schema, style)).compile(BYTES)
        theirs = xgrammar.Grammar.from_structural_tag(tag(samples.schema, style))
        for _ in range(12):
            text = samples.text()
            matcher = testing._get_matcher_from_grammar(theirs)
            expected = matcher.accept_string(text) and matcher.is_completed()
            assert ours.is_valid(text.encode()) == expected, (text, samples.schema)
            counts[expected] += 1
    assert min(counts.values()) > 30


WORDS = {"properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]}
PAIR = {
    "properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "null"}}}
}
LONG = {"properties": {"a": {"type": "string", "maxLength": 99}}}
SHORT = {"properties": {"a": {"type": "string", "maxLength": 2}}}


@pytest.mark.parametrize(
    ("style", "schema", "text", "ours"),
    [
        # White space around a string is a part of it: that is how Cohere's own reader takes it.
        (COHERE, WORDS, cohere("a", "raw", " x"), False),
        # The first items of an array need not be there, unless `minItems` says so.
        (COHERE, PAIR, cohere("a", "list", ""), True),
        # What does not say what its items are may have any.
        (
            COHERE,
            {"properties": {"a": {"type": "array"}}},
            cohere("a", "list", cohere(None, "raw", "x")),
            True,
        ),
        # A limit on characters does not let the end of the tag in.
        (COHERE, LONG, cohere("a", "raw", "</cofl:value>"), False),
        # Values that are equal in JSON are equal.
        (COHERE, WORDS, cohere("a", "json", "1.0"), True),
        (MINIMAX, WORDS, minimax("a", "1.0"), True),
        # At most 32 characters of white space in a row.
        (MINIMAX, WORDS, " " * 33 + minimax("a", "1"), False),
    ],
)
def test_differences(style: str, schema: dict[str, Any], text: str, ours: bool) -> None:  # noqa: FBT001
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    schema = {"type": "object", **schema}
    matcher = testing._get_matcher_from_grammar(xgrammar.Grammar.from_structural_tag(tag(schema, style)))
    assert is_valid(schema, style, text) is ours
    assert (matcher.accept_string(text) and matcher.is_completed()) is not ours


def test_limits_of_strings_and_white_space() -> None:
    assert is_valid(SHORT, COHERE, cohere("a", "raw", "é!"))
    assert not is_valid(SHORT, COHERE, cohere("a", "raw", "é!!"))
    for style, text in ((COHERE, cohere("a", "json", "1")), (MINIMAX, minimax("a", "1"))):
        assert is_valid(WORDS, style, " \n" + text, max_whitespace_cnt=2)
        assert not is_valid(WORDS, style, "\n \n" + text, max_whitespace_cnt=2)


def test_names() -> None:
    names = {"properties": {'<"&>': {"type": "null"}}, "additionalProperties": {"type": "null"}}
    assert is_valid(
        names, COHERE, cohere("&lt;&quot;&amp;&gt;", "json", "null") + cohere("&lt;", "json", "null")
    )
    # A name that is declared comes only once, and in its place.
    declared = cohere("&lt;&quot;&amp;&gt;", "json", "null")
    assert not is_valid(names, COHERE, declared + declared)
    for name in ("", " ", "/a", "a>b"):
        with pytest.raises(grammask.UnsupportedGrammar, match="name of a tag"):
            is_valid({"properties": {name: {"type": "null"}}}, MINIMAX, "")


def test_parameters_that_nobody_declares() -> None:
    for schema in (True, {}, {"type": "object"}):
        assert is_valid(schema, COHERE, cohere("a", "raw", "x"))
        assert is_valid(schema, MINIMAX, "")
        assert not is_valid(schema, MINIMAX, minimax("a", "x"))


@pytest.mark.parametrize("style", STYLES)
def test_schemas_that_refer_to_themselves(style: str) -> None:
    def tagged(key: str, kind: str, body: str) -> str:
        return cohere(key, kind, body) if style == COHERE else minimax(key, body)

    link = {"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "null"}}, "required": ["v"]}
    text = tagged("v", "json", "null")
    for _ in range(2000):
        text = tagged("next", "dict", text) + tagged("v", "json", "null")
    compiled = Grammar.from_structural_tag(tag(link, style)).compile(BYTES)
    assert compiled.is_valid(text.encode())
    assert not compiled.is_valid(text[:-1].encode())
    # Of an object that requires itself there is no finite text: it is left out, and refused where it is required.
    endless = {"type": "object", "properties": {"e": {"$ref": "#/$defs/e"}}, "required": ["e"]}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"e": {"$ref": "#/$defs/e"}},
        "$defs": {"e": endless},
    }
    assert Grammar.from_structural_tag(tag(schema, style)).compile(BYTES).matcher().is_complete
    assert not is_valid(schema, style, tagged("e", "dict", ""))
    with pytest.raises(grammask.UnsupportedGrammar, match="finite"):
        is_valid({**schema, "required": ["e"]}, style, "")


def test_branches_that_share_no_value() -> None:
    def kind(name: str, inner: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {"k": {"const": name}, "v": inner}, "required": ["k", "v"]}

    one, other = kind("one", {"type": "integer"}), kind("two", {"type": "string"})
    schema = {"type": "object", "properties": {"a": {"oneOf": [one, other]}}}
    text = cohere("a", "dict", cohere("k", "raw", "{}") + cohere("v", "json", "1"))
    assert is_valid(schema, COHERE, text.replace("{}", "one"))
    assert not is_valid(schema, COHERE, text.replace("{}", "two"))
    for wrong, style in (([one, one], COHERE), ([{"type": "number"}, {"type": "integer"}], MINIMAX)):
        with pytest.raises(grammask.UnsupportedGrammar, match="share values"):
            is_valid({"type": "object", "properties": {"a": {"oneOf": wrong}}}, style, "")


@pytest.mark.parametrize(
    ("style", "inner", "pointer"),
    [
        (COHERE, {"type": "string", "pattern": "a"}, "/pattern"),
        (COHERE, {"type": "string", "enum": ["</cofl:value>"]}, ""),
        (COHERE, {"type": "object", "minProperties": 1}, "/minProperties"),
        (COHERE, {"type": "object", "required": ["x"]}, "/required"),
        (COHERE, {"type": "array", "uniqueItems": True}, "/uniqueItems"),
        (COHERE, {"type": "integer", "not": {"const": 1}}, "/not"),
        (COHERE, {"allOf": [{"type": "integer"}, {"minimum": 1}]}, "/allOf"),
        (COHERE, {"anyOf": [{"type": "integer"}], "minimum": 1}, "/anyOf"),
        (COHERE, {"$ref": "other.json"}, "/$ref"),
        (MINIMAX, {}, ""),
        (MINIMAX, {"type": "object"}, ""),
        (MINIMAX, {"type": "object", "properties": {}, "additionalProperties": True}, ""),
        (MINIMAX, {"type": "array"}, "/items"),
        (MINIMAX, {"anyOf": [{"type": "object", "properties": {}}, {"type": "array", "items": False}]}, ""),
        (MINIMAX, {"enum": [[1], [2]]}, ""),
    ],
)
def test_what_cannot_be_written_exactly_is_refused(style: str, inner: Any, pointer: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}}
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        is_valid(schema, style, "")
    place = "#/format/json_schema/properties/a/items" + pointer
    assert [found.pointer for found in caught.value.diagnostics] == [place]


def test_schemas_that_are_none() -> None:
    for schema in ({"type": 5}, {"anyOf": []}, {"type": "string", "maxLength": -1}, {"$ref": "#/x"}, 5):
        with pytest.raises(StructuralTagError):
            is_valid({"type": "object", "properties": {"a": schema}}, COHERE, "")
    for root in ({"type": "string"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, {"$ref": "#"}):
        with pytest.raises(grammask.UnsupportedGrammar, match="properties of an object"):
            is_valid(root, COHERE, "")
    for field, value in (("any_order", True), ("excludes", ["x"])):
        with pytest.raises(grammask.UnsupportedGrammar):
            is_valid({"type": "object"}, COHERE, "", **{field: value})
