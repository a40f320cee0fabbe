"""The same page from `grammask serve`, with a model behind it."""

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import Grammar, Vocabulary
from grammask.language_models.demo import DemoModel
from playground_page import Playground


def test_probabilities_before_and_after(served: str, open_playground: Callable[..., Playground]) -> None:
    playground = open_playground(served)
    assert playground.state("r.vocabulary.name") == "model"
    playground.write("[1, ")
    playground.tab("model")
    playground.page.wait_for_selector("#panel-model tbody tr")
    rows = playground.page.query_selector_all("#panel-model tbody tr")
    refused = [row for row in rows if "refused" in row.inner_text()]
    assert 0 < len(refused) < len(rows)

    vocabulary = Vocabulary.default()
    model = DemoModel(vocabulary)
    model.begin(playground.state("Array.from(r.mask.ids)"))
    logits = model.logits().astype(np.float64)
    before = np.exp(logits - logits.max())
    before /= before.sum()
    matcher = Grammar.from_kbnf(playground.state("d.grammar")).compile(vocabulary).matcher()
    assert matcher.accept_bytes(b"[1, ")
    mass = before[matcher.allowed_ids()].sum()
    said = playground.text("#panel-model p")
    assert f"{round(mass * 100, 1):g} %" in said or "< 0.1 %" in said
    # One bar per step, and one for the next token.
    assert (
        len(playground.page.query_selector_all("#panel-model svg rect"))
        == playground.state("r.mask.legal") + 1
    )
    playground.page.click("#panel-model svg rect >> nth=0")
    playground.until("r.mask.step === 0")
    assert all(url.startswith((served, "blob:", "data:")) for url in playground.requests)


def test_a_candidate_continues_the_text(served: str, open_playground: Callable[..., Playground]) -> None:
    playground = open_playground(served)
    playground.write("[1")
    playground.tab("model")
    playground.page.wait_for_selector("#panel-model tbody button:enabled")
    before = playground.state("d.text")
    playground.page.click("#panel-model tbody button:enabled >> nth=0")
    playground.settle()
    assert playground.state("d.text").startswith(before)
    assert playground.state("d.text") != before
    assert playground.text("#text-verdict") != "does not fit"


def test_the_model_of_the_server_writes(served: str, open_playground: Callable[..., Playground]) -> None:
    playground = open_playground(served)
    assert "with the model demo of the server" in playground.text("#write-about")
    playground.example("person")
    before = playground.state("d.text")
    playground.page.click("#write-button")
    playground.page.wait_for_function("() => document.getElementById('write-button').textContent === 'Write'")
    playground.settle()
    assert playground.state("d.text").startswith(before)
    assert playground.text("#text-verdict") == "complete"
    assert playground.text("#write-said").startswith("The text is complete after")
    assert any(url.endswith("playground/probabilities") for url in playground.requests)
    playground.page.select_option("#vocabulary", "bytes")
    playground.until("r.vocabulary.name === 'bytes'")
    assert "n-grams" in playground.text("#write-about")


def test_the_page_of_an_install_from_source(
    served: str, browser: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = resources.files("grammask.server")
    (tmp_path / "page.html").write_bytes(folder.joinpath("page.html").read_bytes())
    monkeypatch.setattr("grammask.server.playground.resources.files", lambda _: tmp_path)
    page = browser.new_page(viewport={"width": 390, "height": 844})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(served)
    page.click("#write")
    page.wait_for_function("document.querySelector('#status').textContent.includes('ended by: stop')")
    assert set(json.loads(page.inner_text("#answer"))) == {"wind", "degrees"}
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.select_option("#notation", "KBNF")
    page.click("#write")
    page.wait_for_function("document.querySelector('#status').textContent.includes('ended by: stop')")
    assert re.fullmatch(r"(north|south|no) wind, -?\d+ degrees", page.inner_text("#answer"))
    assert "/v1/chat/completions" in page.inner_text("#request")
    assert errors == []
    page.fill("#grammar", "start ::= x;")
    page.click("#write")
    page.wait_for_function("document.querySelector('#status').className === 'error'")
    assert "the symbol `x` is not defined" in page.inner_text("#status")
    page.close()
