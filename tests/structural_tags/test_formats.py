"""Structural tags: free text against its definition, all formats against XGrammar's verdicts, tokens, errors."""

from __future__ import annotations

import itertools
import json
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags import StructuralTagError
from peer_verdicts import BYTES, differences, verdicts

OVERLAPPING_ENDS = json.dumps(
    {"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": ["bb", "ba"]}, ensure_ascii=False
)
UNKNOWN_FIELD = json.dumps({"type": "const_string", "value": "a", "foo": 1})
DIFFERENCES = {
    # The content ends at the first end; XGrammar also admits a later end that overlaps with it.
    OVERLAPPING_ENDS: ["abba", "abbb", "aabba", "aabbb"],
    # What is not understood is refused.
    UNKNOWN_FIELD: ["refused"],
}


@pytest.mark.parametrize("row", verdicts("xgrammar_structural_tags"), ids=lambda row: str(row["format"])[:60])
def test_texts_are_those_of_xgrammar(row: dict[str, Any]) -> None:
    tag = {"type": "structural_tag", "format": row["format"]}
    found = differences(row, lambda: Grammar.from_structural_tag(tag))
    assert found == DIFFERENCES.get(json.dumps(row["format"], ensure_ascii=False), [])


def is_dispatched(text: str, triggers: dict[str, str], excludes: list[str]) -> bool:
    """Return whether a text is free text with triggers, each followed by its format; the first, longest one counts."""
    place = 0
    while True:
        rest = text[place:]
        ends = [end for end in range(1, len(rest) + 1) if rest[:end].endswith(tuple(triggers))]
        if not ends:
            return not any(word in rest for word in excludes)
        trigger = max((word for word in triggers if rest[: ends[0]].endswith(word)), key=len)
        free, after = rest[: ends[0] - len(trigger)], rest[ends[0] :]
        if any(word in free for word in excludes) or not after.startswith(triggers[trigger]):
            return False
        place += ends[0] + len(triggers[trigger])


@pytest.mark.parametrize(
    ("triggers", "excludes"),
    [
        ({"aa": "b"}, []),
        ({"aba": "", "ba": "c"}, []),
        ({"ab": "c", "b": "a"}, []),
        ({"abc": "a", "bcb": "b"}, ["cc"]),
        ({"a": "b", "cab": "c"}, []),
    ],
)
def test_text_stops_at_the_first_trigger(triggers: dict[str, str], excludes: list[str]) -> None:
    rules = [[trigger, {"type": "const_string", "value": after}] for trigger, after in triggers.items()]
    tag = {"format": {"type": "dispatch", "rules": rules, "excludes": excludes}}
    compiled = Grammar.from_structural_tag(tag).compile(BYTES)
    texts = ["".join(letters) for length in range(8) for letters in itertools.product("abc", repeat=length)]
    for text in texts:
        assert compiled.is_valid(text.encode()) == is_dispatched(text, triggers, excludes), text


def test_the_older_form() -> None:
    tag = {
        "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
        "triggers": ["<f"],
    }
    as_text = {
        "structures": [{"begin": "<f>", "schema": '{"type": "integer"}', "end": "</f>"}],
        "triggers": ["<f"],
    }
    for given in (tag, as_text, json.dumps({"type": "structural_tag", **tag})):
        compiled = Grammar.from_structural_tag(given).compile(BYTES)
        assert compiled.is_valid(b"text <f>12</f> text")
        assert not compiled.is_valid(b"text <f>x</f>")
        assert not compiled.is_valid(b"<fx")
        assert compiled.is_valid(b"text")
    # SGLang asks so for calls that are required.
    required = Grammar.from_structural_tag({**tag, "at_least_one": True}).compile(BYTES)
    assert required.is_valid(b"<f>12</f> text")
    assert not required.is_valid(b"text <f>12</f>")
    free = {"structures": [{"begin": "<f>", "schema": None, "end": "</f>"}], "triggers": ["<f"]}
    assert Grammar.from_structural_tag(free).compile(BYTES).is_valid(b"<f>[null]</f>")
    with pytest.raises(StructuralTagError, match="no field `stop`"):
        Grammar.from_structural_tag({**tag, "stop": True})


TOKENS = grammask.Vocabulary(
    [b"a", b"b", b"<x>", None, None, None], special={"<x>": 3, "<y>": 4}, eos=5, size=6
)


