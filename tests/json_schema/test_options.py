"""``Grammar.from_json_schema``: options, errors, documents, pickles, the compile cache."""

import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from grammask import (
    CompileCache,
    Grammar,
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    Limits,
    UnsupportedGrammar,
    UnsupportedSchema,
    Vocabulary,
    keyword_effects,
)
from jsonschema import Draft202012Validator

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "number"}},
    "required": ["x"],
    "additionalProperties": False,
}


def accepts(schema: Any, text: str, **options: Any) -> bool:
    return Grammar.from_json_schema(schema, **options).compile(BYTES).is_valid(text.encode())


def test_schemas_are_values_or_texts() -> None:
    for schema in (POINT, json.dumps(POINT), json.dumps(POINT).encode()):
        assert accepts(schema, '{"x": 1, "y": 0.5}')
        assert not accepts(schema, '{"y": 0.5}')
    assert accepts(json.loads("true"), "[1]")


def test_the_order_of_keys_is_that_of_the_schema() -> None:
    backwards = {**POINT, "properties": dict(reversed(POINT["properties"].items()))}  # type: ignore[attr-defined]
    text = '{"y": 1, "x": 1}'
    assert accepts(backwards, text)
    assert not accepts(POINT, text)
    assert accepts(POINT, text, key_order="any")


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        (
            {},
            ['{ "x"\n:\n\t1 }', '{"x":1}', '{"x":\n' + " \t" * 32 + '1, "y":1.0}', '{"x": 1, "y": 1e+16}'],
            [' {"x":1}', '{"x":  1}', '{"x":\t1}', '{"x": 1.0}', '{"x": 1e0}', '{"x":\n' + " " * 65 + "1}"],
        ),
        (
            {"whitespace": "flexible", "numbers": "any"},
            ['{ "x"\n:\t1 }', '{"x":1}', '{"x": 1e0}', '{"x": 1.0}', '{"x":' + " " * 32 + "1}"],
            [' {"x":1}', '{"x":' + " " * 33 + "1}"],
        ),
        (
            {"whitespace": "regex:[ ]{2}|\\n"},
            ['{  "x":\n1\n}'.replace(":", "  :")],
            ['{"x":1}', '{ "x" : 1 }'],
        ),
        ({"max_whitespace": 1}, ['{"x": 1}'], ['{"x":  1}']),
        ({"whitespace": "compact"}, ['{"x":1,"y":2}'], ['{"x": 1}', '{"x":1, "y":2}']),
        ({"separators": (", ", ": ")}, ['{"x": 1, "y": 2}'], ['{"x":1}', '{"x": 1,"y": 2}']),
        ({"indent": 2}, ['{\n  "x": 1,\n  "y": 2\n}'], ['{"x": 1}']),
        ({"numbers": "plain"}, ['{"x": 1, "y": 0.5}'], ['{"x": 1.0}', '{"x": 1e0}', '{"x": 1, "y": 1e2}']),
        ({"escapes": "any"}, [r'{"\u0078": 1}'], []),
        ({}, [], [r'{"\u0078": 1}']),
    ],
)
def test_spellings_of_a_point(options: dict[str, Any], accepted: list[str], refused: list[str]) -> None:
    compiled = Grammar.from_json_schema(POINT, **options).compile(BYTES)
    assert [text for text in accepted if not compiled.is_valid(text.encode())] == []
    assert [text for text in refused if compiled.is_valid(text.encode())] == []


def test_ensure_ascii_is_that_of_dumps() -> None:
    schema = {"const": "é"}
    assert accepts(schema, '"é"')
    assert accepts(schema, r'"\u00e9"')
    assert not accepts(schema, '"é"', ensure_ascii=True)
    assert accepts(schema, r'"\u00e9"', ensure_ascii=True)
    assert accepts(schema, '"é"', ensure_ascii=False)
    assert not accepts(schema, r'"\u00e9"', ensure_ascii=False)


def test_a_draft_can_be_chosen() -> None:
    schema = {"type": "number", "maximum": 3, "exclusiveMaximum": True}
    assert not accepts(schema, "3", draft="4")
    assert not accepts(schema, "3"), "forms of old drafts keep their meaning where no draft is chosen"
    with pytest.raises(GrammarSyntaxError):
        Grammar.from_json_schema(schema, draft="2020-12")


