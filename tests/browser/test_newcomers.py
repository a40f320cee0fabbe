"""Five tasks as a newcomer does them."""

from collections.abc import Callable

from playground_page import Playground


def test_find_out_why_hello_is_refused(playground: Playground) -> None:
    playground.write("hello")
    said = playground.text("#text-said")
    assert "“h” at line 1, column 1 (byte 0) is refused" in said
    assert 'the grammar expects "[" in start' in said
    assert playground.text("#text-verdict") == "does not fit"
    assert playground.page.text_content("#text-editor .text-wrong") == "h"
    assert playground.page.text_content("#text-editor .text-rest") == "ello"


def test_watch_a_json_document_being_forced(playground: Playground) -> None:
    playground.example("person")
    assert playground.page.text_content("#text-editor .ghost") == '"born"'
    playground.page.focus("#text-input")
    playground.page.keyboard.press("Tab")
    playground.settle()
    assert playground.state("d.text") == '{"name": "Ada", "born"'
    playground.page.keyboard.type(": 1815")
    playground.settle()
    # The next byte is a comma or the end, so nothing is forced.
    assert playground.page.query_selector("#text-editor .ghost") is None
    playground.page.keyboard.type("}")
    playground.settle()
    assert playground.text("#text-verdict") == "complete"


def test_compare_two_schemas(playground: Playground) -> None:
    playground.example("compare")
    playground.page.click("#compare-run")
    playground.until("r.compared")
    said = playground.text("#compare-said")
    assert "Only the first grammar has" in said
    assert "Only the second grammar has" in said
    witnesses = [each.inner_text() for each in playground.page.query_selector_all(".witness")]
    days = [int(text.split(":")[1].strip("␣ }")) for text in witnesses]
    assert 11 <= days[0] <= 14
    assert days[1] == 0
    playground.page.click("#compare-said button >> nth=0")
    playground.settle()
    assert playground.text("#text-verdict") == "complete"


def test_see_a_lexer_hold_two_lexemes_open(playground: Playground) -> None:
    playground.example("sql")
    open_lexemes = playground.page.query_selector_all("#panel-lexer .lexemes-open .open")
    assert len(open_lexemes) >= 2
    names = " ".join(each.inner_text() for each in open_lexemes)
    assert "OR" in names


def test_share_a_link(playground: Playground, open_playground: Callable[..., Playground]) -> None:
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("(né|ße)+")
    playground.write("nénéß")
    playground.tab("tree")
    playground.page.click("#share-button")
    playground.page.wait_for_selector("#notice:not(:empty)")
    link = playground.page.url
    assert "#s=" in link
    other = open_playground(link)
    assert other.state("[d.notation, d.grammar, d.text, d.tab]") == ["regex", "(né|ße)+", "nénéß", "tree"]
    assert other.page.text_content("#text-editor .ghost") == "e"
