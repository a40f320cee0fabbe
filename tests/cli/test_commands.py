"""The commands, as a user runs them: what they print, and their exit status."""

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grammask
import pytest
from grammask import default_compile_cache
from grammask.cli import terminal
from grammask.cli.application import application
from rich.console import Console
from tokenizer_files import FILES
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
GRAMMARS = ROOT / "examples" / "grammars"
JSON = str(GRAMMARS / "json.kbnf")
CALLS = str(ROOT / "testdata" / "cli" / "calls.kbnf")


def run(*arguments: str, status: int = 0, text: str | None = None) -> str:
    """Run a command and return what it prints on both streams."""
    result: Any = CliRunner().invoke(application, list(arguments), input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return str(result.output)


@pytest.fixture
def grammar(tmp_path: Path) -> Any:
    """Return a function that writes a grammar to a file."""

    def write(text: str) -> str:
        path = tmp_path / "grammar.kbnf"
        path.write_text(text, "utf-8")
        return str(path)

    return write


def test_the_version() -> None:
    assert run("--version") == f"grammask {grammask.__version__}\n"


@pytest.mark.parametrize("command", [(), ("mask",), ("debug", "ir")])
def test_short_help(command: tuple[str, ...]) -> None:
    assert "Usage:" in run(*command, "-h")
    assert run(*command, "-h") == run(*command, "--help")


@pytest.mark.parametrize("file", sorted(path.name for path in GRAMMARS.glob("*.kbnf")))
def test_check_finds_nothing_wrong_with_the_examples(file: str) -> None:
    assert run("check", str(GRAMMARS / file)).endswith(f"{file}: no errors\n")


def test_check_shows_all_errors_with_carets() -> None:
    output = run("check", "-", status=1, text='start ::= numbr "\\q";\nnumber ::= #"(";\n')
    assert "error[undefined-symbol]" in output
    assert "error[invalid-escape]" in output
    assert "error[invalid-regex]" in output
    assert " --> line 1, column 11\n  1 | start ::= numbr" in output
    assert "          ^^^^^\n" in output
    assert output.endswith("standard input: 3 errors\n")


def test_check_shows_warnings_and_succeeds(grammar: Any) -> None:
    output = run("check", grammar('start ::= "a"; unused ::= "b";'))
    assert "warning[unused-rule]" in output
    assert output.endswith("grammar.kbnf: 1 warning\n")


def test_check_looks_at_endless_rules_and_tokens_on_demand(grammar: Any) -> None:
    endless = grammar('start ::= "a" start;')
    run("check", endless)
    assert "error[never-ends]" in run("check", endless, "--finite", status=1)
    named = grammar("start ::= <|nobody|>;")
    run("check", named)
    assert "error[unknown-token]" in run("check", named, "--vocab", "o200k", status=1)


def test_mask_counts_and_lists() -> None:
    output = run("mask", CALLS, "--prefix", "f(1", "-n", "3")
    first, *listed, more = output.splitlines()
    assert first.startswith("the text is not complete; ")
    assert first.endswith(" of 200,019 tokens can come next")
    assert [line.split() for line in listed] == [["8", '")"'], ["11", '","'], ["15", '"0"']]
    assert "more" in more


def test_mask_prints_ids_for_programs() -> None:
    output = run("mask", CALLS, "--prefix", "f()", "--ids")
    ids = [int(line) for line in output.splitlines()]
    assert ids == sorted(ids)
    assert 199_999 in ids
    assert run("mask", CALLS, "--prefix", "f", "--tokens", "416", "--ids") == output  # 416 is "()".


def test_mask_knows_the_ways_to_end(grammar: Any) -> None:
    text = grammar('start ::= "a" "b"*;')
    assert "is complete" in run("mask", text, "--prefix", "a")
    assert "<|endoftext|> (ends the text)" in run("mask", text, "--prefix", "a")
    assert "has ended; 1 of" in run("mask", text, "--prefix", "a", "--tokens", "199999")
    assert "has ended" in run("mask", text, "--prefix", "a", "--end", "eager")
    assert "<|endofprompt|> (ends the text)" in run("mask", text, "--prefix", "a", "--eos", "<|endofprompt|>")


def test_a_prefix_that_does_not_fit_is_shown() -> None:
    output = run("mask", JSON, "--prefix", '{"a": tru"', status=1)
    assert 'byte 9 does not fit\n   --> line 1, column 10\n  1 | {"a": tru"\n' in output
    assert 'expected: more of "true"' in output
    assert '"true"' in output
    assert "is refused" in run("mask", JSON, "--tokens", "8", status=1)
    assert "no id of the vocabulary" in run("mask", JSON, "--tokens", "8,x", status=1)


def test_a_dead_end_is_told(grammar: Any, tmp_path: Path) -> None:
    vocabulary = tmp_path / "tiny.tiktoken"
    vocabulary.write_text("YQ== 0\nYg== 1\n")
    text = grammar('start ::= "a" "c";')
    output = run("mask", text, "--vocab", str(vocabulary), "--prefix", "a", status=1)
    assert "error[dead-end]" in output
    assert "note: there are no end tokens" in output


@pytest.mark.parametrize("kind", FILES)
def test_vocabularies_of_all_kinds_of_files(kind: str, grammar: Any, tmp_path: Path) -> None:
    path = tmp_path / "any"
    path.write_bytes(FILES[kind])
    text = grammar('start ::= #"[ab\\n ]*";')
    eos = ["--eos", "</s>"] if kind == "tokenizer.json" else []
    output = run("mask", text, "--vocab", str(path), *eos)
    for label in ('" a"', '"b"', r'"\n"'):
        assert label in output
    assert ("</s> (ends the text)" in output) == (kind != "ranks.tiktoken")
    if eos:
        message = run("explain", text, "b", "--vocab", str(path), status=1)
        assert "no end token is known" in message
        assert "give --eos" in message
    run("generate", text, "--vocab", str(path), *eos, "--max-tokens", "5")


def test_a_folder_is_a_vocabulary(grammar: Any, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(FILES["tokenizer.json"])
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 3}')
    text = grammar('start ::= "b";')
    assert run("mask", text, "--vocab", str(tmp_path), "--ids").split() == ["1"]
    assert "no tokenizer" in run("mask", text, "--vocab", str(ROOT / "examples"), status=1)
    assert "no/such/folder" in run("mask", text, "--vocab", "hf:no/such/folder", status=1)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("8", 'token 8 ")" is allowed'),
        (")", 'token 8 ")" is allowed'),
        ('")"', 'token 8 ")" is allowed'),
        ("hello", 'token 24912 "hello" is refused: its byte 0 ("h") does not fit; expected there:'),
        ("<|endoftext|>", "the text is not complete"),
        ('"12"', 'token 899 "12" is allowed'),
    ],
)
def test_explain(token: str, expected: str) -> None:
    assert expected in run("explain", CALLS, token, "--prefix", "f(3")


