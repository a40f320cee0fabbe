"""The commands with schemas, and ``grammask validate``."""

from pathlib import Path
from typing import Any

import pytest
from grammask.cli.application import application
from typer.testing import CliRunner

JSON = str(Path(__file__).parents[2] / "examples" / "grammars" / "json.kbnf")
SCHEMA = """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "minLength": 2},
    "size": {"enum": ["S", "M"]},
    "mail": {"type": "string", "format": "nonsense"}
  },
  "required": ["name"],
  "additionalProperties": false
}"""


def run(*arguments: str, status: int = 0, text: str | None = None) -> str:
    """Run a command and return what it prints on both streams."""
    result: Any = CliRunner().invoke(application, list(arguments), input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return str(result.output)


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Return a function that writes a file."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return str(path)

    return write


def test_check_has_the_options_of_grammars_for_schemas(file: Any) -> None:
    schema = file("schema.json", '{"anyOf": [{"const": 1}, {"type": "integer"}]}')
    assert "there is no vocabulary 'missing'" in run("check", schema, "--vocab", "missing", status=1)
    run("check", schema, "--vocab", "o200k", "--finite")
    assert "ambiguous" in run("check", schema, "--ambiguity")
    assert "ambiguous" in run("check", "-", "--ambiguity", text='start ::= "a" | "a";')


def test_validate_shows_the_first_wrong_byte(file: Any) -> None:
    good, bad = file("good.txt", '{"a": [1, 2]}'), file("bad.txt", '{"a":\n [1,, 2]}')
    assert run("validate", JSON, good) == f"{good}: valid\n"
    output = run("validate", JSON, good, bad, status=1)
    assert f"{good}: valid\n" in output
    assert (
        f"error: {bad}: byte 10 does not fit\n   --> line 2, column 5\n  2 |  [1,, 2]}}\n    |     ^\n"
        in output
    )
    assert "expected: " in output


def test_validate_tells_where_more_should_come() -> None:
    output = run("validate", JSON, "-", status=1, text='{"a": 1')
    assert "standard input: the text ends too early, at byte 7\n" in output
    assert '  1 | {"a": 1\n    |        ^\n' in output


def test_validate_takes_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b'"\xff\xfe\x00"')
    assert "byte 1 does not fit" in run("validate", JSON, str(path), status=1)
    assert "No such file" in run("validate", JSON, str(tmp_path / "missing"), status=2)


def test_validate_with_a_schema(file: Any) -> None:
    schema = file("schema.json", SCHEMA)
    good = file("good.txt", ' {"name": "Ada", "size": "M"}\n')
    assert run("validate", schema, good) == f"{good}: valid\n"
    assert run("validate", "--schema", file("schema.txt", SCHEMA), good) == f"{good}: valid\n"
    output = run("validate", schema, file("bad.txt", '\n{"name": "A"}\n'), status=1)
    assert "byte 12 does not fit\n   --> line 2, column 12" in output
    swapped = file("swapped.txt", '{"size": "M", "name": "Ada"}')
    assert "does not fit" in run("validate", schema, swapped, status=1)
    assert "valid" in run("validate", schema, swapped, "--option", "key_order=any")


def test_check_lists_what_is_enforced(file: Any) -> None:
    output = run("check", file("schema.json", SCHEMA))
    assert "enforced at #: type, properties, required, additionalProperties\n" in output
    assert "enforced at #/properties/name: type, minLength\n" in output
    assert "enforced at #/properties/mail: type\n" in output
    assert "warning[ignored-annotation]" in output
    assert "at #/properties/mail/format" in output
    assert output.endswith("schema.json: 1 warning\n")


def test_check_lists_what_is_refused_or_relaxed(file: Any) -> None:
    schema = file("schema.json", '{"type": "string", "pattern": "(a)\\\\1", "minLength": 2}')
    output = run("check", schema, status=1)
    assert "error[unsupported-schema]" in output
    assert "at #/pattern" in output
    assert "enforced at #: type, minLength\n" in output
    output = run("check", schema, "--option", "on_unsupported=relax")
    assert "warning[unsupported-schema]" in output
    assert "at #/pattern" in output


def test_mask_explain_and_generate_take_schemas(file: Any) -> None:
    schema = file("schema.json", '{"enum": ["yes", "no"]}')
    assert "can come next" in run("mask", schema, "--prefix", '"y')
    assert "is allowed" in run("explain", schema, "no", "--prefix", '"')
    output = run("generate", schema, "--seed", "1")
    assert output.splitlines()[0] in ('"yes"', '"no"')


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("indent", "give NAME=VALUE"),
        ("colour=red", "key_order"),
        ("key_order=sideways", "'declared'"),
        ("indent=x", "indent"),
        ("draft=5", "2020-12"),
    ],
)
def test_wrong_options_are_told(file: Any, option: str, message: str) -> None:
    output = run("check", file("schema.json", "{}"), "--option", option, status=1)
    assert output.startswith("error: ")
    assert message.strip("'") in output


def test_options_are_for_schemas() -> None:
    assert "--option is for schemas" in run("mask", JSON, "--option", "indent=2", status=1)


def test_commands_at_a_position_read_schemas(file: Any) -> None:
    schema = file("schema", '{"const": ["a"]}')
    options = ("--schema", "--option", "whitespace=compact", "--prefix", '["a"')
    assert " 1 of" in run("mask", schema, *options)
    assert "]" in run("explain", schema, "x", *options)
    assert len(run("debug", "mask", schema, *options).splitlines()) == 1


def test_check_for_other_engines(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}', "utf-8")
    output = run("check", str(schema), "--for", "xgrammar, openai", status=1)
    assert "ignored      #/uniqueItems  uniqueItems" in output
    assert "rejected     #/uniqueItems  a strict schema has no `uniqueItems`" in output
    schema.write_text('{"type": "array", "items": {"type": "integer"}}', "utf-8")
    assert "enforces all keywords" in run("check", str(schema), "--for", "xgrammar")
    assert "nothing is known of 'other'" in run("check", str(schema), "--for", "other", status=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--option", "indent=-1"), "indent=-1 is not between 0 and 64"),
        (("--option", "ensure_ascii=False"), "ensure_ascii='False' is neither True nor False"),
        (("--option", "key_order=null"), "key_order=None is no text"),
        (("--start", "value"), "--start is for grammars: a schema has no start symbol"),
    ],
)
@pytest.mark.parametrize("command", ["check", "mask"])
def test_options_that_a_schema_cannot_have(
    file: Any, command: str, arguments: tuple[str, ...], message: str
) -> None:
    assert message in run(command, file("s.json", SCHEMA), *arguments, status=1)


def test_options_of_schemas_are_refused_for_grammars() -> None:
    for command in ("check", "mask"):
        output = run(command, JSON, "--option", "indent=2", status=1)
        assert "--option is for schemas" in output
    assert "--for is for schemas" in run("check", JSON, "--for", "xgrammar", status=1)
