"""The programs for what the page shows: each has the verdict of the page."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable

import pytest
from grammask import Vocabulary
from playground_page import ROOT, Playground

PACKAGE = ROOT / "target/wasm"
EXAMPLES = ["list", "person", "moves", "date", "cities", "python", "lexed", "tags"]


def code(playground: Playground, language: str) -> str:
    """Return the program in a language."""
    playground.page.select_option("#code-language", language)
    return str(playground.page.text_content("#code"))


def verdict(playground: Playground) -> str:
    """Return what the programs print for a text that fits."""
    allowed = playground.state("r.mask.allowed")
    return f"{allowed} tokens are allowed; complete: {playground.state('r.mask.isComplete')}"


def python(program: str) -> str:
    """Return the output of a program in Python."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that runs a program in node beside the package and a saved vocabulary."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = tmp_path_factory.mktemp("node")
    (folder / "node_modules").mkdir()
    (folder / "node_modules/grammask").symlink_to(PACKAGE, target_is_directory=True)
    Vocabulary.default().save(folder / "o200k_base.vocabulary")

    def run(program: str) -> str:
        (folder / "program.mjs").write_text(program)
        command = ["node", "--preserve-symlinks", "program.mjs"]
        finished = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=120
        )
        return finished.stdout

    return run


@pytest.mark.parametrize("example", EXAMPLES)
def test_programs_have_the_verdict_of_the_page(
    playground: Playground, example: str, node: Callable[[str], str]
) -> None:
    playground.example(example)
    assert python(code(playground, "python")).strip() == verdict(playground)
    assert node(code(playground, "javascript")).strip() == verdict(playground).lower()


def test_programs_explain_a_text_that_does_not_fit(
    playground: Playground, node: Callable[[str], str]
) -> None:
    playground.example("person")
    playground.page.select_option("#key-order", "any")
    playground.write('{"born": 1815, "languages": ["Dutch"], "name": "a\\u0041\'`${}"""\\\\')
    position = f"byte {playground.state('r.mask.fits')} does not fit"
    for said in (python(code(playground, "python")), node(code(playground, "javascript"))):
        assert said.startswith(position)
        assert '"English", "French" or "Polish" at #/properties/languages/items' in said


def test_single_bytes_as_a_vocabulary(playground: Playground, node: Callable[[str], str]) -> None:
    playground.page.select_option("#vocabulary", "bytes")
    playground.until("r.vocabulary?.name === 'bytes'")
    playground.settle()
    assert python(code(playground, "python")).strip() == verdict(playground)
    assert node(code(playground, "javascript")).strip() == verdict(playground).lower()


@pytest.mark.parametrize("example", ["list", "person", "moves", "date", "cities"])
def test_requests_to_a_server(served: str, open_playground: Callable[..., Playground], example: str) -> None:
    playground = open_playground(served)
    playground.example(example)
    if example == "person":
        playground.page.select_option("#key-order", "any")
    command = shlex.split(code(playground, "curl"))
    assert command[:2] == ["curl", f"{served}v1/chat/completions"]
    assert command[2:5] == ["-H", "Content-Type: application/json", "-d"]
    request = urllib.request.Request(command[1], command[5].encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = json.load(answer)["choices"][0]["message"]["content"]
    playground.write(text)
    assert playground.text("#text-verdict") in ("complete", "has ended")


def test_a_vocabulary_of_a_server(
    served: str, open_playground: Callable[..., Playground], node: Callable[[str], str]
) -> None:
    playground = open_playground(served)
    assert playground.state("d.vocabulary") == "model"
    assert python(code(playground, "python")).strip() == verdict(playground)
    assert node(code(playground, "javascript")).strip() == verdict(playground).lower()


def test_requests_that_do_not_exist(playground: Playground) -> None:
    playground.example("python")
    assert code(playground, "curl").startswith("# ")


def test_one_click_copies(open_playground: Callable[..., Playground]) -> None:
    playground = open_playground(permissions=["clipboard-read", "clipboard-write"])
    shown = code(playground, "python")
    playground.page.click("#code-copy")
    playground.page.wait_for_selector("#code-said:not(:empty)")
    assert playground.text("#code-said") == "Copied."
    assert playground.page.evaluate("navigator.clipboard.readText()") == shown


def test_a_link_has_the_language(playground: Playground, open_playground: Callable[..., Playground]) -> None:
    shown = code(playground, "javascript")
    playground.page.click("#share-button")
    playground.page.wait_for_selector("#notice:not(:empty)")
    other = open_playground(playground.page.url)
    assert other.page.text_content("#code") == shown
    assert re.search(r"^import .* from \"grammask\";$", shown, re.MULTILINE)
