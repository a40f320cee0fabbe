"""Texts of users, schemas and tools that spell special tokens match byte by byte: no special token is legal in them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

import pytest
from grammask import Grammar, GrammarError, Template, Vocabulary
from grammask.structural_tags.parameters import PARAMETER_STYLES
from grammask.structural_tags.parameters.marked_text import MarkedText, marked_part
from grammask.templates import choice
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Call, Output, write_output

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = "\ue000"
"""Stands for the name of a special token in a second text, in which all other special tokens are those of the style."""


def vocabulary_of(style: str | None) -> tuple[Vocabulary, list[str]]:
    names = ["<|endoftext|>", "<|im_end|>", "[INST]", "</s>"]
    names += tool_style(style)["tokens"] if style else ["<|channel|>", "[TOOL_CALLS]"]
    names = list(dict.fromkeys(names))
    special = {name: 256 + index for index, name in enumerate(names)}
    texts = [bytes([byte]) for byte in range(256)]
    return Vocabulary(texts, special=special, eos=256, size=256 + len(names)), names


def tool_with(word: str, *, has_member: bool, has_object: bool) -> tuple[dict[str, Any], Call]:
    """Return a tool with a word in names, values and descriptions, and a call of it."""
    properties: dict[str, Any] = {
        "e": {"enum": [word, 1], "description": word},
        "c": {"const": word},
        "l": {"type": "array", "items": {"enum": [word]}},
        "u": {"anyOf": [{"const": word}, {"enum": [f"x{word}y"]}]},
    }
    values: dict[str, Any] = {"e": word, "c": word, "l": [word, word], "u": f"x{word}y"}
    if has_object:
        properties["o"] = {"enum": [{"k": [word]}]}
        values["o"] = {"k": [word]}
    if has_member:
        properties[word] = {"const": 1}
        values[word] = 1
    schema = {
        "type": "object",
        "title": word,
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
    function = {"name": f"f{word}", "description": word, "parameters": schema}
    return {"type": "function", "function": function}, Call(
        f"f{word}", json.dumps(values, ensure_ascii=False)
    )


def ids_of(text: str, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of a text in which special tokens are written by their names."""
    names = sorted(vocabulary.special, key=len, reverse=True)
    pieces = re.split("(" + "|".join(map(re.escape, names)) + ")", text)
    ids: list[int] = []
    for piece in pieces:
        ids += [vocabulary.special[piece]] if piece in vocabulary.special else piece.encode()
    return ids


def pieces_of(text: str, twin: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text, with whether each stands where a second text has its place for a word."""
    begin, *others = twin.split(PLACE)
    assert text.startswith(begin)
    yield begin, False
    at = len(begin)
    for other in others:
        end = text.index(other, at)
        yield text[at:end], True
        yield other, False
        at = end + len(other)
    assert at == len(text)


def check_walk(grammar: Grammar, vocabulary: Vocabulary, pieces: list[tuple[str, bool]]) -> None:
    """Check that pieces are a text of a grammar, in which no special token is legal within the marked pieces."""
    matcher = grammar.compile(vocabulary).matcher()
    for piece, is_word in pieces:
        for id in piece.encode() if is_word else ids_of(piece, vocabulary):
            allowed = matcher.allowed_ids()
            assert not is_word or allowed.max() < 256, (
                pieces,
                [vocabulary.name_of(int(id)) for id in allowed],
            )
            assert matcher.accept(id), (pieces, piece)
    assert matcher.is_complete


@pytest.mark.parametrize("style", tool_styles())
def test_calls(style: str) -> None:
    vocabulary, names = vocabulary_of(style)
    written_count = 0
    for name in names:
        for has_member, has_object in ((True, True), (True, False), (False, True), (False, False)):
            flags = {"has_member": has_member, "has_object": has_object}
            (tool, call), (twin, twin_call) = (tool_with(f"a{x}b", **flags) for x in (name, PLACE))
            try:
                grammar = Grammar.from_tools(
                    [tool], style=style, tool_choice="required", vocabulary=vocabulary
                )
                text = write_output(Output(None, "", (call,)), style, [tool])
                second = write_output(Output(None, "", (twin_call,)), style, [twin])
            except (GrammarError, ValueError):  # This style cannot write the word in these places.
                continue
            check_walk(grammar, vocabulary, list(pieces_of(text, second)))
            written_count += 1
    assert written_count >= 2 * (len(names) - 1)


@pytest.mark.parametrize("form", PARAMETER_STYLES)
def test_structural_tags(form: str) -> None:
    vocabulary, names = vocabulary_of(None)
    for name in names:
        tool, call = tool_with(f"a{name}b", has_member=form == "json", has_object=False)
        schema = tool["function"]["parameters"]
        inner = {"type": "json_schema", "json_schema": schema, "style": form}
        tag = {"type": "tag", "begin": f"<{name}>", "content": inner, "end": f"</{name}>"}
        elements = [{"type": "const_string", "value": name}, tag]
        grammar = Grammar.from_structural_tag({"format": {"type": "sequence", "elements": elements}})
        written = PARAMETER_STYLES[form].write(schema, call.arguments)
        check_walk(grammar, vocabulary, [(f"{name}<{name}>{written}</{name}>", True)])


def test_templates_formats_and_schemas() -> None:
    vocabulary, names = vocabulary_of(None)
    for name in names:
        word = f"a{name}b"
        tool, call = tool_with(word, has_member=True, has_object=True)
        schema = tool["function"]["parameters"]
        wanted = {"type": "json_schema", "json_schema": {"name": "n", "description": word, "schema": schema}}
        template = Template("{{" + word + ": {x}}}", x=choice([word, "c"]))
        for grammar, text in (
            (Grammar.from_response_format(wanted), call.arguments),
            (template.grammar, "{" + word + ": " + word + "}"),
            (Grammar.literal(word), word),
        ):
            check_walk(grammar, vocabulary, [(text[:-1], True), (text[-1], False)])


def test_formatters() -> None:
    pytest.importorskip("pydantic")
    from grammask.formatron.formatter import FormatterBuilder, Layout

    vocabulary, names = vocabulary_of(None)
    for name in names:
        builder = FormatterBuilder()
        chosen = builder.choose(name, "b", capture_name="c")
        builder.append_str(f"{name}: {chosen}, {builder.json(Literal[name], capture_name='j')}.")
        grammar = Layout(builder._extractors).grammar
        text = f"{name}: {name}, {json.dumps(name, ensure_ascii=False)}"
        check_walk(grammar, vocabulary, [(text, True), (".", False)])


def test_a_plain_text_is_no_marked_text() -> None:
    with pytest.raises(TypeError, match="is a plain text"):
        marked_part("<|im_end|>", frozenset({"<|im_end|>"}))  # type: ignore[arg-type]
    style = MarkedText("<a>{key}<b>")
    with pytest.raises(TypeError, match="is a plain text"):
        style.filled("{key}", "<|im_end|>")  # type: ignore[arg-type]
    before, _, after = style.partition("{key}")
    assert isinstance(before, MarkedText)
    assert isinstance(after, MarkedText)
    assert not isinstance(before + "x", MarkedText)


def test_counted_members_begin_with_the_tokens_of_their_tags() -> None:
    """With a number of members the opening of a tag was text, also where it contains a special token."""
    vocabulary, _ = vocabulary_of("kimi_k3")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    grammar = Grammar.from_tools([tool], style="kimi_k3", tool_choice="required", vocabulary=vocabulary)
    text = write_output(Output(None, "", (Call("f", '{"a": 1}'),)), "kimi_k3", [tool])
    check_walk(grammar, vocabulary, [(text, False)])
