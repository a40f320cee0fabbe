"""``grammask draw`` and ``grammask check --ambiguity``."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from grammask.cli.application import application
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
JSON = str(ROOT / "examples" / "grammars" / "json.kbnf")
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application, arguments)
    return result.exit_code, result.output


def test_all_rules_are_one_svg(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    code, output = run("draw", JSON, "-o", str(path))
    assert code == 0, output
    root = ET.parse(path).getroot()
    rules = [element.get("data-rule") for element in root.findall(f"{SVG}svg")]
    assert {"start", "value", "array", "object"} <= set(rules)


@pytest.mark.parametrize(
    ("figure", "options"),
    [
        ("railroad", ["--rule", "value", "--rule", "object"]),
        ("automaton", ["--automaton", "number"]),
    ],
)
def test_figures_of_the_documentation(figure: str, options: list[str], tmp_path: Path) -> None:
    """``make figures`` writes them."""
    path = tmp_path / "out.svg"
    assert run("draw", JSON, *options, "-o", str(path))[0] == 0
    assert path.read_text() == (ROOT / "docs" / "pictures" / f"{figure}.svg").read_text()


def test_a_rule_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    assert run("draw", JSON, "--rule", "array", "-o", str(path))[0] == 0
    assert ET.parse(path).getroot().get("data-rule") == "array"
    code, output = run("draw", JSON, "--rule", "arrray")
    assert code != 0
    assert "no rule arrray" in output.replace("\n", " ")


def test_pages(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    assert run("draw", JSON, "-o", str(path))[0] == 0
    page = path.read_text()
    assert page.count("<section>") >= 4
    assert "src=" not in page


def test_automata_and_item_sets(tmp_path: Path) -> None:
    grammar = tmp_path / "g.kbnf"
    grammar.write_text('start ::= "a" number; number ::= #"[0-9]+";')
    path = tmp_path / "out.svg"
    assert run("draw", str(grammar), "--automaton", "number", "-o", str(path))[0] == 0
    assert "[0-9]" in path.read_text()
    assert run("draw", str(grammar), "--sets", "a1", "-o", str(path))[0] == 0
    assert path.read_text().count("data-position=") == 3
    for options in (["--sets", "ab"], ["--automaton", "nothing"], ["--sets", "a", "--rule", "start"]):
        code, output = run("draw", str(grammar), *options)
        assert code != 0, output


def test_item_sets_of_a_lexed_grammar(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    assert run("draw", "bundled:json", "--sets", "[1", "-o", str(path))[0] == 0
    assert path.read_text().count("data-position=") == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'start ::= start "+" start | "n";',
            'ambiguous: the rule start derives this text in two ways: "n+n+n"',
        ),
        ('start ::= "n" "+" start | "n";', "no ambiguous text"),
    ],
)
def test_ambiguity(tmp_path: Path, text: str, expected: str) -> None:
    grammar = tmp_path / "g.kbnf"
    grammar.write_text(text)
    code, output = run("check", str(grammar), "--ambiguity")
    assert code == 0
    assert expected in " ".join(output.split())


@pytest.mark.parametrize(
    ("text", "ambiguous", "conflict", "status"),
    [
        # Resolved by shifting, as lark does.
        ('start: start "+" start | NAME', 'NAME "+" NAME "+" NAME', "shift/reduce", 0),
        ("start: a | b\na: NAME\nb: NAME", "NAME", "reduce/reduce", 1),
    ],
)
def test_conflicts_have_an_example(
    text: str, ambiguous: str, conflict: str, status: int, tmp_path: Path
) -> None:
    grammar = tmp_path / "g.lark"
    grammar.write_text(f"{text}\nNAME: /[a-z]+/\n")
    code, output = run("check", str(grammar), "--ambiguity")
    shown = " ".join(output.split())
    assert code == status, output
    assert f"derives this text in two ways: {ambiguous} " in shown
    assert f"{conflict} conflict" in shown


def test_traces(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    code, output = run("generate", JSON, "--max-tokens", "30", "--seed", "1", "--trace", str(path))
    assert code == 0, output
    assert "bits of surprise per token" in path.read_text()


def test_other_kinds_of_pictures_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    code, output = run("draw", JSON, "-o", str(path))
    assert code == 1
    assert "out.png is neither .svg nor .html" in output.replace("\n", "")
    assert not path.exists()