def test_explain_needs_a_token() -> None:
    output = run("explain", CALLS, "hello hello", status=1)
    assert 'no single token of the vocabulary; the longest token that it begins with is "hello"' in output


@pytest.mark.parametrize("model", ["demo", "random"])
def test_generate_makes_texts_that_parse(model: str) -> None:
    options = ["--model", model, "--max-tokens", "400", "--start", "factor"]
    output = run("generate", str(GRAMMARS / "arithmetic.kbnf"), *options)
    assert "complete; it parses when read again as bytes" in output
    assert "masks: first " in output
    assert (
        run("generate", str(GRAMMARS / "arithmetic.kbnf"), *options).splitlines()[0] == output.splitlines()[0]
    )


def test_generate_traces_each_token() -> None:
    output = run("generate", JSON, "--start", "object", "--trace", "-", "--seed", "1")
    assert "  <|endoftext|> (ends the text)" in output
    assert " allowed " in output


def test_generate_refuses_a_trace_before_the_text(grammar: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "missing" / "trace.json")
    output = run("generate", grammar('start ::= "unexpected";'), "--trace", place, status=2)
    assert "No such file" in output
    assert "unexpected" not in output


def test_generate_leaves_no_empty_trace(grammar: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    for text in ("start ::= missing;", 'start ::= "a" start;', 'start ::= "abc";'):
        run("generate", grammar(text), "--trace", str(trace), "--max-tokens", "1", status=1)
        assert not trace.exists()
    run("generate", grammar('start ::= "abc";'), "--trace", str(trace))
    assert trace.read_text("utf-8").startswith("{")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "demo", "--drafts"], "--drafts: the model demo verifies no drafts"),
        (["--model", "openai:http://localhost:1#x", "--drafts"], "--drafts: a server gives no logits"),
        (["--model", "openai:http://localhost:1#x", "--trace", "-"], "--trace: a server gives no logits"),
    ],
)
def test_generate_refuses_options_that_a_model_has_not(arguments: list[str], expected: str) -> None:
    assert expected in run("generate", JSON, *arguments, status=1)


