"""Pages in HTML: which texts are pages, read by Python's own reader of HTML."""

from __future__ import annotations

import random
from html.parser import HTMLParser

import grammask
import pytest
from grammask import Grammar
from grammask.texts import html_page
from peer_verdicts import BYTES

VOID = {"base", "br", "col", "hr", "img", "input", "link", "meta", "wbr"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>A &amp; B</title>
  <style>
    @media (min-width: 600px) { body > .a:not(#b), ul li::before { margin: 0 -1px; color: rgba(0, 0, 0, .5) } }
    @import url(x.css); /* a comment */
  </style>
  <link rel="stylesheet" href="a.css"/>
</head>
<body class='x'>
  <!-- a comment -->
  <h1>Hello, <em>world</em>!</h1>
  <p>Some <a href="?a=1&amp;b=2">link <b>x</b></a> &copy; &#8364;<br></p>
  <ul>
    <li>One</li>
    <li><p>Two</p></li>
  </ul>
  <table><caption>C</caption><thead><tr><th scope="col">A</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>
  <form action="/x"><label for="q">Q</label><input id="q" required disabled=""><select name="s"><option value="1"
    selected>One</option></select><textarea rows="3">t</textarea><button type="submit">Go</button></form>
  <script>
    const f = (a) => a < 3 && "é".length;
  </script>
  <script src="x.js" defer></script>
</body>
</html>
"""


class TagReader(HTMLParser):
    """Checks that tags are balanced, and that no tag has an attribute twice."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.elements.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def compiled() -> grammask.CompiledGrammar:
    return html_page().compile(BYTES)


def test_a_page(compiled: grammask.CompiledGrammar) -> None:
    assert compiled.first_error(PAGE.encode()) is None
    assert compiled.is_valid(PAGE.encode())
    reader = TagReader()
    reader.feed(PAGE)
    assert not reader.open


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("</em>", "</i>"),
        ("</ul>", ""),
        ("&copy;", "&copy"),
        ("&copy;", "&nothing;"),
        ("&#8364;", "&#128;"),
        ("<b>x</b>", "<a>x</a>"),
        ("<p>Two</p>", "<p><div></div></p>"),
        ("<label", "<form></form><label"),
        ("<td>1</td>", "<p>1</p>"),
        ("<li>One</li>", "One"),
        ('id="q" required', 'id="q" id="r"'),
        ("href=", "hrefs="),
        (" a comment -->\n  <h1>", ">-->\n  <h1>"),
        (" a comment -->\n  <h1>", "a --!> -->\n  <h1>"),
        ("a < 3", "a <"),
        ('"é"', '"</script>"'),
        ('"é"', "'<!--'"),
        ("color: rgba(0, 0, 0, .5)", "color: rgba(0, 0"),
        ("color: rgba(0, 0, 0, .5)", "color"),
        ("color: rgba(0, 0, 0, .5)", 'content: "</style>"'),
        ("body > .a", "body > > .a"),
        ("url(x.css)", "url(x y.css)"),
        ("<title>", "<title><b>"),
        ("<!DOCTYPE html>", ""),
    ],
)
def test_texts_that_are_no_pages(compiled: grammask.CompiledGrammar, right: str, wrong: str) -> None:
    assert PAGE.count(right) >= 1
    assert not compiled.is_valid(PAGE.replace(right, wrong).encode())


def test_random_pages_are_balanced(compiled: grammask.CompiledGrammar) -> None:
    elements: set[str] = set()
    for seed in range(40):
        rng = random.Random(seed)
        matcher = compiled.matcher(max_tokens=rng.randrange(150, 400))
        while not matcher.is_finished:
            allowed = matcher.allowed_ids().tolist()
            useful = [id for id in allowed if id == 256 or chr(id) in '<>/="' or 97 <= id < 123]
            matcher.accept(rng.choice(useful or allowed))
        page = b"".join(BYTES.token(id) or b"" for id in matcher.tokens if id != 256).decode()
        reader = TagReader()
        reader.feed(page)
        reader.close()
        assert not reader.open, page
        elements |= reader.elements
    assert len(elements) > 15


def test_other_ways_to_a_page() -> None:
    page = b"<!doctype html><html><head><title></title></head><body></body></html>"
    tag = {"format": {"type": "html_page"}}
    formats = [
        Grammar.html_page(),
        Grammar.from_structural_tag(tag),
        Grammar.from_response_format({"type": "html_page"}),
    ]
    fenced = {
        "format": {"type": "tag", "begin": "<page>", "content": {"type": "html_page"}, "end": "</page>"}
    }
    for grammar in formats:
        assert grammar.compile(BYTES).is_valid(page)
    assert Grammar.from_structural_tag(fenced).compile(BYTES).is_valid(b"<page>" + page + b"</page>")
    schema = {"type": "string", "contentMediaType": "text/html"}
    encoded = Grammar.from_json_schema(schema, content="enforce").compile(BYTES)
    assert encoded.is_valid(b'"' + page + b'"')
    assert not encoded.is_valid(b'"' + page.replace(b"</head>", b"") + b'"')
    sheet = Grammar.from_json_schema({"type": "string", "contentMediaType": "text/css"}, content="enforce")
    assert sheet.compile(BYTES).is_valid(rb'"a { content: \"x\" }"')
    assert not sheet.compile(BYTES).is_valid(rb'"a { content: \"x }"')