def test_versions_with_other_keywords_are_refused() -> None:
    properties = {"a": {"divisibleBy": 3, "required": True}}
    schema = {"$schema": "http://json-schema.org/draft-03/schema#", "properties": properties}
    with pytest.raises(UnsupportedSchema) as raised:
        Grammar.from_json_schema(schema)
    assert [item.pointer for item in raised.value.diagnostics] == ["#/$schema"]
    relaxed = Grammar.from_json_schema(schema, on_unsupported="relax")
    assert [item.pointer for item in relaxed.relaxations] == ["#/$schema"]
    with pytest.raises(UnsupportedSchema):
        Grammar.from_json_schema({**schema, "$ref": "#/properties/a"}, draft="7")
    assert accepts({"$schema": "https://example.org/mine.json", "type": "null"}, "null")


def test_nullable_and_formats_are_options() -> None:
    schema = {"type": "string", "nullable": True, "format": "date"}
    assert not accepts(schema, "null")
    assert accepts(schema, "null", openapi_nullable=True)
    assert accepts(schema, '"2024-02-29"')
    assert not accepts(schema, '"2023-02-29"')
    assert accepts(schema, '"2023-02-29"', formats=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draft": "5"}, "draft"),
        ({"whitespace": "none"}, "whitespace"),
        ({"max_whitespace": -1}, "max_whitespace"),
        ({"max_whitespace": 1, "whitespace": "regex:[ ]?"}, "exclude"),
        ({"whitespace": "[ ]?"}, "whitespace"),
        ({"indent": -1}, "indent"),
        ({"indent": 2, "separators": (",", ":")}, "exclude"),
        ({"separators": (";", ":")}, "item separator"),
        ({"separators": (",", "")}, "key separator"),
        ({"key_order": "sorted"}, "key_order"),
        ({"escapes": "all"}, "escapes"),
        ({"escapes": "any", "ensure_ascii": True}, "exclude"),
        ({"numbers": "roman"}, "numbers"),
        ({"on_unsupported": "ignore"}, "on_unsupported"),
        ({"excludes": ["a", ""]}, "empty text"),
    ],
)
def test_wrong_options_are_value_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Grammar.from_json_schema({}, **options)
    assert not isinstance(error.value, GrammarError)


def test_what_cannot_be_enforced_is_refused_with_pointers() -> None:
    word = {"type": "string", "pattern": r"(a)\1"}
    schema = {"type": "object", "properties": {"a/b": word, "c": {**word, "minLength": 3}}}
    with pytest.raises(UnsupportedSchema) as error:
        Grammar.from_json_schema(schema)
    pointers = ["#/properties/a~1b/pattern", "#/properties/c/pattern"]
    assert [item.pointer for item in error.value.diagnostics] == pointers
    assert error.value.pointer == pointers[0]
    relaxed = Grammar.from_json_schema(schema, on_unsupported="relax")
    assert [item.pointer for item in relaxed.relaxations] == pointers
    assert [item.pointer for item in relaxed.compile(BYTES).relaxations] == pointers
    assert relaxed.compile(BYTES).is_valid(b'{"c": "abc"}')
    assert Grammar.from_json_schema(POINT).relaxations == []


@pytest.mark.parametrize(
    ("schema", "exception", "code"),
    [
        ("{", GrammarSyntaxError, "invalid-json"),
        ({"enum": ["\ud83d"]}, GrammarSyntaxError, "invalid-json"),
        ('{"type": "strin"}', GrammarSyntaxError, "invalid-schema"),
        ({"$ref": "#/$defs/a"}, GrammarSemanticError, "unresolved-reference"),
        ({"$ref": "https://example.org/a"}, GrammarSemanticError, "unresolved-reference"),
        ({"type": "string", "enum": [1]}, GrammarSemanticError, "unsatisfiable-schema"),
    ],
)
def test_classes_of_errors(schema: Any, exception: type[GrammarError], code: str) -> None:
    with pytest.raises(GrammarError) as error:
        Grammar.from_json_schema(schema)
    assert type(error.value) is exception
    assert error.value.code == code