def test_generate_lists_the_models() -> None:
    output = run("generate", JSON, "--model", "nope", status=1).replace("\n", " ")
    for name in ("nope", "demo", "random", "hf:NAME", "gguf:PATH", "openai:URL#NAME"):
        assert name in output


def test_generate_says_when_it_was_cut_off(grammar: Any) -> None:
    output = run("generate", grammar('start ::= "a" start;'), "--max-tokens", "3", "--no-budget")
    assert "cut off after 3 tokens (--max-tokens): not a complete text" in output


@pytest.mark.parametrize("model", ["demo", "random"])
def test_generate_completes_the_text(model: str) -> None:
    for seed in range(3):
        options = ["--model", model, "--start", "array", "--seed", str(seed), "--trace", "-"]
        output = run("generate", JSON, "--max-tokens", "12", *options)
        assert "complete; it parses when read again as bytes" in output
        assert output.count(" allowed ") <= 12


def test_generate_refuses_a_budget_that_is_too_small(grammar: Any) -> None:
    output = run("generate", grammar('start ::= "a" "b";'), "--max-tokens", "1", status=1)
    assert "error[budget-too-small]" in output
    assert "error[no-completion]" in run("generate", grammar('start ::= "a" start;'), status=1)


def test_generate_reads_the_prompt(grammar: Any) -> None:
    text = grammar('start ::= ("sbon" | "42");')
    for prompt, following in (('"city": "Li', "sbon"), ("The answer is ", "42")):
        assert run("generate", text, "--prompt", prompt, "--temperature", "0.1").startswith(following)


@pytest.mark.parametrize("model", ["hf:no/such/folder", "gguf:no-such-file", "openai:nowhere", "gpt-5"])
def test_generate_refuses_other_models(model: str) -> None:
    assert f"error: {model}" in run("generate", JSON, "--model", model, status=1)


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["check", "missing.kbnf"], 2, "error: missing.kbnf: No such file or directory"),
        (["mask", JSON, "--vocab", "missing"], 1, "there is no vocabulary 'missing'"),
        (["mask", JSON, "--vocab", JSON], 1, "is no tokenizer's file"),
        (["mask", JSON, "--start", "missing"], 1, "error[missing-start]"),
        (["mask", JSON, "--eos", "missing"], 1, "missing"),
        (["check", "html:pag"], 1, "there is html:page"),
        (
            ["check", "pyhton"],
            2,
            "error: pyhton: No such file or directory; did you mean bundled:python?",
        ),
        (["draw", JSON, "-o", "missing/out.svg"], 2, "error: missing/out.svg: No such file or directory"),
        (
            ["generate", JSON, "--trace", "missing/x.html"],
            2,
            "error: missing/x.html: No such file or directory",
        ),
        (["mask"], 2, "Missing argument"),
        (["generate", JSON, "--max-tokens", "0"], 2, "max-tokens"),
        (["generate", JSON, "--temperature", "inf"], 1, "--temperature: inf is no finite number"),
        (["mask", JSON, "--end", "late"], 2, "late"),
    ],
)
def test_mistakes_are_told_without_a_traceback(arguments: list[str], status: int, expected: str) -> None:
    assert expected in run(*arguments, status=status)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ast", ["ast"]),
        ("ir", ["ir"]),
        ("lowered", ["lowered"]),
        ("sets", ["sets", "--prefix", "f(1, g"]),
        ("mask", ["mask", "--prefix", "f(1, g"]),
    ],
)
def test_debug_prints_what_is_recorded(
    name: str, arguments: list[str], request: pytest.FixtureRequest
) -> None:
    default_compile_cache.clear()  # The states of a grammar that another test has compiled have other numbers.
    output = run("debug", arguments[0], CALLS, *arguments[1:])
    recorded = ROOT / "testdata" / "cli" / f"calls.{name}.txt"
    if request.config.getoption("--update"):
        recorded.write_text(output, "utf-8")
    assert output == recorded.read_text("utf-8")