def allowed(tag: dict[str, Any], *tokens: int) -> list[int]:
    matcher = Grammar.from_structural_tag({"format": tag}).compile(TOKENS).matcher()
    for token in tokens:
        assert matcher.accept(token)
    return matcher.allowed_ids().tolist()


def test_the_older_form_carries_options() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    tag = {
        "structures": [{"begin": "<f>", "schema": schema, "end": "</f>"}],
        "triggers": ["<f"],
        "x-grammask": {"key_order": "any"},
    }
    assert Grammar.from_structural_tag(tag).compile(BYTES).is_valid(b'<f>{"b": 2, "a": 1}</f>')


@pytest.mark.parametrize(
    ("tag", "pointer"),
    [
        ({"format": {"type": "any_text"}, "stop": "x"}, "#/stop"),
        ({"structures": [], "triggers": ["<f"], "stop": "x"}, "#/stop"),
        (
            {"structures": [{"begin": "<f>", "shema": {}, "end": "</f>"}], "triggers": ["<f"]},
            "#/structures/0/shema",
        ),
    ],
)
def test_unknown_fields_at_the_root(tag: dict[str, Any], pointer: str) -> None:
    with pytest.raises(StructuralTagError) as error:
        Grammar.from_structural_tag(tag)
    assert pointer in [diagnostic.pointer for diagnostic in error.value.diagnostics]


def test_tokens_match_by_id_only() -> None:
    token = {"type": "token", "token": "<x>"}
    assert allowed(token) == [3]
    assert allowed({"type": "token", "token": 2}) == [2]
    # Text is never a special token, also where it is spelled alike.
    assert allowed({"type": "any_text"}) == [0, 1, 2, 5]
    assert allowed({"type": "const_string", "value": "<x>"}) == [2]
    assert allowed({"type": "exclude_token", "exclude_tokens": ["<x>", 0]}) == [1, 2, 4]
    any_tokens = {"type": "any_tokens", "exclude_tokens": [0], "max_tokens": 2}
    assert allowed(any_tokens) == [1, 2, 3, 4, 5]
    assert allowed(any_tokens, 1, 3) == [5]
    # What is the end of a tag does not belong to its content.
    tag = {
        "type": "tag",
        "begin": token,
        "content": {"type": "any_tokens"},
        "end": {"type": "token", "token": "<y>"},
    }
    assert allowed(tag) == [3]
    assert allowed(tag, 3) == [0, 1, 2, 3, 4]
    assert allowed(tag, 3, 4) == [5]
    tag["end"] = "b"
    dispatched = {
        "type": "token_triggered_tags",
        "trigger_tokens": ["<x>"],
        "tags": [tag],
        "exclude_tokens": [4],
    }
    assert allowed(dispatched) == [0, 1, 2, 3, 5]
    assert allowed({**dispatched, "at_least_one": True}) == [3]
    dispatch = {
        "type": "token_dispatch",
        "rules": [["<x>", {"type": "const_string", "value": "a"}]],
        "loop": False,
    }
    assert allowed(dispatch, 3) == [0]
    assert allowed(dispatch, 3, 0) == [5]


def test_bounds_of_text() -> None:
    tag = {"type": "tag", "begin": "", "content": {"type": "any_text", "max_tokens": 2}, "end": "b"}
    assert allowed(tag, 0, 0) == [1]
    compiled = Grammar.from_structural_tag(
        {"format": {"type": "tag", "begin": "", "content": {"type": "any_text", "max_chars": 2}, "end": "."}}
    ).compile(BYTES)
    assert [compiled.is_valid(text.encode()) for text in (".", "éé.", "ééé.")] == [True, True, False]


def test_white_space_between_parameters() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    content = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml", "max_whitespace_cnt": 2}
    compiled = Grammar.from_structural_tag({"format": content}).compile(BYTES)
    assert compiled.is_valid(b" \n<parameter=a> 1</parameter>\r\t")
    assert not compiled.is_valid(b"   <parameter=a>1</parameter>")


