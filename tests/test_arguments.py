"""Arguments of wrong types: each error names the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grammask
import numpy as np
import pytest
from grammask import CompileCache, Grammar, tools
from grammask.errors import GrammarSyntaxError
from grammask.mask_directory import MaskDirectory
from grammask.templates import Template, substring
from grammask.texts import markdown_answer
from grammask.tool_styles import tool_style
from grammask.utf8 import has_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOOL = {"type": "function", "function": {"name": "f"}}
DECLARED = '%declare WORD\nstart: WORD "!"'
VOCABULARY = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
REGEX = Grammar.from_regex("a")
WRONG: Any = object()


def called(name: Any, arguments: Any) -> tools.Output:
    return tools.Output(None, "", (tools.Call(name, arguments),))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Grammar.from_lark(DECLARED, terminals=3), "terminals is a mapping of names, each to a Grammar"),
        (lambda: Grammar.from_lark(DECLARED, terminals={"WORD": 3}), r"terminals\['WORD'\] is a Grammar, unlike 3"),
        (lambda: Grammar.from_lark(DECLARED, terminals={3: WRONG}), "3 is no name"),
        (lambda: Grammar.from_lark('start: "a"', lexical_rules="start"), "lexical_rules is a list of str, unlike"),
        (lambda: Grammar.from_lark('start: "a"', ignored_rules=[3]), "ignored_rules is a list of str, unlike 3"),
        (lambda: Grammar.from_llguidance_lark("start: @x", grammars=[]), "grammars is a mapping of names"),
        (lambda: Grammar.from_llguidance_lark('start: "a"', limits=WRONG), "limits is a Limits or None, unlike"),
        (lambda: Grammar.from_structural_tag({}, limits=1), "limits is a Limits or None, unlike 1"),
        (lambda: Grammar.from_tools(TOOL, style="hermes"), "tools is a list of objects, unlike {'function"),
        (lambda: Grammar.from_tools(None, style="hermes"), "tools is a list of objects, unlike None"),
        (lambda: Grammar.from_tools([TOOL], style="hermes", vocabulary="x"), "vocabulary is a Vocabulary, unlike 'x'"),
        (lambda: Grammar.from_regex("a").repeat("2"), "least is an int, unlike '2'"),
        (lambda: Grammar.from_regex("a").repeat(1, most=True), "most is an int, unlike True"),
        (lambda: Grammar.from_regex("a").limited(max_tokens=2.0), "max_tokens is an int, unlike 2.0"),
        (lambda: Grammar.text(max_characters=WRONG), "max_characters is an int, unlike <object"),
        (lambda: markdown_answer(["json"], min_blocks=None), "min_blocks is an int, unlike None"),
        (lambda: markdown_answer(["json"], max_indent="x"), "max_indent is an int, unlike 'x'"),
        (lambda: markdown_answer(["json"], fences="```"), "fences is a list of str, unlike '```'"),
        (lambda: Grammar.from_regex("a").compile(3), "vocabulary is a Vocabulary, unlike 3"),
        (lambda: Grammar.from_regex("a").compile(VOCABULARY, end=[]), r"end is 'eos' or 'eager', unlike \[\]"),
        (lambda: Grammar.from_regex("a").compile(VOCABULARY, limits={}), "limits is a Limits or None, unlike {}"),
        (lambda: CompileCache("1"), "max_bytes is an int, unlike '1'"),
        (lambda: tools.read_output(b"", "hermes", [TOOL]), "output is a str, unlike b''"),
        (lambda: tools.write_output("", "hermes", [TOOL]), "output is an Output, unlike ''"),
        (lambda: tools.CallStream("hermes", 3), "tools is a list of objects, unlike 3"),
        (lambda: tools.write_output(tools.Output(1, "", ()), "hermes", [TOOL]), "output.reasoning is a str or None"),
        (lambda: tools.write_output(tools.Output(None, 1, ()), "hermes", [TOOL]), "output.content is a str, unlike 1"),
        (lambda: tools.write_output(tools.Output(None, "", ({},)), "hermes", [TOOL]), r"calls\[0\] is a Call"),
        (lambda: tools.write_output(called("f", {}), "hermes", [TOOL]), r"output.calls\[0\].arguments is JSON"),
        (lambda: tools.write_output(called(1, "{}"), "hermes", [TOOL]), r"output.calls\[0\].name is a str"),
        (lambda: tools.write_results("a", "hermes", [TOOL]), "results is a list of Result, unlike 'a'"),
        (lambda: tools.write_results(["a"], "hermes", [TOOL]), r"results\[0\] is a Result, unlike 'a'"),
        (lambda: tools.write_results([tools.Result("f", {})], "hermes", [TOOL]), r"results\[0\].text is a str"),
        (lambda: tools.write_results([], "hermes", None), "tools is a list of objects, unlike None"),
        (lambda: tools.read_output("", "hermes", [TOOL], is_cut_off=1), "is_cut_off is True or False, unlike 1"),
        (lambda: list(tools.CallStream("hermes", []).push(b"")), "text is a str, unlike b''"),
        (lambda: Grammar.from_tools([TOOL], style=3), "style is the name of a style, or an object, unlike 3"),
        (lambda: grammask.SchemaOptions(resolver="a"), "resolver='a' is no function of a URI"),
        (lambda: grammask.SchemaOptions(documents=[{}]), r"documents is a mapping or a folder, unlike \[{}\]"),
        (lambda: REGEX.encoded("indented", prefix=b" "), "prefix is a str or None, unlike b' '"),
        (lambda: Grammar.from_response_format(dict), r"response_format is an object .*from_type takes types"),
        (lambda: Grammar.from_json_schema(Template), "the class Template: Grammar.from_type takes types"),
        (lambda: tools.shown_tools([TOOL], 3), "style is the name of a style, or an object, unlike 3"),
        (lambda: tools.shown_tools(["f"], "hermes"), r"tools\[0\] is an object, unlike 'f'"),
        (lambda: tools.derive_style(["f"], [TOOL]), r"transcripts\[0\] is a Transcript, unlike 'f'"),
        (lambda: tools.derive_style([], 3), "tools is a list of objects, unlike 3"),
        (lambda: tools.read_results(3, "hermes", [TOOL]), "text is a str, unlike 3"),
        (lambda: grammask.PartialJson().feed(3), "text is a str or bytes, not int"),
        (lambda: MaskDirectory(3), "path is a path, as str or os.PathLike, unlike 3"),
        (lambda: grammask.templates.substring(3), "source is a str, unlike 3"),
        (lambda: Grammar.from_kbnf(3), "text is a str or bytes, not int"),
        (lambda: Grammar.from_gbnf(None), "text is a str or bytes, not NoneType"),
        (lambda: Grammar.from_llguidance_lark([]), "text is a str or bytes, not list"),
        (lambda: Grammar.from_regex({}), "pattern is a str or bytes, not dict"),
        (lambda: Grammar.from_choices(["a", None]), r"choices\[1\] is a str or bytes, not NoneType"),
        (lambda: Grammar.from_lark(b"start:"), "grammar is a path or a text, as str or os.PathLike, unlike b"),
        (lambda: Grammar.from_lark('start: "a"', start=["start"]), r"start is the name of a rule, unlike \['start'\]"),
        (lambda: Grammar.bundled(["json"]), r"name is the name of a language, unlike \['json'\]"),
        (lambda: Grammar.bundled("json", start=[]), r"start is the name of a part of the language, unlike \[\]"),
        (lambda: Grammar.from_tools([TOOL], style="hermes", parallel="false"), "parallel is True or False, unlike"),
        (lambda: REGEX.encoded([]), r"encoding is the name of an encoding, unlike \[\]"),
        (lambda: REGEX.encoded("indented", first_line="no"), "first_line is True or False, unlike 'no'"),
        (lambda: REGEX.compile(VOCABULARY, finite=1), "finite is True or False, unlike 1"),
        (lambda: REGEX.compile(VOCABULARY, masks=1), "masks is a path, as str or os.PathLike, unlike 1"),
        (lambda: REGEX.save_masks(1, VOCABULARY, []), "path is a path, as str or os.PathLike, unlike 1"),
        (lambda: REGEX.save_masks("", VOCABULARY, "a"), "texts is a list of str or bytes, unlike 'a'"),
        (lambda: REGEX.save_masks("", VOCABULARY, [3]), r"texts\[0\] is a str or bytes, not int"),
        (lambda: REGEX.save_masks("", VOCABULARY, [], progress=1), "progress is a function of two"),
        (lambda: REGEX.compile(VOCABULARY).to_bytes("a"), "texts is a list of str or bytes, unlike 'a'"),
        (lambda: grammask.Vocabulary.from_file(3), "path is a path, as str or os.PathLike, unlike 3"),
        (lambda: grammask.allocate_mask(1.0, 2), "rows is an int, unlike 1.0"),
        (lambda: grammask.allocate_mask(1, None), "vocab_size is an int, unlike None"),
        (lambda: grammask.generate("demo", 3, bool), "prompt is a list of messages, or a text, unlike 3"),
        (lambda: grammask.generate("demo", ["hi"], bool), r"prompt\[0\] is a message, with a role and a content"),
        (lambda: grammask.generate("demo", "", bool, max_tokens="9"), "max_tokens is an int, unlike '9'"),
        (lambda: grammask.generate("demo", "", bool, temperature="hot"), "temperature is a number, unlike 'hot'"),
        (lambda: grammask.generate("demo", "", bool, top_p=None), "top_p is a number, unlike None"),
        (lambda: grammask.generate("demo", "", bool, seed=1.5), "seed is an int, unlike 1.5"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


MASK = grammask.allocate_mask(4, VOCABULARY.size)
COMPILED = REGEX.compile(VOCABULARY)
CALLS: dict[str, Callable[[Any], object]] = {
    "tokens of validate": lambda wrong: COMPILED.matcher().validate(wrong),
    "tokens of draft_masks": lambda wrong: COMPILED.matcher().draft_masks(wrong, MASK),
    "tokens of draft_tree_masks": lambda wrong: COMPILED.matcher().draft_tree_masks(wrong, [-1], [-1], MASK),
    "retrieve_next_token of draft_tree_masks": lambda wrong: COMPILED.matcher().draft_tree_masks(
        [0], wrong, [-1], MASK
    ),
    "retrieve_next_sibling of draft_tree_masks": lambda wrong: COMPILED.matcher().draft_tree_masks(
        [0], [-1], wrong, MASK
    ),
    "matchers of fill_masks": lambda wrong: grammask.fill_masks(wrong, MASK),
    "matchers of step_batch": lambda wrong: grammask.step_batch(wrong, [97], MASK),
    "tokens of step_batch": lambda wrong: grammask.step_batch([COMPILED.matcher()], wrong, MASK),
    "id of token": VOCABULARY.token,
    "id of name_of": VOCABULARY.name_of,
    "tokens of Vocabulary": lambda wrong: grammask.Vocabulary(wrong, eos=()),
    "progress of precompute": lambda wrong: COMPILED.precompute(1, wrong),
    "operand of bind": lambda wrong: Grammar.bind("name", wrong),
    "but of any_token": lambda wrong: Grammar.any_token(but=wrong),
    "root of from_xgrammar_ebnf": lambda wrong: Grammar.from_xgrammar_ebnf('root ::= "a"', root=wrong),
    "excludes of from_string_schema": lambda wrong: Grammar.from_string_schema({}, excludes=wrong),
    "content_grammars of SchemaOptions": lambda wrong: grammask.SchemaOptions(content_grammars=wrong),
    "separators of SchemaOptions": lambda wrong: grammask.SchemaOptions(separators=wrong),
    "rows of apply_mask": lambda wrong: grammask.apply_mask(np.zeros((4, 257)), MASK, rows=wrong),
    "text of Template": grammask.Template,
    "path of is_saved": grammask.Vocabulary.is_saved,
    "path of from_gguf": grammask.Vocabulary.from_gguf,
    "path of from_tekken": grammask.Vocabulary.from_tekken,
    "path of from_tokenizer_json": grammask.Vocabulary.from_tokenizer_json,
    "source of from_tiktoken": grammask.Vocabulary.from_tiktoken,
    "source of from_sentencepiece": grammask.Vocabulary.from_sentencepiece,
}


@pytest.mark.parametrize("value", [5, 1.5, WRONG, int], ids=["int", "float", "object", "class"])
@pytest.mark.parametrize("argument", CALLS)
def test_wrong_types_name_the_argument(argument: str, value: Any) -> None:
    if argument.startswith(("id", "progress")) and value in (5, int):
        value = "5"  # A token is an integer, and a class is callable.
    with pytest.raises(TypeError, match=rf"\b{argument.split()[0]}\b"):
        CALLS[argument](value)


@pytest.mark.parametrize("value", [["x"], [1.5], [None]], ids=repr)
def test_wrong_members_name_the_argument(value: Any) -> None:
    for argument, call in CALLS.items():
        if (
            argument.startswith(("tokens", "matchers", "retrieve", "rows"))
            and argument != "tokens of Vocabulary"
        ):
            with pytest.raises(TypeError, match=rf"\b{argument.split()[0]}\b"):
                call(value)


def test_negative_numbers_are_named() -> None:
    for name, call in {
        "rows": lambda: grammask.allocate_mask(-1, 2),
        "vocab_size": lambda: grammask.allocate_mask(1, -1),
        "max_tokens": lambda: grammask.generate("demo", "", bool, max_tokens=-1),
        "seed": lambda: grammask.generate("demo", "", bool, seed=-1),
    }.items():
        with pytest.raises(ValueError, match=f"{name}=-1 is negative"):
            call()


def test_an_unhashable_parser_is_named() -> None:
    for option in ("parser", "lexer"):
        with pytest.raises(ValueError, match=rf"{option}=\[\] is not one of"):
            Grammar.from_lark('start: "a"', **{option: []})


@pytest.mark.parametrize(
    "call",
    [
        lambda array: Grammar.from_kbnf('start ::= "a";', lexer=array),
        lambda array: Grammar.from_kbnf('start ::= "a";', parser=array),
        lambda array: markdown_answer(["json"], other=array),
        lambda array: Grammar.from_tools([TOOL], style="hermes", reasoning=array),
        lambda array: Grammar.from_tools([TOOL], style="hermes", tool_choice=array),
        lambda array: tool_style(array),
        lambda array: grammask.SchemaOptions(whitespace=array),
        lambda array: grammask.SchemaOptions(unique_names=array),
    ],
)  # fmt: skip
def test_an_array_is_no_name(call: Callable[[Any], object]) -> None:
    """The truth value of a comparison of arrays would be the error of numpy."""
    for array in (np.arange(2), np.array(["a", "b"])):
        with pytest.raises(
            ValueError, match=r"array\(.* is (not one of|none of|neither|not)|no tool style array"
        ):
            call(array)


@pytest.mark.parametrize(
    "value", [np.arange(3), np.int64(1), np.array("a"), np.array([[1]], np.uint8)], ids=repr
)
def test_an_array_is_no_text(value: Any) -> None:
    """Arrays and scalars of numpy have the buffer protocol, as bytes have."""
    for call in (Grammar.from_regex, Grammar.from_kbnf, grammask.partial_json):
        with pytest.raises(TypeError, match="is a str or bytes, not"):
            call(value)
    assert Grammar.from_regex(memoryview(b"a")).compile(VOCABULARY).is_valid(b"a")


@pytest.mark.parametrize("value", [b"a", bytearray(b"a")])
def test_bytes_are_no_ids(value: Any) -> None:
    """As a sequence they are integers, so a text would be read as ids."""
    matcher = COMPILED.matcher()
    for argument, call in {
        "tokens": lambda: matcher.validate(value),
        "tokens ": lambda: matcher.draft_masks(value, MASK),
        "tokens  ": lambda: matcher.draft_tree_masks(value, [-1], [-1], MASK),
        "tokens   ": lambda: grammask.step_batch([matcher], value, MASK),
        "eos": lambda: grammask.Vocabulary([b"a"], eos=value),
    }.items():
        with pytest.raises(TypeError, match=rf"^{argument.strip()}: ids of tokens are needed, not the bytes"):
            call()


def test_shown_tools_take_the_name_of_a_style() -> None:
    note: dict[str, Any] = {"type": "custom", "custom": {"name": "note"}}
    assert tools.shown_tools([note], "harmony") == [note]
    for style in ("hermes", tool_style("hermes")):
        assert tools.shown_tools([TOOL, note], style)[1]["type"] == "function"


def test_pieces_of_json_may_be_texts() -> None:
    reader = grammask.PartialJson()
    for piece in ('{"a": "\u00e9', b"\xc3", b"\xa9", '"'):
        reader.feed(piece)
    assert reader.value == {"a": "\u00e9\u00e9"}


def test_special_tokens_are_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "letters.tiktoken"
    path.write_bytes(b"YQ== 0\nYg== 1\n")
    with pytest.raises(TypeError, match=r"special is a mapping of names to ids, unlike \['a'\]"):
        grammask.Vocabulary.from_file(path, special=["a"], eos=())  # type: ignore[arg-type]


def test_a_scalar_of_numpy_is_no_list() -> None:
    with pytest.raises(TypeError, match=r"tools is a list of objects, unlike array\(3\)"):
        Grammar.from_tools(np.array(3), style="hermes")  # type: ignore[arg-type]


def test_bounds_in_the_wrong_order_are_named() -> None:
    with pytest.raises(ValueError, match="least=2 is more than most=1"):
        Grammar.from_regex("a").repeat(2, 1)


def test_an_unknown_mark_names_the_argument_that_makes_it_text() -> None:
    grammar = Grammar.from_tools([TOOL], style="hermes")
    with pytest.raises(
        grammask.GrammarError, match=r"with `vocabulary=`, `Grammar\.from_tools` writes marks"
    ):
        grammar.compile(VOCABULARY)
    text = b'<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert (
        Grammar.from_tools([TOOL], style="hermes", vocabulary=VOCABULARY).compile(VOCABULARY).is_valid(text)
    )


HALF = "a\ud800"


@pytest.mark.parametrize(
    "call",
    [
        lambda: Grammar.from_kbnf(f'start ::= "{HALF}";'),
        lambda: Grammar.from_regex(HALF),
        lambda: Grammar.from_gbnf(f'root ::= "{HALF}"'),
        lambda: Grammar.from_xgrammar_ebnf(f'root ::= "{HALF}"'),
        lambda: Grammar.from_lark(f'start: "{HALF}"'),
        lambda: Grammar.from_llguidance_lark(f'start: "{HALF}"'),
        lambda: Grammar.from_choices(["b", HALF]),
        lambda: Grammar.from_json_schema(f'{{"const": "{HALF}"}}'),
        lambda: Grammar.from_json_schema({"const": HALF}),
        lambda: Grammar.from_string_schema({"pattern": HALF}),
        lambda: Grammar.text(without=[HALF]),
        lambda: Template(HALF).grammar(),
        lambda: Template("{x}", x=[HALF]).grammar(),
        lambda: Template("{}", substring(HALF)).grammar(),
    ],
)
def test_half_of_a_surrogate_pair_is_an_error_with_its_place(call: Callable[[], object]) -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        call()
    assert caught.value.code in {"invalid-utf8", "invalid-json"}
    assert caught.value.location
    str(caught.value).encode()


@pytest.mark.parametrize(
    "form",
    [
        {"type": "const_string", "value": HALF},
        {"type": "regex", "pattern": HALF},
        {"type": "any_text", "excludes": [HALF]},
        {"type": "grammar", "grammar": f'root ::= "{HALF}"'},
        {"type": "json_schema", "json_schema": {"const": HALF}},
    ],
)
def test_half_of_a_surrogate_pair_in_a_structural_tag_is_an_error(form: object) -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    str(caught.value).encode()


@pytest.mark.parametrize("text", ["\ud800", "é\udc00", "\udfffz"])
def test_only_halves_of_pairs_are_surrogates(text: str) -> None:
    assert has_surrogates(text)
    assert not has_surrogates(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    assert Grammar.from_choices(["é😀"])