def test_debug_shows_the_tree_of_a_broken_text() -> None:
    output = run("debug", "ast", "-", status=1, text='start ::= "a" ("b";')
    assert "start = " in output
    assert "error[unclosed-bracket]" in output
    assert "error[" in run("debug", "ir", "-", status=1, text='start ::= "a" ("b";')


def test_debug_lowered_can_print_the_last_stage_only() -> None:
    last = run("debug", "lowered", CALLS, "--final")
    assert run("debug", "lowered", CALLS).endswith(last)
    assert last.count("---") == 1


def python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_the_module_runs_too() -> None:
    result = python("-m", "grammask", "check", CALLS)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("calls.kbnf: no errors\n")


def test_importing_the_package_does_not_import_the_command_line() -> None:
    code = "import sys, grammask, grammask.kbnf, grammask.cli; print({'typer', 'rich', 'torch'} & sys.modules.keys())"
    assert python("-c", code).stdout == "set()\n"


@pytest.mark.parametrize(
    ("file", "grammar", "text"),
    [
        ("g.gbnf", 'root ::= "a" [0-9]', "a7"),
        ("g.ebnf", 'root ::= "a" ("b" | "c")', "ac"),
        ("g.lark", 'start: "a" /[0-9]+/', "a12"),
        ("llguidance.lark", '%llguidance {}\nstart: "a" B\nB: /[0-9]+/', "a12"),
        ("json.lark", 'start: "a" %json {"type": "integer"}', "a12"),
        ("regex.lark", 'start: "%" C\nC: %regex {"substring_words": "ab cd"}', "%cd"),
        ("other.lark", 'start: "%json" /%regex "/ // %lark', '%json%regex "'),
        ("g.json", '{"const": [1]}', "[1]"),
        ("g.kbnf", 'start ::= "a";', "a"),
        ("lexed.kbnf", '%ignore S; start ::= "a" #"[0-9]+"; S ::= " ";', "a  12"),
        ("lexed.gbnf", '%ignore S\n%terminal N\nroot ::= "a" N\nN ::= [0-9]+\nS ::= " "', "a  12"),
    ],
)
def test_notations_by_the_name_of_the_file(tmp_path: Path, file: str, grammar: str, text: str) -> None:
    path = tmp_path / file
    path.write_text(grammar)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(text)
    wrong.write_text(f"{text}!")
    assert run("validate", str(path), str(right)).endswith("valid\n")
    run("validate", str(path), str(wrong), status=1)


def test_bundled_grammars_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1, 2]")
    assert run("validate", "bundled:json", str(path)).endswith("valid\n")
    assert "no bundled grammar" in run("validate", "bundled:cobol", str(path), status=1)


def test_debug_plans_names_the_strategy_of_each_terminal() -> None:
    grammar = 'start ::= "(" start ")" | #"[a-z]*";'
    lines = run("debug", "plans", "-", "--prefix", "(", text=grammar).splitlines()
    assert {"literal", "dense"} <= {line.split(":")[0] for line in lines}
    assert all("trie nodes visited" in line for line in lines)


def test_debug_plans_of_a_grammar_with_a_lexer() -> None:
    assert "one strategy" in run("debug", "plans", "bundled:json")


