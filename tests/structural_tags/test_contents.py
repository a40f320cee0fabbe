"""Contents of strings in structural tags and response formats."""

from __future__ import annotations

from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags.parameters import PARAMETER_STYLES
from peer_verdicts import BYTES

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string", "contentMediaType": "application/sql"}},
    "required": ["q"],
    "additionalProperties": False,
}
CALLS = {
    "json": '{"q": "@"}',
    "qwen_xml": "<parameter=q>\n@\n</parameter>",
    "minimax_xml": '<parameter name="q">@</parameter>',
    "glm_xml": "<arg_key>q</arg_key><arg_value>@</arg_value>",
    "cohere_xml": '<cofl:value name="q" type="raw">@</cofl:value>',
    "minimax_m3_xml": "]<]minimax[>[<q>@]<]minimax[>[</q>",
}


def tag(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "json_schema": schema, **fields}}


@pytest.mark.parametrize("style", CALLS)
def test_styles(style: str) -> None:
    assert style in PARAMETER_STYLES
    enforced = Grammar.from_structural_tag(tag(SCHEMA, style=style, content="enforce")).compile(BYTES)
    annotated = Grammar.from_structural_tag(tag(SCHEMA, style=style)).compile(BYTES)
    for query, is_valid in (("SELECT 1", True), ("SELECT FROM", False)):
        call = CALLS[style].replace("@", query).encode()
        assert annotated.is_valid(call)
        assert enforced.is_valid(call) == is_valid


def test_json_without_quotes() -> None:
    """JSON in a tag is JSON, whose strings do not contain the end of the tag."""
    inner = {"type": "array", "items": {"$ref": "#/$defs/text"}}
    schema = {
        **SCHEMA,
        "properties": {
            "q": {"type": "string", "contentMediaType": "application/json", "contentSchema": inner}
        },
        "$defs": {"text": {"type": "string"}},
    }
    compiled = Grammar.from_structural_tag(tag(schema, style="minimax_xml", content="enforce")).compile(BYTES)
    call = CALLS["minimax_xml"]
    assert compiled.is_valid(call.replace("@", '["a", "b"]').encode())
    assert not compiled.is_valid(call.replace("@", "[1]").encode())
    assert not compiled.is_valid(call.replace("@", '["</parameter>"]').encode())


def test_what_is_refused() -> None:
    for value in ("yes", 1):
        with pytest.raises(grammask.GrammarError):
            Grammar.from_structural_tag(tag(SCHEMA, content=value))
    for style in CALLS:
        unknown = {**SCHEMA, "properties": {"q": {"type": "string", "x-grammask-content": "no"}}}
        with pytest.raises(grammask.GrammarError, match="there is no grammar `no`"):
            Grammar.from_structural_tag(tag(unknown, style=style))
        both = {**SCHEMA["properties"]["q"], "x-grammask-content": "no"}  # type: ignore[index]
        with pytest.raises(grammask.GrammarError):
            Grammar.from_structural_tag(
                tag({**SCHEMA, "properties": {"q": both}}, style=style, content="enforce")
            )
    with pytest.raises(grammask.GrammarError) as raised:
        Grammar.from_structural_tag(tag(SCHEMA, content="enforce", excludes=["x"]))
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.pointer == "#/format/json_schema/properties/q/contentMediaType"


def test_response_formats() -> None:
    for body in ({"json_schema": {"name": "x", "schema": SCHEMA, "content": "enforce"}}, {"schema": SCHEMA}):
        form = {"type": "json_schema", **body}
        options: dict[str, Any] = {} if "json_schema" in body else {"content": "enforce"}
        compiled = Grammar.from_response_format(form, **options).compile(BYTES)
        assert compiled.is_valid(b'{"q": "SELECT 1"}')
        assert not compiled.is_valid(b'{"q": "SELECT"}')
    with pytest.raises(ValueError, match="content"):
        Grammar.from_response_format(
            {"type": "json_schema", "json_schema": {"schema": SCHEMA, "content": "?"}}
        )
