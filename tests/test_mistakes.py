"""Mistakes in inputs: each error names what is wrong, where, and what was probably meant."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Annotated, Any

import grammask
import pydantic
import pytest
from grammask import Grammar, tools
from grammask.cli.application import application
from grammask.tool_styles import style_name, tool_styles
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
MISSPELT = {
    "type": "object",
    "properties": {"a": {"maxlength": 3}},
    "requierd": ["a"],
    "note": "",
    "x-requird": 1,
}


def test_unknown_keywords_of_schemas_are_named_with_the_nearest() -> None:
    warnings = {warning.pointer: warning for warning in Grammar.from_json_schema(MISSPELT).check()}
    assert {pointer: warning.help for pointer, warning in warnings.items()} == {
        "#/properties/a/maxlength": "did you mean `maxLength`?",
        "#/requierd": "did you mean `required`?",
    }
    assert "maxlength" in warnings["#/properties/a/maxlength"].message


def test_the_command_line_warns_of_unknown_keywords(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(MISSPELT))
    result = CliRunner().invoke(application, ["check", str(path)])
    assert result.exit_code == 0
    assert "did you mean `maxLength`?" in result.output


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda bad: Grammar.from_json_schema({}, keyorder=bad),
            "Grammar.from_json_schema() {} 'key_order'?",
        ),
        (lambda bad: Grammar.from_type(int, numberz=bad), "Grammar.from_type() {} 'numbers'?"),
        (lambda bad: Grammar.from_regex("a", syntx=bad), "Grammar.from_regex() {} 'syntax'?"),
        (
            lambda bad: Grammar.from_tools([], style="hermes", toolchoice=bad),
            "Grammar.from_tools() {} 'tool_choice'?",
        ),
        (
            lambda bad: Grammar.from_response_format({"type": "text"}, limit=bad),
            "from_response_format() {} 'limits'?",
        ),
        (lambda bad: Grammar.from_lark('start: "a"', parsr=bad), "Grammar.from_lark() {} 'parser'?"),
        (
            lambda bad: Grammar.from_regex("a").encoded("json-string", limit=bad),
            "Grammar.encoded() {} 'limits'?",
        ),
    ],
)
def test_unknown_keywords_name_the_method_and_the_nearest_option(
    call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call(None)
    method, meant = message.split("{}")
    assert method in str(caught.value)
    assert str(caught.value).endswith(f"did you mean{meant}")


MODULES = [
    grammask,
    *(getattr(grammask, name) for name in ("streamlining", "templates", "texts", "tools")),
    *(
        importlib.import_module(f"grammask.integrations.{name}")
        for name in ("drafts", "hosts", "opentelemetry")
    ),
]
"""The public modules but those that have the interfaces of other packages."""

EXAMPLES: dict[type, object] = {
    grammask.CompiledGrammar: Grammar.from_regex("a").compile(BYTES),
    grammask.Matcher: Grammar.from_regex("a").compile(BYTES).matcher(),
}
"""The owners of methods of the extension, which checks the type of the first argument first."""


ARGUMENTS: dict[str, object] = {
    "path": "",
    "saved": b"",
    "text": "",
    "prompt": "",
    "style": "hermes",
    "vocabulary": BYTES,
    "tokens": [],
    "tools": [],
    "schema": {},
    "model": pydantic.RootModel[int],
    "type": int,
}
"""Arguments that are looked at before the keywords, by the name of the parameter."""

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions, classes and methods with options, by name."""
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and not issubclass(value, BaseException):
                bases = [base for base in value.__mro__ if base.__module__.startswith("grammask")]
                methods = {method for base in bases for method in vars(base) if not method.startswith("_")}
                owner = EXAMPLES.get(value, value)
                yield from ((f"{name}.{method}", getattr(owner, method)) for method in sorted(methods))
            if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
                yield name, value


def signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function with options."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # Methods of the interpreter, such as those of tuples.
        return None
    has_options = any(
        parameter.kind is parameter.KEYWORD_ONLY
        or (parameter.kind in POSITIONAL and parameter.default is not parameter.empty)
        for parameter in found.parameters.values()
    )
    return found if has_options else None


