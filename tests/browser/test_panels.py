"""Every panel, with results that are known."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from grammask import Grammar, Vocabulary
from playground_page import Playground

EXAMPLES = [
    "list",
    "person",
    "moves",
    "date",
    "cities",
    "python",
    "sql",
    "go",
    "lexed",
    "tags",
    "arithmetic",
    "compare",
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_viable(playground: Playground, example: str) -> None:
    playground.example(example)
    assert playground.state("r.grammar.failure") is None
    assert playground.text("#text-verdict") != "does not fit"
    assert playground.state("r.mask.allowed") > 0


def test_the_gallery_is_complete(playground: Playground) -> None:
    shown = playground.page.eval_on_selector_all(
        "[data-example]", "all => all.map(each => each.dataset.example)"
    )
    assert shown == EXAMPLES
    playground.page.click("#examples-button")
    for example in EXAMPLES:
        box = playground.page.locator(f"[data-example={example}] svg.picture").bounding_box()
        assert box is not None
        assert box["width"] > 100
        assert 70 < box["height"] < 80
    playground.screenshot("gallery")


def test_masks_are_those_of_the_package(playground: Playground) -> None:
    vocabulary = Vocabulary.default()
    compiled = Grammar.from_kbnf(playground.state("d.grammar")).compile(vocabulary)
    for text in ["", "[", "[1", "[1, ", "[[-", "[0]"]:
        playground.write(text)
        matcher = compiled.matcher()
        assert matcher.accept_bytes(text.encode())
        allowed = matcher.allowed_ids().tolist()
        words = playground.state("Array.from(r.mask.words)")
        assert [id for id in range(vocabulary.size) if words[id >> 5] >> (id & 31) & 1] == allowed
        assert f"{len(allowed):,} of 200,019" in playground.text("#mask-count")


def test_errors_of_a_grammar(playground: Playground) -> None:
    playground.write_grammar('start ::= "a" other;\nstart ::= "b')
    said = playground.text("#grammar-said")
    assert "line 2, column 11" in said
    assert playground.page.get_attribute("#grammar-input", "aria-invalid") == "true"
    assert playground.page.query_selector("#grammar-editor .mark-error")
    assert "by the last grammar without errors" in playground.text("#mask-count")
    playground.page.click("#grammar-said button >> nth=0")
    assert playground.page.evaluate("document.activeElement.id") == "grammar-input"
    playground.write_grammar('start ::= "a";')
    assert playground.text("#grammar-said") == ""
    assert playground.state("r.mask.legal") == 0


def test_errors_of_a_schema(playground: Playground) -> None:
    playground.page.select_option("#notation", "schema")
    schema = {"properties": {"a": {"type": "strin"}}}
    playground.write_grammar(json.dumps(schema))
    assert "#/properties/a/type" in playground.text("#grammar-said")
    assert playground.page.text_content("#grammar-editor .mark-error") == '"strin"'


def test_the_text_as_tokens(playground: Playground) -> None:
    playground.write("[123, 45")
    ids = playground.state("Array.from(r.mask.ids)")
    vocabulary = Vocabulary.default()
    pieces = [vocabulary.token(id).decode() for id in ids]
    assert "".join(pieces) == "[123, 45"
    shown = playground.page.eval_on_selector_all(
        "#text-editor .tok-begin", "all => all.map(each => each.textContent)"
    )
    assert shown == pieces


def test_characters_of_several_tokens(playground: Playground) -> None:
    playground.page.select_option("#vocabulary", "bytes")
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("(né😀)+")
    playground.write("né😀n")
    assert playground.state("r.mask.ids.length") == 8
    assert playground.page.text_content("#text-editor pre").startswith("né😀n")
    playground.write("né😀x")
    assert "(byte 7)" in playground.text("#text-said")
    assert "column 4" in playground.text("#text-said")


def test_the_slider_replays_all_steps(playground: Playground) -> None:
    playground.write("[1, [2")
    steps = playground.state("r.mask.legal")
    counts = playground.state("Array.from(r.steps.counts)")
    assert len(counts) == steps + 1
    playground.page.focus("#step")
    playground.page.keyboard.press("Home")
    playground.until("r.mask.step === 0")
    playground.settle()
    assert playground.state("r.mask.allowed") == counts[0]
    assert f"step 0 of {steps}: {counts[0]:,} of 200,019 tokens allowed" in playground.text("#step-said")
    assert "follows" in playground.text("#step-said")
    assert playground.page.is_visible("#mask-next")
    for step in range(1, steps + 1):
        playground.page.keyboard.press("ArrowRight")
        playground.until(f"r.mask.step === {step}")
        assert playground.state("r.mask.allowed") == counts[step]
    assert playground.state("d.step") is None
    playground.page.click("#step-play")
    playground.until("r.mask.step === 1")
    playground.until(f"d.step === null && r.mask.step === {steps}")
    assert playground.page.get_attribute("#step-play", "aria-label") == "Replay all steps"


def test_the_picture_of_the_mask(playground: Playground) -> None:
    # Lit pixels are those of allowed tokens, and only those have full saturation.
    lit = """() => {
        const canvas = document.getElementById("mask-picture");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const counts = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const key = data.slice(i, i + 3).join();
            counts.set(key, (counts.get(key) ?? 0) + 1);
        }
        return [canvas.width, Object.fromEntries(counts)];
    }"""
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("[0-9]+x")
    playground.write("1")
    side, with_digits = playground.page.evaluate(lit)
    assert side == 512
    playground.write_grammar("[0-9]{1}x")
    _, without = playground.page.evaluate(lit)
    allowed = playground.state("r.mask.allowed")
    assert allowed == 1
    assert set(with_digits) != set(without)


def test_reasons_in_the_picture(playground: Playground) -> None:
    canvas = playground.page.query_selector("#mask-picture")
    assert canvas
    canvas.focus()
    playground.page.keyboard.press("ArrowRight")
    playground.page.wait_for_selector("#mask-said .chip")
    assert playground.page.is_visible("#mask-cursor")
    box = canvas.bounding_box()
    seen = set()
    for step in range(20):
        playground.page.mouse.move(
            box["x"] + box["width"] * (step + 0.5) / 20, box["y"] + box["height"] * 0.68
        )
        playground.page.wait_for_timeout(30)
        seen.add(playground.text("#mask-said"))
    said = "\n".join(seen)
    assert "refused" in said
    assert "allowed" in said
    assert "expected" in said


def test_next_tokens_by_terminal(playground: Playground) -> None:
    playground.write("[1")
    groups = playground.page.eval_on_selector_all(
        "#tokens .group code", "all => all.map(each => each.textContent)"
    )
    assert '"]"' in groups
    playground.page.click("#tokens button:text-is(']')")
    playground.settle()
    assert playground.state("d.text") == "[1]"
    assert playground.text("#text-verdict") == "complete"


def test_diagrams_follow_the_text(playground: Playground) -> None:
    rules = playground.page.eval_on_selector_all(".diagram", "all => all.map(each => each.dataset.of)")
    assert rules == ["start", "item", "number"]
    playground.write("")
    active = playground.page.eval_on_selector_all(
        ".diagram.active", "all => all.map(each => each.dataset.of)"
    )
    assert active == ["start"]
    playground.write("[-")
    active = playground.page.eval_on_selector_all(
        ".diagram.active", "all => all.map(each => each.dataset.of)"
    )
    assert "start" not in active
    assert active


def test_the_parse_tree(playground: Playground) -> None:
    playground.example("arithmetic")
    said = playground.text("#panel-tree")
    for rule in ["start", "sum", "product", "factor", "number"]:
        assert rule in said


def test_a_lexed_grammar(playground: Playground) -> None:
    playground.example("lexed")
    read = playground.page.eval_on_selector_all(
        "#panel-lexer .lexemes-read .box", "all => all.map(each => each.firstChild.textContent)"
    )
    assert read[:3] == ['"let"', "SPACE", "NAME"]
    assert "NUMBER" in read
    playground.example("list")
    assert "no lexer" in playground.tab("lexer")


def test_keywords_of_a_schema(playground: Playground) -> None:
    playground.page.select_option("#notation", "schema")
    schema = {
        "title": "T",
        "type": "object",
        "properties": {"title": {"type": "string", "pattern": r"(a)\1"}},
        "colour": 1,
    }
    playground.write_grammar(json.dumps(schema))
    playground.tab("keywords")
    rows = playground.page.eval_on_selector_all(
        "#panel-keywords tbody tr",
        "all => all.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent))",
    )
    assert rows == [
        ["title", "annotation", "#/title"],
        ["type", "enforced", "#/type"],
        ["properties", "enforced", "#/properties"],
        ["type", "enforced", "#/properties/title/type"],
        ["pattern", "refused", "#/properties/title/pattern"],
        ["colour", "unknown", "#/colour"],
    ]
    marked = playground.page.eval_on_selector_all(
        "#grammar-editor .kw-refused", "all => all.map(each => each.textContent)"
    )
    assert marked == ['"pattern"']


def test_grammars_with_the_same_texts(playground: Playground) -> None:
    playground.page.select_option("#notation", "regex")
    playground.write_grammar("(ab)*")
    playground.tab("compare")
    playground.page.select_option("#compare-notation", "kbnf")
    playground.page.fill("#compare-input", 'start ::= "" | "ab" start;')
    playground.page.click("#compare-run")
    playground.until("r.compared")
    assert "difference" in playground.text("#compare-said") or "same texts" in playground.text(
        "#compare-said"
    )
    assert "Only" not in playground.text("#compare-said").split("The text above")[0]


def test_vocabularies(playground: Playground, tmp_path: Any) -> None:
    playground.page.select_option("#vocabulary", "bytes")
    playground.until("r.vocabulary?.name === 'bytes'")
    playground.settle()
    assert "of 257" in playground.text("#mask-count")
    tokenizer = {
        "added_tokens": [],
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"[": 0, "1": 1, ",": 2, "Ġ": 3, "]": 4}, "merges": []},
    }
    playground.write("[1")
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(tokenizer))
    playground.page.set_input_files("#vocabulary-file", file)
    playground.until("r.vocabulary?.name === 'tokenizer.json'")
    playground.settle()
    assert "of 5" in playground.text("#mask-count")
    file.write_text("{")
    playground.page.set_input_files("#vocabulary-file", [])
    playground.page.set_input_files("#vocabulary-file", file)
    playground.page.wait_for_selector("#notice:not(:empty)")
    assert "cannot be read" in playground.text("#notice")


def test_a_page_without_a_model_says_so(playground: Playground) -> None:
    assert "grammask serve" in playground.tab("model")


def test_links_that_are_none(page_url: str, open_playground: Callable[..., Playground]) -> None:
    for fragment in ["#s=", "#s=AAAA", "#s=%%%", "#text-input"]:
        opened = open_playground(page_url + fragment)
        assert opened.state("d.text") == "[1, [2"


def test_another_notation_shows_its_sample_and_later_what_was_left(playground: Playground) -> None:
    notations = {
        "gbnf": "move ",
        "regex": "[0-9]",
        "schema": '"Person"',
        "choices": "San",
        "bundled": "python",
    }
    left = playground.state("[d.grammar, d.text]")
    for notation, part in notations.items():
        playground.page.select_option("#notation", notation)
        playground.settle()
        assert part in playground.state("d.grammar")
        assert playground.state("r.grammar.failure") is None
        assert playground.state("d.text") != ""
        assert playground.text("#text-verdict") != "does not fit"
    playground.page.select_option("#bundled", "sql")
    playground.settle()
    assert playground.state("d.text").startswith("SELECT")
    playground.page.select_option("#notation", "kbnf")
    playground.settle()
    assert playground.state("[d.grammar, d.text]") == left
    playground.write_grammar('start ::= "mine";')
    playground.page.select_option("#notation", "regex")
    playground.page.select_option("#notation", "kbnf")
    assert playground.state("d.grammar") == 'start ::= "mine";'


_PIXELS = """() => {
    const canvas = document.getElementById("mask-picture");
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value) => (sum * 31 + value) | 0, 0);
}"""
_GREY = "getComputedStyle(document.getElementById('mask-frame')).filter"


def test_an_erroneous_grammar_keeps_the_last_good_picture(playground: Playground) -> None:
    picture = playground.page.evaluate(_PIXELS)
    diagrams = playground.text("#panel-diagrams")
    tokens = playground.text("#tokens")
    assert playground.page.evaluate(_GREY) == "none"
    playground.write_grammar("start ::= ")
    assert playground.page.evaluate(_PIXELS) == picture
    assert playground.text("#panel-diagrams") == diagrams
    assert playground.text("#tokens") == tokens
    assert playground.page.evaluate(_GREY) == "grayscale(1)"
    assert "by the last grammar without errors" in playground.text("#mask-count")
    assert playground.text("#text-verdict") == "the grammar has errors"
    playground.write_grammar('start ::= "[" "a"+ "]";')
    assert playground.page.evaluate(_GREY) == "none"
    assert playground.page.evaluate(_PIXELS) != picture


def test_a_grammar_and_a_text_at_once(playground: Playground) -> None:
    """The text is replaced while the engine compiles the schema."""
    playground.example("person")
    playground.tab("keywords")
    members = {
        f"member {index}": {"type": "string", "pattern": f"^[a-z]{{{index}}}x*$"} for index in range(60)
    }
    schema = json.dumps({"type": "object", "properties": members, "required": list(members)})
    playground.page.evaluate(
        """([grammar, text]) => new Promise(resolve => {
            playground.document.set({grammar});
            setTimeout(() => resolve(playground.document.set({text})), 10);
        })""",
        [schema, '{"member 0": "x'],
    )
    playground.settle()
    assert playground.state("r.mask.text === d.text")
    assert playground.text("#text-verdict") == "a valid beginning"
    assert "member 0" in playground.page.text_content("#panel-diagrams")
    assert "#/properties/member 59/pattern" in playground.text("#panel-keywords")


def test_axes_and_legends(playground: Playground) -> None:
    playground.write("[1, [2")
    assert "language model" in playground.text("#lead")
    largest = max(playground.state("Array.from(r.steps.counts)"))
    axes = playground.text("#steps .chart")
    assert "Allowed tokens at each step" in axes
    assert "tokens read" in axes
    assert f"{largest:,}" in axes
    assert playground.text("#steps .axis-last") == str(playground.state("r.mask.legal"))
    legend = playground.text("#mask-legend")
    for name in ["letters", "digits", "allowed", "refused"]:
        assert name in legend
    labels = playground.page.query_selector_all("#mask-labels span")
    assert {"letters", "space and more", "control and non-ASCII"} <= {each.inner_text() for each in labels}
    frame = playground.page.locator("#mask-frame").bounding_box()
    assert frame is not None
    for label in labels:
        box = label.bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_schemas_are_drawn_as_schemas(playground: Playground) -> None:
    playground.example("person")
    drawn = playground.page.text_content("#panel-diagrams")
    for part in ['the member "name"', "a string of at most 20 characters", "an integer from 1800 to 2030"]:
        assert part in drawn
    active = playground.page.eval_on_selector_all(
        ".diagram.active", "all => all.map(each => each.dataset.of)"
    )
    assert active == ["#"]


def test_messages_of_a_schema_name_the_place(playground: Playground) -> None:
    playground.page.select_option("#notation", "schema")
    schema = '{"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}}'
    playground.write_grammar(schema)
    playground.write('{"colour": "rad"}')
    assert 'expects "red" or "green" at #/properties/colour.' in playground.text("#text-said")
    playground.page.click("#text-said button")
    selected = playground.page.evaluate(
        "getSelection().toString() || (area => "
        "area.value.slice(area.selectionStart, area.selectionEnd))(document.getElementById('grammar-input'))"
    )
    assert selected == '{"enum": ["red", "green"]}'


def test_no_third_of_a_wide_page_is_empty(playground: Playground) -> None:
    for example in ["list", "person", "sql"]:
        playground.example(example)
        bottoms = [
            box["y"] + box["height"]
            for name in ("code", "tokens", "mask")
            if (box := playground.page.locator(f"#{name}-panel").bounding_box())
        ]
        assert max(bottoms) - min(bottoms) < 2
