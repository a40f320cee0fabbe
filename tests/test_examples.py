"""The examples and the code in README.md run, and say what they are meant to say."""

import json
import re
import subprocess
import sys
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


def python_of(page: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]

LINKING_PAGES = [
    *PAGES,
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *(f"benches/notes/{path.name}" for path in sorted((ROOT / "benches/notes").glob("*.md"))),
]


@pytest.mark.parametrize("page", [page for page in PAGES if python_of(page)])
def test_code_of_a_page(page: str, tmp_path: Path) -> None:
    code = "\n".join(python_of(page))
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(module)
    # Pages read the examples, and may write files.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run("-c", code, folder=tmp_path)


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