WITH_OPTIONS = [
    (name, function, found)
    for name, function in public_callables()
    if (found := signature(function)) is not None
]


@pytest.mark.parametrize(
    ("name", "function", "found"), WITH_OPTIONS, ids=[name for name, _, _ in WITH_OPTIONS]
)
def test_all_public_callables_name_unknown_keywords(
    name: str, function: Callable[..., Any], found: inspect.Signature
) -> None:
    parameters = found.parameters.values()
    required = [each for each in parameters if each.default is each.empty]
    given = [ARGUMENTS.get(each.name) for each in required if each.kind in POSITIONAL]
    keywords = {
        each.name: ARGUMENTS[each.name]
        for each in required
        if each.kind is each.KEYWORD_ONLY and each.name in ARGUMENTS
    }
    option = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD][-1]
    message = f"{name.rpartition('.')[2]}() has no keyword '{option}x'; did you mean '{option}'?"
    with pytest.raises(TypeError, match=re.escape(message)):
        function(*given, **keywords, **{f"{option}x": None})


def test_the_public_callables_are_found() -> None:
    names = {name for name, _, _ in WITH_OPTIONS}
    assert {
        "Grammar.compile",
        "CompiledGrammar.matcher",
        "Matcher.fill_mask",
        "Limits",
        "Vocabulary",
    } <= names
    assert len(names) > 60


def add(a: int, b: int = 3) -> int:
    return a + b


class Weather(pydantic.BaseModel):
    city: str


@pytest.mark.parametrize("style", tool_styles())
def test_tools_are_functions_and_models(style: str) -> None:
    compiled = Grammar.from_tools([add, Weather], style=style, vocabulary=BYTES).compile(BYTES)
    for name, arguments in [("add", {"a": 1}), ("Weather", {"city": "Rome"})]:
        output = tools.Output(None, "", (tools.Call(name, json.dumps(arguments)),))
        text = tools.write_output(output, style, [add, Weather])
        (call,) = tools.read_output(text, style, [add, Weather]).calls
        assert (call.name, json.loads(call.arguments)) == (name, arguments)
        assert compiled.is_valid(text.encode())
        assert not compiled.is_valid(text.replace(name, "another").encode())


def test_tools_without_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tools\[0\] has no name"):
        Grammar.from_tools([lambda a: a], style="hermes")
    with pytest.raises(TypeError, match=r"tools\[0\] is no object, function or model"):
        Grammar.from_tools([3], style="hermes")  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("model", "style"),
    [
        ("Qwen/Qwen3-8B", "hermes"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3_coder"),
        ("qwen3-coder", "qwen3_coder"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek_v3_1"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek_v3_2"),
        ("mistralai/Mixtral-8x22B-Instruct-v0.3", "mistral"),
        ("ibm-granite/granite-4.0-h-small", "hermes"),
        ("/models/gpt-oss-20b/", "harmony"),
        ("gemma", "gemma4"),
    ],
)
def test_styles_are_found_by_models(model: str, style: str) -> None:
    assert style_name(model) == style
    assert Grammar.from_tools([add], style=model)._source == Grammar.from_tools([add], style=style)._source


def test_a_model_without_a_style_or_with_several_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"several tool styles fit 'qwen': 'hermes' \(.*Qwen3.*'qwen3_coder' \("
    ):
        style_name("qwen")
    with pytest.raises(ValueError, match="did you mean 'hermes'"):
        style_name("hermess")
    with pytest.raises(ValueError, match="no tool style 'bert-base'"):
        style_name("google/bert-base"[7:])


class Checked(pydantic.BaseModel):
    age: int

    @pydantic.field_validator("age")
    @classmethod
    def is_adult(cls, age: int) -> int:
        return age


def test_a_validator_is_named_with_its_field_and_the_option() -> None:
    with pytest.raises(grammask.UnsupportedSchema) as caught:
        Grammar.from_pydantic(Checked)
    message = str(caught.value)
    assert "Checked.age: the function Checked.is_adult may refuse a value" in message
    assert 'on_unsupported="relax"' in message
    assert "x-grammask" not in message
    assert caught.value.diagnostics[0].pointer == "#/properties/age"
    assert Grammar.from_pydantic(Checked, on_unsupported="relax").compile(BYTES).is_valid(b'{"age": 3}')