def test_everything_wrong_is_reported_with_its_place() -> None:
    tag = {
        "format": {
            "type": "sequence",
            "elements": [
                {"type": "foo"},
                {"type": "regex", "pattern": "("},
                {"type": "grammar", "grammar": "root ::= x"},
                {"type": "json_schema", "json_schema": {"type": 5}},
                {"type": "repeat", "min": 2, "max": 1, "content": {"type": "any_text"}},
                {
                    "type": "triggered_tags",
                    "triggers": ["<"],
                    "tags": [{"begin": "x", "content": {}, "end": ""}],
                },
            ],
        }
    }
    with pytest.raises(StructuralTagError) as caught:
        Grammar.from_structural_tag(tag)
    assert [found.pointer for found in caught.value.diagnostics] == [
        "#/format/elements/0/type",
        "#/format/elements/1/pattern",
        "#/format/elements/2/grammar",
        "#/format/elements/3/json_schema/type",
        "#/format/elements/4",
        "#/format/elements/5/tags/0/begin",
        "#/format/elements/5/tags/0/content/type",
    ]
    for wrong in (
        "[",
        "[]",
        {},
        {"type": "structural_tag"},
        {"format": {"type": "sequence", "elements": []}},
    ):
        with pytest.raises(StructuralTagError):
            Grammar.from_structural_tag(wrong)


def test_formats_share_the_time_of_a_call() -> None:
    formats = [{"type": "regex", "pattern": pattern} for pattern in ("a+$", "(")]
    tag = {"type": "structural_tag", "format": {"type": "or", "elements": formats}}
    with pytest.raises(grammask.LimitExceeded) as caught:
        Grammar.from_structural_tag(tag, limits=grammask.Limits(seconds=0))
    assert (caught.value.code, caught.value.pointer) == ("limit-exceeded", "#/format")
    assert "`seconds` of 0" in str(caught.value)


def test_inexact_constructs_are_unsupported() -> None:
    for schema in (
        {"properties": {"a": {"type": "string"}}, "additionalProperties": True, "minProperties": 1},
        {"properties": {"a": {"type": "string"}}, "minProperties": 2},
        {"type": "object", "properties": {"a": {"type": []}}},
    ):
        with pytest.raises(grammask.UnsupportedGrammar):
            Grammar.from_structural_tag(
                {"format": {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}}
            )


def test_nested_tags_with_several_ends() -> None:
    tag: dict[str, Any] = {"type": "any_text"}
    for _ in range(200):
        tag = {"type": "tag", "begin": "<", "content": tag, "end": [">", ")"]}
    compiled = Grammar.from_structural_tag({"format": tag}).compile(BYTES)
    assert compiled.is_valid(b"<" * 200 + b"a" + b">)" * 100)
    assert not compiled.is_valid(b"<" * 200 + b"a" + b">" * 199)


def test_deep_tags() -> None:
    tag: dict[str, Any] = {"type": "const_string", "value": "a"}
    for _ in range(5_000):
        tag = {"type": "optional", "content": tag}
    assert Grammar.from_structural_tag({"format": tag}).compile(BYTES).is_valid(b"a")


def test_answers_in_markdown() -> None:
    answer = {"type": "markdown_answer", "code": ["json"], "other": "refuse", "min_blocks": 1}
    tag = {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>\n"},
            answer,
        ],
    }
    compiled = Grammar.from_structural_tag({"type": "structural_tag", "format": tag}).compile(BYTES)
    assert compiled.is_valid(b"<think>Hm.</think>\nSo:\n```json\n[1]\n```")
    assert not compiled.is_valid(b"<think>Hm.</think>\nSo:\n```json\n[1,]\n```")
    assert Grammar.from_response_format(answer).compile(BYTES).is_valid(b"```JSON\n1\n```\n")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"code": ["cobol"]}, "no bundled language"),
        ({"code": "json"}, "list of strings"),
        ({"code": ["json"], "other": "some"}, "neither"),
        ({"code": ["json"], "max_indent": 9}, "range 0 to 8"),
        ({"code": ["json"], "max_quotations": 4}, "range 0 to 3"),
        ({"code": ["json"], "max_quotations": "1"}, "is a number"),
        ({"code": ["json"], "min_blocks": -1}, "is a number"),
        ({"code": ["json"], "fences": ["``"]}, "no fence"),
    ],
)
def test_mistakes_in_answers_in_markdown(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=message):
        Grammar.from_structural_tag(
            {"type": "structural_tag", "format": {"type": "markdown_answer", **fields}}
        )


def test_answers_in_markdown_come_last() -> None:
    content = {"type": "markdown_answer", "code": ["json"]}
    tag = {"type": "tag", "begin": "<answer>", "content": content, "end": "</answer>"}
    with pytest.raises(grammask.UnsupportedGrammar, match="last format"):
        Grammar.from_structural_tag({"type": "structural_tag", "format": tag})
