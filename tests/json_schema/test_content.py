"""`contentMediaType`, `contentEncoding` and `contentSchema` with `content="enforce"`."""

from __future__ import annotations

import ast
import base64
import dataclasses
import json
import pickle
import random
import warnings
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import grammask
import jsonschema
import pydantic
import pytest
from grammask import Grammar, SchemaOptions, UnsupportedSchema
from peer_verdicts import BYTES
from sqlite_reader import is_read_by_sqlite

if TYPE_CHECKING:
    from pathlib import Path

SQL = {"type": "string", "contentMediaType": "application/sql"}
JSON = {"type": "string", "contentMediaType": "application/json"}


def enforced(schema: Any, **options: Any) -> grammask.CompiledGrammar:
    return Grammar.from_json_schema(schema, content="enforce", **options).compile(BYTES)


def pointers(schema: Any, **options: Any) -> list[str | None]:
    with pytest.raises(UnsupportedSchema) as raised:
        Grammar.from_json_schema(schema, content="enforce", **options)
    return [item.pointer for item in raised.value.diagnostics]


def sampled(compiled: grammask.CompiledGrammar, seed: int, count: int = 40) -> list[str]:
    """Returns random texts; closing bytes are more likely, so that texts are not all cut by their budget."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        matcher = compiled.matcher(max_tokens=rng.randrange(40, 160))
        while not matcher.is_finished:
            allowed = matcher.allowed_ids().tolist()
            printable = [id for id in allowed if id == 256 or 32 <= id < 127]
            matcher.accept(rng.choice(printable or allowed))
        texts.append(b"".join(BYTES.token(id) or b"" for id in matcher.tokens if id != 256).decode())
    return texts


def test_they_are_annotations_by_default() -> None:
    schema = {"properties": {"a": {**SQL, "contentEncoding": "base64"}}, "type": "object"}
    compiled = Grammar.from_json_schema(schema).compile(BYTES)
    assert compiled.is_valid(b'{"a": "no SQL, and no base64"}')
    unknown = {"contentMediaType": 1, "contentEncoding": [], "contentSchema": 2}
    assert Grammar.from_json_schema(unknown).compile(BYTES).is_valid(b'"x"')
    explicit = Grammar.from_json_schema(schema, content="annotation")
    assert Grammar.from_json_schema(schema).digest() == explicit.digest()


@pytest.mark.parametrize(
    ("media_type", "right", "wrong"),
    [
        ("application/sql", "SELECT \"é\" FROM t\nWHERE a = '/'", "SELECT FROM"),
        ("text/x-python", 'if x:\n    print("é", 1)\n', "if x:\nprint(1)\n"),
        ("text/javascript; charset=utf-8", "const a = [1, 2];\n", "const a = [1, 2;"),
        ("TEXT/X-Go", "package main\n\nfunc main() {}\n", "package"),
        ("application/json", '{"a": ["é", null]}', '{"a": [}'),
        ("application/vnd.x+json", "[1]", "[1"),
    ],
)
def test_media_types(media_type: str, right: str, wrong: str) -> None:
    compiled = enforced({"type": "string", "contentMediaType": media_type})
    for ensure_ascii in (True, False):
        assert compiled.is_valid(json.dumps(right, ensure_ascii=ensure_ascii).encode())
        assert not compiled.is_valid(json.dumps(wrong, ensure_ascii=ensure_ascii).encode())
    assert not compiled.is_valid(b"1")


def test_other_types_are_free() -> None:
    compiled = enforced({"contentMediaType": "application/json", "contentSchema": {"type": "integer"}})
    for text in (b"1", b"[1, {}]", b"null", b'"12"', b'{"a": "x"}'):
        assert compiled.is_valid(text)
    for text in (b'"x"', b'"1.5"', b'""'):
        assert not compiled.is_valid(text)


def test_schemas_of_contents() -> None:
    order = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"body": {**JSON, "contentSchema": order}, "n": {"type": "integer"}},
        "required": ["body"],
        "additionalProperties": False,
        "$defs": {"tag": {"enum": ["é", 'a"b']}},
    }
    compiled = enforced(schema)
    inner_validator = jsonschema.Draft202012Validator({**order, "$defs": schema["$defs"]})
    for text in sampled(compiled, 1):
        value = json.loads(text)
        assert inner_validator.is_valid(json.loads(value["body"])), text
    for inner in ({"id": 1}, {"id": 1, "tags": ["é", 'a"b']}):
        for ensure_ascii in (True, False):
            text = json.dumps(
                {"body": json.dumps(inner, ensure_ascii=ensure_ascii), "n": 2}, ensure_ascii=ensure_ascii
            )
            assert compiled.is_valid(text.encode()), text
    for wrong in ({"id": "1"}, {"tags": []}, {"id": 1, "tags": ["a"]}, [1]):
        assert not compiled.is_valid(json.dumps({"body": json.dumps(wrong)}).encode())


def test_json_in_json_in_json() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"é": {"type": "integer"}}, "required": ["é"]}
    schema["additionalProperties"] = False
    value: Any = {"é": 7}
    for _ in range(3):
        schema, value = {**JSON, "contentSchema": schema}, json.dumps(value)
    compiled = enforced(schema)
    assert compiled.is_valid(json.dumps(value).encode())
    assert not compiled.is_valid(json.dumps(value).replace("7", '\\"7\\"').encode())
    for text in sampled(compiled, 2, 10):
        decoded = text
        for _ in range(4):
            decoded = json.loads(decoded)
        assert list(decoded) == ["é"]


def test_contents_are_read_by_their_own_readers() -> None:
    schema = {
        "type": "object",
        "properties": {
            "query": {**SQL, "contentMediaType": "application/x-q"},
            "code": {"contentMediaType": "application/x-expression", "type": "string"},
        },
        "required": ["query", "code"],
        "additionalProperties": False,
    }
    grammars = {
        "application/x-q": Grammar.bundled("sql", start="query"),
        "application/x-expression": Grammar.bundled("python", start="expression"),
    }
    compiled = enforced(schema, content_grammars=grammars)
    for text in sampled(compiled, 3):
        value = json.loads(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(value["code"].strip(), mode="eval")
        assert is_read_by_sqlite(value["query"]), text


def test_base_encodings() -> None:
    codecs = {
        "base16": base64.b16decode,
        "base32": base64.b32decode,
        "base64": lambda text: base64.b64decode(text, validate=True),
        "base64url": base64.urlsafe_b64decode,
    }
    for name, decode in codecs.items():
        compiled = enforced({"type": "string", "contentEncoding": name})
        for text in sampled(compiled, 4):
            decode(json.loads(text))
    compiled = enforced({"type": "string", "contentEncoding": "base64", "maxLength": 8, "not": {"const": ""}})
    assert compiled.is_valid(b'"YQ=="')
    assert compiled.is_valid(b'"\\/\\/8="')
    for text in (b'"YQ"', b'"YR=="', b'""', b'"YWFhYWFhYWFh"', b'"Y W E="'):
        assert not compiled.is_valid(text)
    date = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/x-date"}
    grammar = Grammar.from_regex("[0-9]{4}-[0-9]{2}")
    compiled = enforced(date, content_grammars={"Application/x-date": grammar})
    assert compiled.is_valid(json.dumps(base64.b64encode(b"2024-05").decode()).encode())
    assert not compiled.is_valid(json.dumps(base64.b64encode(b"2024-5").decode()).encode())
    body = {
        **JSON,
        "contentEncoding": "base64",
        "contentSchema": {"type": "array", "items": {"enum": [1, "é"]}, "maxItems": 2},
    }
    compiled = enforced(body, whitespace="compact")
    for inner, is_valid in (("[1]", True), ('["é",1]', True), ("[]", True), ("[2]", False), ("[1", False)):
        assert compiled.is_valid(json.dumps(base64.b64encode(inner.encode()).decode()).encode()) == is_valid
    assert pointers({**SQL, "contentEncoding": "base64"}) == ["#/contentMediaType"]
    assert pointers({**JSON, "contentEncoding": "base64"}) == ["#/contentMediaType"]
    assert pointers({"contentEncoding": "quoted-printable"}) == ["#/contentEncoding"]
    assert enforced({**JSON, "contentEncoding": "binary"}).is_valid(b'"[]"')


def test_combinations() -> None:
    other = {"type": "string", "enum": ["none", "all"]}
    either = enforced({"anyOf": [SQL, other, {"type": "null"}, {**JSON, "contentSchema": {"type": "array"}}]})
    for text in (b'"none"', b'"SELECT 1"', b"null", b'"[1]"'):
        assert either.is_valid(text)
    for text in (b'"some"', b'"SELECT"', b'"{}"'):
        assert not either.is_valid(text)
    assert enforced({"allOf": [SQL, {"type": ["string", "null"]}, SQL]}).is_valid(b'"SELECT 1"')
    assert enforced({"oneOf": [SQL, {"type": "integer"}]}).is_valid(b"1")
    by_language = {
        "type": "object",
        "oneOf": [
            {"properties": {"language": {"const": "sql"}, "code": SQL}},
            {"properties": {"language": {"const": "json"}, "code": JSON}},
        ],
        "required": ["language", "code"],
        "additionalProperties": {"type": "integer"},
    }
    by_language = {**by_language, "additionalProperties": True}
    compiled = enforced(by_language)
    assert compiled.is_valid(b'{"language": "sql", "code": "SELECT 1"}')
    assert compiled.is_valid(b'{"language": "json", "code": "[1]"}')
    assert not compiled.is_valid(b'{"language": "json", "code": "SELECT 1"}')
    conditional = {
        "type": "object",
        "properties": {"kind": {"enum": ["sql", "text"]}, "code": {"type": "string"}},
        "required": ["kind", "code"],
        "if": {"properties": {"kind": {"const": "sql"}}},
        "then": {"properties": {"code": SQL}},
    }
    compiled = enforced(conditional)
    assert compiled.is_valid(b'{"kind": "text", "code": "?"}')
    assert compiled.is_valid(b'{"kind": "sql", "code": "SELECT 1"}')
    assert not compiled.is_valid(b'{"kind": "sql", "code": "?"}')
    impossible = {"anyOf": [{**SQL, "type": "integer"}, {"const": 1.5}, {"allOf": [SQL, {"type": "null"}]}]}
    assert enforced(impossible).is_valid(b"1.5")
    # A regular content is exact next to other keywords.
    word = {"contentMediaType": "x/word", "type": "string", "minLength": 2, "not": {"const": "ab"}}
    compiled = enforced(word, content_grammars={"x/word": Grammar.from_regex("[a-c]+")})
    assert [compiled.is_valid(json.dumps(text).encode()) for text in ("a", "ab", "ac", "xy")] == [
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**SQL, "maxLength": 100}, ["#/contentMediaType"]),
        ({**SQL, "pattern": "^S"}, ["#/contentMediaType"]),
        ({**SQL, "enum": ["SELECT 1", "x"]}, ["#/contentMediaType"]),
        ({"not": SQL}, ["#/not/contentMediaType"]),
        ({"not": {**JSON, "contentSchema": {"type": "null"}}, "type": "string"}, ["#/not/contentMediaType"]),
        ({"allOf": [SQL, JSON]}, ["#/allOf/0/contentMediaType", "#/allOf/1/contentMediaType"]),
        ({"propertyNames": SQL}, ["#/propertyNames"]),
        ({"type": "array", "items": SQL, "uniqueItems": True}, ["#/uniqueItems"]),
        ({"contentMediaType": "image/png"}, ["#/contentMediaType"]),
        ({**SQL, "contentSchema": {"type": "integer"}}, ["#/contentSchema"]),
        ({"oneOf": [SQL, {"type": "string", "maxLength": 3}]}, ["#/oneOf/0/contentMediaType"]),
    ],
)
def test_what_is_refused(schema: Any, expected: list[str]) -> None:
    assert pointers(schema) == expected
    relaxed = Grammar.from_json_schema(schema, content="enforce", on_unsupported="relax")
    assert [item.pointer for item in relaxed.relaxations] == expected


def test_contents_that_contain_themselves() -> None:
    with pytest.raises(grammask.UnsupportedGrammar) as raised:
        enforced(
            {
                "type": ["string", "null"],
                "contentMediaType": "application/json",
                "contentSchema": {"$ref": "#"},
            }
        )
    assert [item.pointer for item in raised.value.diagnostics] == ["#/contentMediaType"]
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 1
    for depth in range(1, 10):
        schema, value = {**JSON, "contentSchema": schema}, json.dumps(value)
        if depth == 8:
            assert enforced(schema).is_valid(json.dumps(value).encode())
    with pytest.raises(grammask.UnsupportedGrammar) as raised:
        enforced(schema)
    assert [item.pointer for item in raised.value.diagnostics] == ["#/contentMediaType"]
    encoded: dict[str, Any] = {"const": 1}
    for _ in range(2000):
        encoded = {**JSON, "contentEncoding": "base64", "contentSchema": encoded}
    with pytest.raises(UnsupportedSchema):
        enforced(encoded)
    # Recursion inside a content is plain recursion.
    node = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    compiled = enforced({**JSON, "contentSchema": {"$ref": "#/$defs/node"}, "$defs": {"node": node}})
    assert compiled.is_valid(b'"[[], [[]]]"')
    assert not compiled.is_valid(b'"[[], [[1]]]"')


def test_unique_items_in_contents() -> None:
    unique = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    compiled = enforced({"type": "object", "properties": {"a": {**JSON, "contentSchema": unique}}})
    for items in (["a", "b"], ["a", "ab", ""]):
        assert compiled.is_valid(json.dumps({"a": json.dumps(items)}).encode())
    assert not compiled.is_valid(json.dumps({"a": json.dumps(["a", "b", "a"])}).encode())
    # The decoded strings are compared.
    inside = json.dumps(["a", "a"]).replace('"a"]', '"\\u0061"]')
    assert not compiled.is_valid(json.dumps({"a": inside}).encode())
    compiled = enforced({**JSON, "contentSchema": {**unique, "items": {"enum": [1, 2]}}})
    assert compiled.is_valid(b'"[2, 1]"')
    assert not compiled.is_valid(b'"[1, 1]"')


def test_unsatisfiable_contents() -> None:
    with pytest.raises(grammask.GrammarSemanticError):
        enforced({**JSON, "contentSchema": False})
    assert enforced({"anyOf": [{**JSON, "contentSchema": False}, {"const": 1}]}).is_valid(b"1")


def test_drafts() -> None:
    schema = {**JSON, "contentSchema": {"type": "integer"}}
    for draft, ignores_schema, ignores_all in (
        ("7", True, False),
        ("6", True, True),
        ("2019-09", False, False),
    ):
        compiled = Grammar.from_json_schema(schema, content="enforce", draft=draft).compile(BYTES)
        assert compiled.is_valid(b'"1"')
        assert compiled.is_valid(b'"[]"') == ignores_schema
        assert compiled.is_valid(b'"["') == ignores_all


def test_masks_are_those_of_the_encoded_grammar() -> None:
    vocabulary = grammask.Vocabulary(
        [
            *(bytes([byte]) for byte in range(256)),
            b'"SEL',
            b"ECT 1",
            b'\\"',
            b'1"',
            b"\\u00e9",
            b'\\n"',
            None,
        ],
        eos=262,
    )
    sql = Grammar.bundled("sql", start="query")
    schema = {"type": "string", "contentMediaType": "a/b"}
    options = SchemaOptions(content="enforce", content_grammars={"a/b": sql}, escapes="any")
    by_schema = Grammar.from_json_schema(schema, options=options).compile(vocabulary)
    composed = ('"' + sql.encoded("json-string") + '"').compile(vocabulary)
    rng = random.Random(5)
    for _ in range(10):
        matchers = by_schema.matcher(max_tokens=40), composed.matcher(max_tokens=40)
        while not matchers[0].is_finished:
            one, other = (matcher.allowed_ids().tolist() for matcher in matchers)
            assert one == other
            chosen = rng.choice(one)
            assert all(matcher.accept(chosen) for matcher in matchers)


def test_masks_equal_brute_force() -> None:
    """A token is allowed if and only if some text of a finite language goes on with it."""
    inner = [{"a": 1}, {"a": "é"}, [], ["a", 1]]
    schema = {**JSON, "contentSchema": {"enum": inner}}
    compiled_for = Grammar.from_json_schema(
        {"anyOf": [schema, {"const": "x"}]}, content="enforce", whitespace="compact", escapes="raw"
    )
    texts = [
        '"x"',
        *(
            json.dumps(json.dumps(value, ensure_ascii=False, separators=(",", ":")), ensure_ascii=False)
            for value in inner
        ),
    ]
    words = [text.encode() for text in texts]
    pieces = [
        b'"{',
        b'{\\"',
        b'a\\"',
        b'":',
        b":1",
        b'1}"',
        b"\\",
        b'\\"',
        b'"',
        b"x",
        b'x"',
        b"[]",
        b'"[',
        b'["',
        b"a",
        b",1",
        b"1",
        b"]",
        b"}",
        b"{",
        b":",
        b",",
        "é".encode(),
        b"\xc3",
        b"\xa9",
        b'"x"',
    ]
    vocabulary = grammask.Vocabulary([*pieces, None], eos=len(pieces))
    compiled = compiled_for.compile(vocabulary)
    reached = {b""}
    stack = [(b"", compiled.matcher())]
    while stack:
        prefix, matcher = stack.pop()
        expected = [
            id for id, piece in enumerate(pieces) if any(word.startswith(prefix + piece) for word in words)
        ]
        if prefix in words:
            expected.append(len(pieces))
        assert matcher.allowed_ids().tolist() == expected, prefix
        for id in expected:
            if id < len(pieces) and prefix + pieces[id] not in reached:
                reached.add(prefix + pieces[id])
                fork = matcher.fork()
                assert fork.accept(id)
                stack.append((prefix + pieces[id], fork))
    assert set(words) <= reached


def test_options_and_identity() -> None:
    grammar = Grammar.from_regex("a+")
    options = SchemaOptions(content="enforce", content_grammars={"X/Y; a=b": grammar})
    assert options == SchemaOptions(content="enforce", content_grammars={"x/y;a=b": grammar})
    schema = {"contentMediaType": "x/Y;a=B", "type": "string"}
    made = Grammar.from_json_schema(schema, options=options)
    assert made.digest() == Grammar.from_json_schema(schema, options=options).digest()
    assert made.digest() != Grammar.from_json_schema(schema, options=options, content="annotation").digest()
    again = pickle.loads(pickle.dumps(made))
    assert again.digest() == made.digest()
    assert again.compile(BYTES).is_valid(b'"aa"')
    assert not again.compile(BYTES).is_valid(b'"b"')
    with pytest.raises(TypeError):
        SchemaOptions(content_grammars={"x/y": "a+"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="content"):
        SchemaOptions(content="yes")  # type: ignore[arg-type]


def test_plain_strings() -> None:
    grammar = Grammar.from_string_schema(SQL, content="enforce")
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b'SELECT "a"\nFROM t')
    assert not compiled.is_valid(b"SELECT FROM")
    with pytest.raises(UnsupportedSchema):
        Grammar.from_string_schema(JSON, content="enforce")
    with pytest.raises(UnsupportedSchema):
        Grammar.from_string_schema(SQL, content="enforce", excludes=["</p>"])


def test_budgets() -> None:
    compiled = enforced(
        {"type": "object", "properties": {"q": SQL}, "required": ["q"], "additionalProperties": False}
    )
    for seed in range(10):
        matcher = compiled.matcher(max_tokens=30)
        rng = random.Random(seed)
        while not matcher.is_finished:
            matcher.accept(rng.choice(matcher.allowed_ids().tolist()))
        assert len(matcher.tokens) <= 30
    limited = enforced({**SQL, "x-grammask-max-tokens": 8})
    assert limited.matcher().validate(list(b'"SELECT 1"')) == 10
    assert limited.matcher().validate(list(b'"SELECT 11"')) == 9


def test_official_suite(data_directory: Path) -> None:
    folder = data_directory / "json_schema_test_suite"
    refused = []
    for group in json.loads((folder / "draft7/optional/content.json").read_text()):
        try:
            compiled = Grammar.from_json_schema(group["schema"], content="enforce", draft="7").compile(BYTES)
        except UnsupportedSchema:
            refused.append(group["description"])
            continue
        for test in group["tests"]:
            assert compiled.is_valid(json.dumps(test["data"]).encode()) == test["valid"], test
    # Any JSON is not a regular language.
    assert refused == ["validation of binary-encoded media type documents"]
    for draft in ("2019-09", "2020-12"):
        for group in json.loads((folder / f"draft{draft}/content.json").read_text()):
            compiled = Grammar.from_json_schema(group["schema"]).compile(BYTES)
            for test in group["tests"]:
                assert compiled.is_valid(json.dumps(test["data"]).encode()) == test["valid"], test


Query: TypeAlias = Annotated[str, pydantic.Field(json_schema_extra={"contentMediaType": "application/sql"})]


def test_python_types() -> None:
    @dataclasses.dataclass
    class Step:
        query: Query
        code: Annotated[str, {"contentMediaType": "text/x-python"}] = ""

    class Plan(pydantic.BaseModel):
        query: Query
        others: list[Query] = []

    step = Grammar.from_type(Step, content="enforce").compile(BYTES)
    plan = Grammar.from_pydantic(Plan, content="enforce").compile(BYTES)
    for compiled in (step, plan):
        assert compiled.is_valid(b'{"query": "SELECT 1"}')
        assert not compiled.is_valid(b'{"query": "SELECT"}')
    assert not step.is_valid(b'{"query": "SELECT 1", "code": "f("}')
    assert plan.is_valid(b'{"query": "SELECT 1", "others": ["SELECT 2"]}')
    assert not plan.is_valid(b'{"query": "SELECT 1", "others": ["SELECT"]}')
    assert Grammar.from_pydantic(Plan).compile(BYTES).is_valid(b'{"query": "SELECT"}')