@pytest.mark.parametrize(
    ("text", "line", "underlined"),
    [
        ('start: A b\nA: "a"\n', 1, "b"),
        ("start: A\n// A b\nA: /a(b/\n", 3, "/a(b/"),
        ("start: A\nA: /a/ /b(/\n", 2, "A"),
        ("start: A\nA: /a*/\n", 2, "/a*/"),
        ('start: "x" /(a/\n', 1, "/(a/"),
        ("start: A\nA: /(a)\\1/\n", 2, "/(a)\\1/"),
        ('start: A\nA: "a"\nA: "b"\n', 3, "A"),
        ("start: A B\nA: /a+(?!b)/\nB: /[ab]/", 2, "/a+(?!b)/"),
        ('start: A\nA: /a+/\n%ignore "a"', 3, '"a"'),
    ],
)
def test_errors_of_lark_files_have_an_excerpt(tmp_path: Path, text: str, line: int, underlined: str) -> None:
    path = tmp_path / "grammar.lark"
    path.write_text(text)
    with pytest.raises(grammask.GrammarError) as caught:
        Grammar.from_lark(path).compile(BYTES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.location is not None
    assert diagnostic.location[0] == line
    shown = text.splitlines()[line - 1]
    column = diagnostic.location[1] - 1
    assert f"{line} | {shown}\n  {' ' * len(str(line))} | {' ' * column}{'^' * len(underlined)}" in str(
        caught.value
    )
    assert shown[column:].startswith(underlined)


@pytest.mark.parametrize("path", ["data.json", "missing.lark", "folder/json"])
def test_a_missing_file_is_a_missing_file(path: str) -> None:
    result = CliRunner().invoke(application, ["check", path])
    assert result.exit_code != 0
    assert "No such file" in result.output
    assert "did you mean" not in result.output


def test_a_missing_word_may_be_a_bundled_grammar() -> None:
    assert "did you mean bundled:python?" in CliRunner().invoke(application, ["check", "pyton"]).output


def test_a_compiled_pattern_is_accepted() -> None:
    compiled = Grammar.from_regex(re.compile("a+", re.IGNORECASE)).compile(BYTES)
    assert compiled.is_valid(b"aA")


@pytest.mark.parametrize("digits", [20, 21])
def test_integers_of_types_end_as_those_of_schemas_do(digits: int) -> None:
    is_short = digits == 20
    number = b"1" * digits
    for tp, text in [(int, number), (list[int], b"[%s]" % number), (Any, number)]:
        assert Grammar.from_type(tp).compile(BYTES).is_valid(text) == is_short
        assert Grammar.from_type(tp, numbers="any").compile(BYTES).is_valid(text)
    bounded = pydantic.TypeAdapter(pydantic.conint(ge=0, le=10**29))
    assert Grammar.from_type(pydantic.conint(ge=0, le=10**29)).compile(BYTES).is_valid(number)
    assert bounded.validate_json(number) == int(number)


class TypedKeys(pydantic.RootModel[dict[int, int]]):
    pass


@pytest.mark.parametrize("digits", [20, 21])
def test_integers_in_names_end_as_other_integers_do(digits: int) -> None:
    text = b'{"-%s":1}' % (b"1" * digits)
    bounded = pydantic.conint(ge=-(10**20) * 2)
    for tp in (dict[int, int], TypedKeys, Annotated[dict[int, int], pydantic.Field(min_length=1)]):
        assert Grammar.from_type(tp).compile(BYTES).is_valid(text) == (digits == 20)
        assert Grammar.from_type(tp, numbers="any").compile(BYTES).is_valid(text)
        options = grammask.SchemaOptions(numbers="any")
        assert Grammar.from_type(tp, options=options).compile(BYTES).is_valid(text)
    assert Grammar.from_pydantic(TypedKeys).compile(BYTES).is_valid(text) == (digits == 20)
    assert Grammar.from_type(dict[bounded, int]).compile(BYTES).is_valid(text)  # type: ignore[valid-type]
