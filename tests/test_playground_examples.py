"""The examples in the documentation that run in the playground: each grammar compiles and permits its text."""

import importlib.util
import json
import xml.etree.ElementTree as ET
import zlib
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary

ROOT = Path(__file__).parents[1]
BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def program(name: str) -> Any:
    """Import a program of the playground."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "playground" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOK = program("site_hook")
GALLERY = program("gallery")
FRONT_ENDS = ("kbnf", "gbnf", "json_schema", "lexed_grammars")
EXAMPLES = [
    pytest.param(state, id=f"{page.stem}-{place}")
    for page in sorted((ROOT / "docs").glob("*.md"))
    for place, state in enumerate(HOOK.states(page.read_text("utf-8")))
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 11
    for page in FRONT_ENDS:
        assert HOOK.states((ROOT / "docs" / f"{page}.md").read_text("utf-8")), page


def test_the_gallery_has_grammars_texts_and_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    # The picture of a mask needs no large vocabulary.
    monkeypatch.setattr(GALLERY, "Vocabulary", type("Bytes", (), {"default": staticmethod(lambda: BYTES)}))
    examples = GALLERY.examples()
    assert len(examples) == len({example["id"] for example in examples}) == 12
    for example in examples:
        state = example["state"]
        compiled = GALLERY.grammar_of(state).compile(BYTES)
        assert compiled.first_error(state["text"].encode()) in (None, len(state["text"].encode()))
        picture = ET.fromstring(example["picture"])
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(example["picture"]) < 10_000


@pytest.mark.parametrize("state", EXAMPLES)
def test_an_example(state: dict[str, str]) -> None:
    compiled = GALLERY.grammar_of(state).compile(BYTES)
    text = state["text"].encode()
    assert compiled.first_error(text) in (None, len(text))


def test_the_fragment_of_an_address_is_the_state() -> None:
    state = {"notation": "kbnf", "grammar": 'start ::= "ä";', "text": "?"}
    prefix, _, packed = HOOK.fragment(state).partition("#s=")
    assert prefix == ""
    raw = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    assert json.loads(zlib.decompress(raw, -zlib.MAX_WBITS)) == state


def test_examples_are_shown_as_code_with_a_playground() -> None:
    class Page:
        url = "kbnf/"

    markdown = (
        '# A\n\n``` { .playground notation=kbnf text="a\\nb" }\nstart ::= "a";\n```\n\n```text\nb\n```\n'
    )
    shown = HOOK.on_page_markdown(markdown, Page())
    assert '``` ebnf\nstart ::= "a";\n```' in shown
    assert '<iframe src="../playground.html#s=' in shown
    assert shown.endswith("```text\nb\n```\n")
    assert HOOK.states(markdown) == [{"notation": "kbnf", "text": "a\nb", "grammar": 'start ::= "a";'}]
