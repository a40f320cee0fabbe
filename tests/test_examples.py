"""The examples and the code in README.md run, and say what they are meant to say."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*arguments: str, folder: Path = ROOT) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", *arguments], capture_output=True, text=True, check=False, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_quick_start() -> None:
    person = json.loads(run("examples/quick_start.py"))
    assert list(person) == ["name", "age"]
    assert 1 <= person["age"] <= 99


def test_speculation() -> None:
    output = run("examples/speculation.py")
    assert "takes 6 of 7 drafted tokens" in output
    assert 'token 10979 " WHERE" is refused' in output
    assert "' FROM' True then must come b' p'" in output


def test_kbnf_drop_in() -> None:
    assert run("examples/kbnf_drop_in.py") in ("The answer is yes.\n", "The answer is no.\n")


def test_demo() -> None:
    output = run("examples/demo.py")
    assert output.count("  valid: ") == 11
    assert "p99" in output


def test_templates() -> None:
    output = run("examples/templates.py")
    assert output.startswith("so far: {'customer': ")
    assert ", bytes (" in output


RECIPES = "docs/recipes.md"
"""The page whose programs do not depend on each other."""


@dataclass(frozen=True)
class Program:
    """A block of Python in a page, and what it prints: the block of text that directly follows it."""

    code: str
    output: str


def programs_of(page: str) -> list[Program]:
    blocks = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?"
    found = re.findall(blocks, (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [Program(code, output) for code, output in found]


def check_programs(programs: list[Program], folder: Path) -> None:
    """Run programs as one, and compare what they print if the page shows that."""
    code = "\n".join(program.code for program in programs)
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(module)
    # Pages read the examples, and may write files.
    (folder / "examples").symlink_to(ROOT / "examples")
    printed = run("-c", code, folder=folder)
    shown = "".join(program.output for program in programs)
    assert not shown or printed == shown


PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
NOTES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "benches" / "notes").glob("*.md"))
LINKING_PAGES = [*PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md", *NOTES]


@pytest.mark.parametrize("page", [page for page in PAGES if page != RECIPES and programs_of(page)])
def test_code_of_a_page(page: str, tmp_path: Path) -> None:
    check_programs(programs_of(page), tmp_path)


@pytest.mark.parametrize("number", range(len(programs_of(RECIPES))))
def test_a_recipe(number: int, tmp_path: Path) -> None:
    check_programs([programs_of(RECIPES)[number]], tmp_path)


def test_every_recipe_has_a_program() -> None:
    headings = re.findall(r"^## ", (ROOT / RECIPES).read_text("utf-8"), re.MULTILINE)
    assert len(headings) == len(programs_of(RECIPES)) == 15


def test_every_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"^ +- .*: (\S+\.md)$", site, re.MULTILINE)
    assert sorted(f"docs/{page}" for page in listed) == PAGES[1:]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as mkdocs and GitHub derive them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    anchors: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-")
        anchors[anchor] = anchors.get(anchor, 0) + 1
    return {anchor for anchor, count in anchors.items() if count == 1}


@pytest.mark.parametrize("page", LINKING_PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    lost = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", (ROOT / page).read_text("utf-8")):
        if "://" in target:
            continue
        file = (ROOT / page).parent / target if target else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            lost.append(f"{target}#{anchor}")
    assert lost == []