@pytest.mark.parametrize(
    ("schema", "pointer", "help_line"),
    [
        ({"type": "string", "enum": [1]}, "#", "`type` and `enum` clash"),
        (
            # The enumeration of items stands beside them, as in tools of BFCL.
            {
                "properties": {"a": {}, "b/c": {"type": "array", "enum": ["x"]}},
                "required": ["a", "b/c"],
                "type": "object",
            },
            "#/properties/b~1c",
            "`type` and `enum` clash",
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/c"}}}
                },
                "$defs": {"c": {"type": "integer", "minimum": 2, "maximum": 1}},
            },
            "#/properties/a/properties/b",
            "`$ref` cannot be satisfied",
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"type": "integer"}},
                "additionalProperties": False,
                "minProperties": 2,
            },
            "#",
            "`type` and `additionalProperties` and `minProperties` clash",
        ),
    ],
)
def test_the_place_of_a_conflict(schema: Any, pointer: str, help_line: str) -> None:
    with pytest.raises(GrammarError) as error:
        Grammar.from_json_schema(schema)
    (found,) = error.value.diagnostics
    assert (found.pointer, found.help) == (pointer, help_line)


@pytest.mark.parametrize(
    ("schema", "message", "suggestion"),
    [
        ({"type": "strnig"}, "expected null, boolean", "did you mean `string`?"),
        ({"type": "json_schema"}, "expected null, boolean", None),
        (
            {"$ref": "#/$defs/Persn", "$defs": {"Person": {}}},
            "nothing is at `#/$defs/Persn`",
            "`#/$defs/Person`",
        ),
        ({"$ref": "#/defs/a~1b", "$defs": {"a/b": {}}}, "nothing is at `#/defs/a~1b`", "`#/$defs/a~1b`"),
        ({"$ref": "#/defs/a", "$defs": {"b": {}}}, "nothing is at `#/defs/a`", None),
        ({"$ref": "#/type/0", "type": "object"}, "nothing is at `#/type/0`", None),
        ({"$ref": "other.json#/a"}, "there is no document `schema:/other.json`", None),
    ],
)
def test_errors_suggest_a_similar_name(schema: Any, message: str, suggestion: str | None) -> None:
    with pytest.raises(GrammarError) as error:
        Grammar.from_json_schema(schema)
    text = str(error.value)
    assert message in text
    assert "did you mean" in text if suggestion else "did you mean" not in text
    assert (suggestion or "") in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ensure_ascii": "no"}, "ensure_ascii='no' is neither True nor False"),
        ({"strict": 1}, "strict=1 is neither True nor False"),
        ({"formats": None}, "formats=None is neither True nor False"),
        ({"key_order": None}, "key_order=None is no text"),
        ({"draft": 7}, "draft=7 is no text"),
    ],
)
def test_options_of_wrong_types_are_named(options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        Grammar.from_json_schema({}, **options)


def test_unknown_formats_are_warnings() -> None:
    (warning,) = Grammar.from_json_schema({"type": "string", "format": "nonsense"}).check()
    assert (warning.code, warning.pointer) == ("ignored-annotation", "#/format")


@pytest.mark.parametrize("draft", [None, "4"])
def test_booleans_for_required_are_warnings(draft: Any) -> None:
    """As in draft 3, where they made the property required."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "required": True}}}
    (warning,) = Grammar.from_json_schema(schema, draft=draft).check()
    assert (warning.code, warning.pointer) == ("ignored-annotation", "#/properties/a/required")
    (effect,) = [one for one in keyword_effects(schema, draft=draft) if one.keyword == "required"]
    assert (effect.kind, effect.message) == ("annotation", warning.message)


def test_documents_are_asked_for_until_none_is_missing() -> None:
    documents: dict[str, Any] = {
        "https://example.org/list": '{"type": "array", "items": {"$ref": "item"}}',
        "https://example.org/item": {"type": "integer"},
    }
    asked: list[str] = []

    def resolver(uri: str) -> Any:
        asked.append(uri)
        return documents.get(uri)

    grammar = Grammar.from_json_schema({"$ref": "https://example.org/list"}, resolver=resolver)
    assert asked == ["https://example.org/list", "https://example.org/item"]
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b"[1, 2]")
    assert not compiled.is_valid(b'["1"]')
    again = pickle.loads(pickle.dumps(grammar))
    assert again.compile(BYTES) is compiled
    with pytest.raises(GrammarSemanticError, match="nowhere"):
        Grammar.from_json_schema({"$ref": "https://example.org/nowhere"}, resolver=resolver)


def test_documents_of_a_mapping() -> None:
    documents = {"https://example.org/a.json": {"$ref": "b.json"}, "item.json": {"type": "integer"}}
    asked: list[str] = []

    def resolver(uri: str) -> Any:
        asked.append(uri)
        return {"type": "boolean"}

    schema = {"prefixItems": [{"$ref": "https://example.org/a.json"}, {"$ref": "item.json"}], "type": "array"}
    compiled = Grammar.from_json_schema(schema, documents=documents, resolver=resolver).compile(BYTES)
    assert asked == ["https://example.org/b.json"]
    assert compiled.is_valid(b"[true, 1]")
    assert not compiled.is_valid(b"[1, 1]")
    assert not compiled.is_valid(b"[true, true]")


def test_documents_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.json").write_text(
        '{"$id": "https://example.org/s/parts/a.json", "type": "integer"}'
    )
    (tmp_path / "parts" / "b.json").write_text('{"$id": "urn:other", "type": "boolean"}')
    (tmp_path / "c.json").write_text('{"type": "null"}')
    (tmp_path / "broken.json").write_text("{")
    for reference, text in (
        ("https://example.org/s/parts/a.json", b"1"),
        ("urn:other", b"true"),
        ("https://example.org/s/c.json", b"null"),
        ("https://example.org/s/parts/b", b"true"),
        ("parts/b.json", b"true"),
        ("c.json", b"null"),
    ):
        grammar = Grammar.from_json_schema({"$ref": reference}, documents=tmp_path)
        compiled = grammar.compile(BYTES)
        assert [value for value in (b"1", b"true", b"null") if compiled.is_valid(value)] == [text]
    for reference in ("../c.json", "d.json", "https://example.org/c.json"):
        with pytest.raises(GrammarSemanticError, match="there is no document"):
            Grammar.from_json_schema({"$ref": reference}, documents=tmp_path / "parts")
    with pytest.raises(NotADirectoryError):
        Grammar.from_json_schema({"$ref": "x"}, documents=tmp_path / "nowhere")
    with pytest.raises(TypeError, match="a mapping or a folder"):
        Grammar.from_json_schema({"$ref": "x"}, documents=1)  # type: ignore[arg-type]


def test_a_resolver_without_end_is_stopped() -> None:
    schema = {"$ref": "https://example.org/0"}
    limits = Limits(seconds=0.5)
    with pytest.raises(LimitExceeded, match=r"`seconds` of 0\.5"):
        Grammar.from_json_schema(schema, resolver=lambda uri: {"$ref": uri + "0"}, limits=limits)
    many = {"anyOf": [{"$ref": f"https://example.org/{count}"} for count in range(1001)]}
    with pytest.raises(LimitExceeded, match="more than 1000 documents"):
        Grammar.from_json_schema(schema, resolver=lambda uri: many)


def test_the_compile_cache_tells_options_apart() -> None:
    cache = CompileCache()
    made = [
        Grammar.from_json_schema(POINT, **options).compile(BYTES, cache=cache)  # type: ignore[arg-type]
        for options in (
            {},
            {"whitespace": "compact"},
            {"key_order": "any"},
            {"indent": 2},
            {"numbers": "plain"},
            {"numbers": "any"},
            {"whitespace": "flexible"},
            {"whitespace": "regex:[ ]?"},
            {"whitespace": "regex:[ ]{0,2}"},
            {"excludes": ["z"]},
        )
    ]
    assert len({id(compiled) for compiled in made}) == 10
    assert Grammar.from_json_schema(dict(POINT)).compile(BYTES, cache=cache) is made[0]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[ x]?", 'also matches "x"'),
        (r"\s?", 'also matches "\\u'),
        ("[ ", "unclosed"),
        (r"[^\s\S]", "nothing"),
    ],
)
def test_patterns_of_white_space_match_only_white_space(pattern: str, message: str) -> None:
    with pytest.raises(GrammarSyntaxError) as error:
        Grammar.from_json_schema({}, whitespace="regex:" + pattern)
    assert message in str(error.value)
    assert error.value.code == "invalid-regex"
    assert error.value.location == (1, 1)


def test_patterns_of_white_space_that_are_too_large_are_refused() -> None:
    with pytest.raises(LimitExceeded):
        Grammar.from_json_schema({}, whitespace="regex:[ ]{0,100000}")


def test_a_schema_can_carry_the_white_space_of_a_request() -> None:
    from grammask.integrations.serving import request_grammars

    for schema in (POINT, json.dumps(POINT), True):
        carried = request_grammars.with_whitespace_pattern(schema, "[ ]{2}")
        for additional_properties in (False, True):
            compiled = request_grammars.json_schema(
                carried, additional_properties=additional_properties, whitespace="compact"
            ).compile(BYTES)
            assert compiled.is_valid(b'{  "x"  :  1  }')
            assert not compiled.is_valid(b'{"x":1}')
    with pytest.raises(ValueError, match="a schema is"):
        request_grammars.with_whitespace_pattern("1", " ?")


def test_a_schema_carries_options() -> None:
    carried = {**POINT, "x-grammask": {"whitespace": "regex:[ ]{2}"}}
    for schema in (carried, json.dumps(carried)):
        for options in ({}, {"indent": 2}, {"max_whitespace": 1}, {"separators": (", ", ": ")}):
            compiled = Grammar.from_json_schema(schema, **options).compile(BYTES)  # type: ignore[arg-type]
            assert compiled.is_valid(b'{  "x"  :  1  }')
            assert not compiled.is_valid(b'{"x": 1}')
    tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": POINT}}
    compiled = Grammar.from_structural_tag({**tag, "x-grammask": {"separators": [",", ":  "]}}).compile(BYTES)
    assert compiled.is_valid(b'{"x":  1}')
    assert not compiled.is_valid(b'{"x": 1}')
    name_of_a_property = {"properties": {"x-grammask": {"type": "integer"}}}
    assert Grammar.from_json_schema(name_of_a_property).compile(BYTES).is_valid(b'{"x-grammask": 1}')


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"x-grammask": {"key_order": "x"}}, r'key_order="x" is not.*\n  at #/x-grammask/key_order'),
        ({"x-grammask": {"limits": 1}}, r"no option `limits`.*\n  at #/x-grammask/limits"),
        ({"x-grammask": {"resolver": 1}}, "no option `resolver`"),
        (
            {"x-grammask": {"unique_names": "yes"}},
            r"not one of 'counted', True and False\n  at #/x-grammask/unique_names",
        ),
        ({"x-grammask": {"separators": 1}}, r"at #/x-grammask/separators"),
        ({"x-grammask": {"max_whitespace": True}}, "max_whitespace=True is no integer"),
        ({"x-grammask": {"indent": 2, "separators": [",", ":"]}}, "exclude each other"),
        ({"x-grammask": [1]}, "an object with options"),
        ({"items": {"x-grammask": {}}}, r"root of a schema only\n  at #/items/x-grammask"),
    ],
)
def test_wrong_options_that_a_schema_carries(schema: Any, message: str) -> None:
    with pytest.raises(GrammarSemanticError, match=message):
        Grammar.from_json_schema(schema)


def test_schemas_can_be_pickled() -> None:
    for options in ({}, {"whitespace": "regex:[ ]?"}, {"whitespace": "compact"}, {"max_whitespace": 3}):
        grammar = Grammar.from_json_schema(POINT, **options)  # type: ignore[arg-type]
        again = pickle.loads(pickle.dumps(grammar))
        assert again.source == grammar.source
        assert again.compile(BYTES) is grammar.compile(BYTES)
    grammar = Grammar.from_json_schema(POINT, separators=(", ", ": "), on_unsupported="relax")
    again = pickle.loads(pickle.dumps(grammar))
    assert again.source == grammar.source
    assert again.compile(BYTES).is_valid(b'{"x": 1, "y": 2}')
    assert not again.compile(BYTES).is_valid(b'{"x":1}')


def test_strings_without_quotes() -> None:
    schema = {"type": ["string", "null"], "maxLength": 3, "not": {"const": "ab"}}
    grammar = Grammar.from_string_schema(schema, excludes=["é"])
    for again in (grammar, pickle.loads(pickle.dumps(grammar))):
        compiled = again.compile(BYTES)
        texts = ["", "a", "ab", "abc", "abcd", "é", '"a"', "null", "\n"]
        assert [text for text in texts if compiled.is_valid(text.encode())] == ["", "a", "abc", '"a"', "\n"]
    assert Grammar.from_string_schema({"format": "date"}, formats=False).compile(BYTES).is_valid(b"x")
    with pytest.raises(GrammarSemanticError, match="no string"):
        Grammar.from_string_schema({"type": "integer"})
    with pytest.raises(UnsupportedSchema) as error:
        Grammar.from_string_schema({"allOf": [{"pattern": r"(a)\1"}]})
    assert error.value.diagnostics[0].pointer == "#/allOf/0/pattern"
    with pytest.raises(TypeError, match="list of texts"):
        Grammar.from_string_schema({}, excludes="ab")


def test_excluded_words_can_be_pickled() -> None:
    grammar = pickle.loads(pickle.dumps(Grammar.from_json_schema({}, excludes=["ab"])))
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b'["a", "b"]')
    assert not compiled.is_valid(b'["xab"]')


def test_deep_schemas_get_an_answer() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(2_000):
        schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 1}
    compiled = Grammar.from_json_schema(schema, whitespace="compact").compile(BYTES)
    assert compiled.is_valid(b"[" * 2_000 + b"7" + b"]" * 2_000)
    assert compiled.first_error(b"[" * 2_000 + b"]") == 2_000


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [f"choice {number}" for number in range(100_000)]},
        {"type": "string", "maxLength": 1_000_000},
        {"type": "array", "items": POINT, "maxItems": 1_000},
        {
            "type": "object",
            "properties": {f"p{number}": {"type": "integer"} for number in range(5_000)},
            "additionalProperties": False,
        },
    ],
    ids=["choices", "long strings", "many objects", "many properties"],
)
def test_large_schemas_compile(schema: Any) -> None:
    before = time.process_time()
    Grammar.from_json_schema(schema).compile(BYTES, cache=False).matcher().allowed_ids()
    assert time.process_time() - before < 20, "an order of magnitude above what a debug build takes"


def test_limits_hold() -> None:
    with pytest.raises(LimitExceeded):
        Grammar.from_json_schema({"enum": list(range(10_000))}, limits=Limits(grammar_bytes=1_000))


def test_choices() -> None:
    compiled = Grammar.from_choices(["yes", b"no", "é"]).compile(BYTES)
    assert [compiled.is_valid(text) for text in (b"yes", b"no", "é".encode(), b"", b"yesno")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert compiled.first_error(b"ye") == 2
    assert pickle.loads(pickle.dumps(Grammar.from_choices(["a"]))).compile(BYTES).is_valid(b"a")
    with pytest.raises(GrammarSemanticError):
        Grammar.from_choices([])
    with pytest.raises(TypeError):
        Grammar.from_choices("yes")
    with pytest.raises(TypeError):
        Grammar.from_choices([1])  # type: ignore[list-item]


def test_findings_stand_at_all_places_of_equal_schemas() -> None:
    words = {"type": "array", "propertyNames": {"pattern": r"(a)\1"}, "items": {"format": "unknown"}}
    inner = {"properties": {"x": words}}
    schema = {"properties": {"a": words, "b": inner, "c": words, "d": inner}, "$defs": {"unused": words}}
    places = ["a", "b/properties/x", "c", "d/properties/x"]
    relaxed = Grammar.from_json_schema(json.dumps(schema), on_unsupported="relax")
    assert [item.pointer for item in relaxed.relaxations] == [
        f"#/properties/{at}/propertyNames/pattern" for at in places
    ]
    formats = [f"#/properties/{at}/items/format" for at in places]
    assert [item.pointer for item in relaxed.check() if item.pointer] == formats


def test_different_choices_are_different_to_the_compile_cache() -> None:
    one, other = Grammar.from_choices(["a", "b"]), Grammar.from_choices(["ab"])
    assert one.compile(BYTES).is_valid(b"a")
    assert not other.compile(BYTES).is_valid(b"a")


def test_regexes() -> None:
    compiled = Grammar.from_regex("[a-c]{2}|é+").compile(BYTES)
    assert compiled.is_valid(b"ab")
    assert compiled.is_valid("éé".encode())
    assert compiled.first_error(b"abc") == 2
    assert pickle.loads(pickle.dumps(Grammar.from_regex("a"))).source == "a"
    with pytest.raises(GrammarSyntaxError) as error:
        Grammar.from_regex("a(b")
    assert error.value.location == (1, 2)


def test_regexes_of_javascript() -> None:
    compiled = Grammar.from_regex(r"(?=.*\d)[a-z\d\"]{3}", syntax="ecma").compile(BYTES)
    assert compiled.is_valid(b'a"1')
    assert not compiled.is_valid(b"abc")
    assert not compiled.is_valid(b"a1bc")
    assert Grammar.from_regex(r"\d", syntax="ecma").compile(BYTES).is_valid(b"1")
    # Only ASCII digits there, all of Unicode's here.
    assert not Grammar.from_regex(r"\d", syntax="ecma").compile(BYTES).is_valid("\u0663".encode())
    assert Grammar.from_regex(r"\d").compile(BYTES).is_valid("\u0663".encode())
    again = pickle.loads(pickle.dumps(Grammar.from_regex("(?!b)[ab]", syntax="ecma")))
    assert again.compile(BYTES).is_valid(b"a")
    with pytest.raises(GrammarSyntaxError):
        Grammar.from_regex("a(b", syntax="ecma")
    with pytest.raises(UnsupportedGrammar):
        Grammar.from_regex(r"(a)\1", syntax="ecma")
    with pytest.raises(ValueError, match="'python', 'ecma', 'rust'"):
        Grammar.from_regex("a", syntax="perl")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"strict": True}, "compact", 1])
def test_options_are_of_their_class(options: Any) -> None:
    with pytest.raises(TypeError, match=f"^options is a SchemaOptions, not {type(options).__name__}$"):
        Grammar.from_json_schema({}, options=options)


def test_disjoint_formats_are_not_counted() -> None:
    """No text is a URI, which has a colon, and a host name, whatever the lengths of its labels."""
    formats = [{"type": "string", "format": name} for name in ("uri", "hostname")]
    Grammar.from_json_schema({"oneOf": formats}, limits=Limits(automaton_states=5_000))


CONSTRAINTS = [
    "type",
    "enum",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "items",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "unevaluatedItems",
    "unevaluatedProperties",
    "format",
]
BESIDE = {
    "minContains": {"contains": {}},
    "maxContains": {"contains": {}},
    "then": {"if": {}},
    "else": {"if": {}},
}
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2,
    "",
    "a",
    [],
    [{}],
    ["a"],
    [1],
    {},
    {"a": 1},
    {"a": {}},
    {"a": [1]},
]
READ_GENEROUSLY = [
    # Without effect.
    ("prefixItems", []),
    # Enforced as in the other keyword.
    ("dependentRequired", {"a": {}}),
]
"""Invalid values that are accepted."""


@pytest.mark.parametrize("keyword", CONSTRAINTS)
def test_a_malformed_constraint_is_never_ignored(keyword: str) -> None:
    for value in VALUES:
        schema = {
            "$schema": Draft202012Validator.META_SCHEMA["$id"],
            **BESIDE.get(keyword, {}),
            keyword: value,
        }
        if Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema):
            continue
        if (keyword, value) in READ_GENEROUSLY:
            Grammar.from_json_schema(schema)
            continue
        with pytest.raises(GrammarSyntaxError) as error:
            Grammar.from_json_schema(schema)
        assert {entry.code for entry in error.value.diagnostics} == {"invalid-schema"}, value
        assert error.value.diagnostics[0].pointer.startswith(f"#/{keyword}"), value


def test_separators_may_be_expressions() -> None:
    separators = ("regex:,[ ]{0,2}", "regex:[ \\n]?:[ ]?")
    grammar = Grammar.from_json_schema(POINT, separators=separators)
    compiled = pickle.loads(pickle.dumps(grammar)).compile(BYTES)
    for text in ('{"x":1,"y":2}', '{"x" : 1,  "y"\n:2}', '{"x": 1, "y": 2}'):
        assert compiled.is_valid(text.encode()), text
    for text in ('{"x":  1,"y":2}', '{"x":1,   "y":2}', '{ "x":1,"y":2}', '{"x":1,\n"y":2}', '{"x"1,"y":2}'):
        assert not compiled.is_valid(text.encode()), text
    assert compiled.is_valid(b'{"x":1,"y":2}') and len(compiled.matcher().allowed_ids()) == 1  # noqa: PT018


@pytest.mark.parametrize(
    ("separators", "message"),
    [
        (("regex:,?", ":"), r"the separator `,` also matches \"\""),
        (("regex:,x?", ":"), r"the separator `,` also matches \",x\""),
        ((",", "regex:,"), r"the separator `:` also matches \",\""),
        ((",", "regex:("), r"unclosed"),
        ((",", "regex:[^\\s\\S]"), r"the separator `:` matches nothing"),
    ],
)
def test_expressions_of_separators_match_separators_only(separators: Any, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar.from_json_schema(POINT, separators=separators)


RECURSIVE = {
    "$recursiveAnchor": True,
    "type": "object",
    "properties": {
        "type": {"enum": ["and", "or"]},
        "filters": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"$recursiveRef": "#"}]}},
    },
    "required": ["type", "filters"],
    "additionalProperties": False,
}
NESTED_FILTER = b'{"f": {"type": "or", "filters": [{"type": "or", "filters": []}]}}'


def embedding(**keywords: Any) -> dict[str, Any]:
    """Return a document with the filter below `$defs`."""
    return {
        "type": "object",
        "properties": {"f": {"$ref": "#/$defs/f"}},
        "required": ["f"],
        "$defs": {"f": RECURSIVE},
        **keywords,
    }


@pytest.mark.parametrize("draft", [None, "https://json-schema.org/draft/2020-12/schema"])
def test_the_dialect_of_the_document_decides_about_recursive_references(draft: str | None) -> None:
    grammar = Grammar.from_json_schema(embedding(**({"$schema": draft} if draft else {})))
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(NESTED_FILTER)
    # The item is valid under `{"$recursiveRef": "#"}` too, which constrains nothing in 2020-12.
    assert not compiled.is_valid(b'{"f": {"type": "or", "filters": ["a"]}}')
    (warning,) = grammar.check()
    pointer = "#/$defs/f/properties/filters/items/oneOf/1/$recursiveRef"
    assert (warning.code, warning.pointer) == ("ignored-annotation", pointer)
    assert "2019-09" in warning.message


def test_recursive_references_of_2019_09() -> None:
    document = {"$schema": "https://json-schema.org/draft/2019-09/schema"}
    # It is the root of the document, which is no filter.
    grammar = Grammar.from_json_schema(embedding(**document))
    assert not grammar.compile(BYTES).is_valid(NESTED_FILTER)
    assert grammar.check() == []
    # With an identifier of its own, the filter is the root.
    resource = {**RECURSIVE, "$id": "https://example.org/f"}
    grammar = Grammar.from_json_schema({**embedding(**document), "$defs": {"f": resource}})
    assert grammar.compile(BYTES).is_valid(NESTED_FILTER)
    # Without a draft, a reference to the root keeps its meaning.
    tree = {"type": "array", "items": {"$recursiveRef": "#"}}
    grammar = Grammar.from_json_schema(tree)
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b"[[], [[]]]") and not compiled.is_valid(b"[1]")  # noqa: PT018
    assert [warning.pointer for warning in grammar.check()] == ["#/items/$recursiveRef"]


def test_references_that_the_draft_does_not_have_are_warnings() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$dynamicRef": "#"}}
    (warning,) = Grammar.from_json_schema(schema).check()
    assert (warning.code, warning.pointer) == ("ignored-annotation", "#/items/$dynamicRef")


def test_nullable_without_effect_is_a_warning() -> None:
    schema = {"properties": {"a": {"type": "string", "nullable": True}, "b": {"nullable": True, "enum": [1]}}}
    warnings = Grammar.from_json_schema(schema).check()
    assert [warning.pointer for warning in warnings] == ["#/properties/a/nullable", "#/properties/b/nullable"]
    assert {warning.code for warning in warnings} == {"ignored-annotation"}
    (warning,) = Grammar.from_json_schema(schema, openapi_nullable=True).check()
    assert warning.pointer == "#/properties/b/nullable"
    assert Grammar.from_json_schema({"type": "string", "nullable": False}).check() == []
    (effect,) = (
        each for each in keyword_effects(schema, openapi_nullable=True) if each.pointer.endswith("a/nullable")
    )
    assert effect.kind == "enforced"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"additionalProperties": {"type": "string"}},
        {"unevaluatedProperties": False},
        {"minProperties": 1},
    ],
)
def test_many_properties_are_read_in_linear_time(more: dict[str, Any]) -> None:
    def seconds(count: int) -> float:
        properties = {f"p{index}": {"type": "integer"} for index in range(count)}
        schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
        text = json.dumps(schema)
        start = time.process_time()
        Grammar.from_json_schema(text)
        return time.process_time() - start

    seconds(100)
    few = min(seconds(2_000) for _ in range(3))
    # Quadratic time would be 100 times as much.
    assert seconds(20_000) < 25 * few


@pytest.mark.parametrize("combination", ["anyOf", "oneOf"])
def test_many_references_to_constants_are_one_set(combination: str) -> None:
    """With a union of pairs, 20,000 numbers take minutes."""
    values = [
        number if number % 2 else f"w{number}" for number in range(20_000 if combination == "anyOf" else 64)
    ]
    schema = {
        "$defs": {f"d{index}": {"const": value} for index, value in enumerate(values)},
        combination: [{"$ref": f"#/$defs/d{index}"} for index in range(len(values))],
    }
    compiled = Grammar.from_json_schema(schema, limits=Limits(seconds=20)).compile(BYTES)
    assert compiled.is_valid(b"7")
    assert compiled.is_valid(b'"w8"')
    assert not compiled.is_valid(b"8")
    assert not compiled.is_valid(b'"w7"')
