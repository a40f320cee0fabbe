"""The button Write: a small model writes under the mask, token by token."""

import pytest
from grammask import Grammar, Vocabulary
from playground_page import Playground

_RECORD = """() => {
    window.counts = [];
    window.curves = [];
    playground.results.on(["mask"], () => counts.push(document.getElementById("mask-count").textContent));
    playground.results.on(["steps"], ({steps}) => curves.push(steps?.counts.length));
}"""


def write_to_the_end(playground: Playground) -> str:
    """Click Write, wait until it has ended, and return the text."""
    playground.page.click("#write-button")
    assert playground.text("#write-button") == "Stop"
    playground.page.wait_for_function("() => document.getElementById('write-button').textContent === 'Write'")
    playground.settle()
    return str(playground.state("d.text"))


def begin_to_write(playground: Playground) -> None:
    """Click Write under a grammar of long texts, and wait until some of one is there."""
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("[a-z ]{1,500}!")
    playground.write("")
    playground.page.click("#write-button")
    playground.until("d.text.length > 3")


@pytest.mark.parametrize("example", ["list", "person", "moves", "date", "cities", "sql", "tags"])
def test_texts_begin_as_before_and_are_complete(playground: Playground, example: str) -> None:
    playground.example(example)
    before = playground.state("d.text")
    text = write_to_the_end(playground)
    assert text.startswith(before)
    assert len(text) > len(before)
    assert playground.text("#text-verdict") == "complete"
    assert "The text is complete after" in playground.text("#write-said")


def test_the_mask_moves_with_the_text(playground: Playground) -> None:
    playground.example("person")
    playground.page.evaluate(_RECORD)
    text = write_to_the_end(playground)
    compiled = Grammar.from_json_schema(playground.state("d.grammar")).compile(Vocabulary.default())
    assert compiled.first_error(text.encode()) is None
    counts = playground.page.evaluate("counts")
    assert len(counts) > 5
    assert len(set(counts)) > 3
    assert all("of 200,019 tokens allowed" in count for count in counts)
    # The curve grows with the text.
    assert len(set(playground.page.evaluate("curves"))) > 5
    assert playground.page.get_attribute("#mask-count", "aria-live") == "polite"
    assert playground.page.get_attribute("#mask-count", "aria-busy") == "false"


def test_it_can_be_stopped(playground: Playground) -> None:
    begin_to_write(playground)
    assert playground.page.get_attribute("#mask-count", "aria-busy") == "true"
    playground.page.focus("#write-button")
    playground.page.keyboard.press("Enter")
    assert playground.text("#write-button") == "Write"
    playground.settle()
    text = playground.state("d.text")
    playground.page.wait_for_timeout(500)
    assert playground.state("d.text") == text
    assert playground.text("#text-verdict") == "a valid beginning"


def test_a_key_stops_it(playground: Playground) -> None:
    begin_to_write(playground)
    playground.page.focus("#text-input")
    playground.page.keyboard.press("z")
    assert playground.text("#write-button") == "Write"
    playground.settle()
    text = playground.state("d.text")
    assert text.endswith("z")
    playground.page.wait_for_timeout(500)
    assert playground.state("d.text") == text


def test_texts_without_an_end_are_bounded(playground: Playground) -> None:
    playground.page.select_option("#notation", "kbnf")
    playground.write_grammar('start ::= "a" start;')
    playground.write("")
    write_to_the_end(playground)
    assert playground.text("#write-said") == "Stopped after 120 tokens."
    assert playground.text("#text-verdict") == "a valid beginning"


def test_characters_are_written_whole(playground: Playground) -> None:
    playground.page.select_option("#vocabulary", "bytes")
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("(né😀){3}")
    playground.write("n")
    assert write_to_the_end(playground) == "né😀né😀né😀"


def test_nothing_is_written_after_errors(playground: Playground) -> None:
    assert playground.page.is_enabled("#write-button")
    playground.write("[x")
    assert playground.page.is_disabled("#write-button")
    playground.write("[")
    assert playground.page.is_enabled("#write-button")
    playground.write_grammar("start ::= ")
    assert playground.page.is_disabled("#write-button")