def test_generate_writes_answers_in_markdown() -> None:
    output = run(
        "generate", "--markdown", "python,sql", "--max-tokens", "40", "--model", "random", "--seed", "1"
    )
    assert "complete; it parses when read again as bytes" in output
    assert "give a grammar G or --markdown" in run("generate", status=1)
    assert "no bundled language 'cobol'" in run("generate", "--markdown", "cobol", status=1)


def test_contents_of_schemas(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "string", "contentMediaType": "application/sql"}')
    assert "contentMediaType" not in run("check", str(schema))
    assert "enforced at #: type, contentMediaType" in run("check", str(schema), "--option", "content=enforce")
    for text, status in (('"SELECT 1"', 0), ('"SELECT"', 1)):
        value = tmp_path / "value.json"
        value.write_text(text)
        run("validate", "--schema", str(schema), "--option", "content=enforce", str(value), status=status)
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html><head><title></title></head><body></body></html>")
    run("validate", "html:page", str(page))


def test_a_reader_that_stops_is_no_error() -> None:
    command = [sys.executable, "-m", "grammask", "generate", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("command", "completions"),
    [
        ("mask bundled:pyth", ["bundled:python"]),
        ("check html", ["html:page"]),
        ("mask G --vocab o2", ["o200k"]),
        ("generate G --model ge", []),
        ("generate G --model gg", ["gguf:"]),
        ("serve --tool-style herm", ["hermes"]),
        ("check schema.json --for openai,xgr", ["openai,xgrammar"]),
        ("check schema.json --option key_o", ["key_order="]),
    ],
)
def test_shells_complete_values(command: str, completions: list[str]) -> None:
    environment = {
        "_GRAMMASK_COMPLETE": "complete_bash",
        "COMP_WORDS": f"grammask {command}",
        "COMP_CWORD": str(len(command.split())),
    }
    result = CliRunner().invoke(application, [], env=environment, prog_name="grammask")
    assert result.output.split() == completions


def test_bash_completes_words_with_colons(tmp_path: Path) -> None:
    """Bash itself completes: its words end at colons."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = tmp_path / "grammask"
    program.write_text(f'#!{bash}\nexec "{sys.executable}" -m grammask "$@"\n')
    program.chmod(0o755)

    def completions(*words: str) -> list[str]:
        quoted = " ".join(f"'{word}'" for word in words)
        script = f"""
            source <(grammask --show-completion bash)
            COMP_WORDS=(grammask {quoted}); COMP_CWORD={len(words)}
            $(complete -p grammask | sed 's/.*-F \\([^ ]*\\).*/\\1/') grammask
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        run = subprocess.run(
            [bash, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return run.stdout.split()

    assert completions("check", "bundled", ":", "pyth") == ["python"]
    assert "java" in completions("check", "bundled", ":")
    assert completions("mask", "bundled", ":", "python", "--vocab", "o2") == ["o200k"]


def test_long_work_is_shown_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(terminal, "ERR", Console(file=io.StringIO(), force_terminal=True, width=80))
    with terminal.working("compiling [the] grammar"):
        shown.append(terminal.ERR)
        time.sleep(0.15)
    written = shown[0].file.getvalue()
    assert "compiling [the] grammar" in written
    assert "0:00:00" in written


def test_limits_are_raised_before_the_command(grammar: Any) -> None:
    path = grammar("".join(f'start ::= "{number}";' for number in range(200)))
    output = run("--limits", "grammar_size=100", "check", path, status=1)
    assert "limit-exceeded" in output
    output = run("--limits", "grammar_size=100", "--limits", "seconds=9", "validate", path, "-", status=1)
    assert "limit-exceeded" in output
    assert "no errors" in run("--limits", "seconds=300", "check", path)
    assert "give NAME=NUMBER with one of the names automaton_states," in run(
        "--limits", "time=3", "check", path, status=1
    )
    assert "'x' is no number" in run("--limits", "seconds=x", "check", path, status=1)
    assert "no errors" in run("check", path)
