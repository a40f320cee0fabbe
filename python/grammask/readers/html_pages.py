"""Pages in HTML: elements with balanced tags, text, attributes, style sheets and scripts.

The nesting is one that HTML's parser keeps: an element that would end another one does not occur inside it. So a page
has no parse errors, and the tree of its tags is the tree that a browser builds. The elements, the attributes and the
named references are those listed below.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from grammask import composition
from grammask.readers.code_without import code_without_pattern
from grammask.readers.lark import bundled_source
from grammask.readers.style_sheets import style_sheet_part

if TYPE_CHECKING:
    from grammask.composition import Part

__all__ = ["html_page_part"]

_PHRASING = (
    "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "i", "ins", "kbd", "label", "mark",
    "meter", "output", "progress", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var",
)  # fmt: skip
"""Elements of text in text."""
_LINKS = ("a", "button")
"""Elements of text that do not contain each other."""
_VOID = ("br", "img", "input", "wbr")
"""Elements in text without an end tag."""
_OF_TEXT = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre", "summary", "legend")
"""Elements with text."""
_BLOCKS = (
    "address", "article", "aside", "blockquote", "details", "dialog", "div", "fieldset", "figcaption", "figure",
    "footer", "header", "hgroup", "main", "menu", "nav", "search", "section",
)  # fmt: skip
"""Elements with blocks and text."""
_ATTRIBUTES = (
    "accept", "action", "alt", "aria-checked", "aria-controls", "aria-current", "aria-describedby",
    "aria-expanded", "aria-hidden", "aria-label", "aria-labelledby", "aria-live", "aria-selected", "autocomplete",
    "charset", "cite", "class", "cols", "colspan", "content", "data-id", "data-index", "data-name", "data-state",
    "data-target", "data-type", "data-value", "datetime", "dir", "draggable", "enctype", "for", "form", "headers",
    "height", "href", "hreflang", "id", "inputmode", "itemprop", "lang", "list", "loading", "max", "maxlength",
    "media", "method", "min", "minlength", "name", "pattern", "placeholder", "rel", "role", "rows", "rowspan",
    "scope", "size", "sizes", "span", "src", "srcset", "start", "step", "style", "tabindex", "target", "title",
    "translate", "type", "value", "width",
)  # fmt: skip
"""Attributes with a value."""
_FLAGS = (
    "async", "autofocus", "checked", "defer", "disabled", "hidden", "multiple", "novalidate", "open", "readonly",
    "required", "reversed", "selected",
)  # fmt: skip
"""Attributes that may have no value."""

_CHARACTER = r"\t\n\f\x20-\x7e\u{a0}-\u{fdcf}\u{fdf0}-\u{fffd}\u{10000}-\u{1fffd}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}"
"""Characters of HTML: no control characters, and no code points that are no characters."""
_NAMED = (
    "amp|lt|gt|quot|apos|nbsp|copy|reg|trade|hellip|mdash|ndash|lsquo|rsquo|ldquo|rdquo|laquo|raquo|bull|middot|times|"
    "divide|larr|rarr|uarr|darr|euro|pound|yen|cent|deg|plusmn|sect|para|shy|zwj|zwnj|infin|ne|le|ge"
)
_REFERENCE = (
    rf"&(?:{_NAMED}|#(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6]|1[6-9][0-9]|[2-9][0-9]{{2}}|[1-9][0-9]{{3}}|[1-4][0-9]{{4}}"
    r"|12[89][0-9]{3}));"
)
"""References by name, and by the decimal numbers 32 to 126, 160 to 49999 and 128000 to 129999."""
_SPACE = r"[ \t\n\f]"


def _sequence(*parts: Part | str) -> Part:
    return composition.sequence(
        composition.literal(part) if isinstance(part, str) else part for part in parts
    )


def _many(*parts: Part) -> Part:
    return composition.repeat(composition.choice(parts), 0, None)


def _optional(part: Part) -> Part:
    return composition.repeat(part, 0, 1)


def _rule(name: str) -> Part:
    return composition.reference(f"html_{name}")


def _element(name: str, content: Part) -> Part:
    return _sequence(f"<{name}", _rule("attributes"), ">", content, f"</{name}>")


def _void(name: str) -> Part:
    return _sequence(f"<{name}", _rule("attributes"), composition.difference(rf"(?:{_SPACE}*/)?>"))


@cache
def html_page_part() -> Part:
    """Returns the part of the pages."""
    return composition.rules({f"html_{name}": part for name, part in _rules().items()}, "html_page")


def _rules() -> dict[str, Part]:
    comment = composition.difference(
        rf"<!--[{_CHARACTER}]*-->",
        [r"<!---?>(?s:.)*", r"<!--(?s:.)*(?:--!?>|<!--)(?s:.)+", r"(?s:.)*<!--->"],
    )
    space = composition.difference(rf"{_SPACE}*")
    gap = _sequence(space, _many(_sequence(comment, space)))
    letters = composition.difference(rf"(?:[{_CHARACTER}--<&]|{_REFERENCE})+")
    text = composition.choice([letters, comment])
    void = [_void(name) for name in _VOID]
    phrasing = [
        *void,
        _rule("select"),
        _element("textarea", composition.repeat(letters, 0, 1)),
        _rule("script"),
    ]
    links = [_element(name, _rule("words")) for name in _LINKS]
    return {
        "page": _sequence(
            composition.difference(r"(?i:<!doctype html>)"),
            gap,
            _element("html", _sequence(gap, _rule("head"), gap, _element("body", _rule("flow")), gap)),
            gap,
        ),
        "head": _head(gap, letters),
        "attributes": _attributes(),
        "script": _script(),
        "style": _sequence("<style>", style_sheet_part(), "</style>"),
        "select": _element(
            "select",
            _sequence(
                gap,
                _many(
                    _sequence(_rule("option"), gap),
                    _sequence(
                        _element("optgroup", _sequence(gap, _many(_sequence(_rule("option"), gap)))), gap
                    ),
                ),
            ),
        ),
        "option": _element("option", _optional(letters)),
        # Text without links and buttons, and with them.
        "words": _many(text, *phrasing, *(_element(name, _rule("words")) for name in _PHRASING)),
        "phrases": _many(text, *phrasing, *links, *(_element(name, _rule("phrases")) for name in _PHRASING)),
        **_flow("flow", text, gap, [*phrasing, *links, _element("form", _rule("flow_in_form"))]),
        **_flow("flow_in_form", text, gap, [*phrasing, *links]),
    }


def _flow(name: str, text: Part, gap: Part, others: list[Part]) -> dict[str, Part]:
    """Returns the rules of blocks and text: ``name``, and those of its lists and tables."""
    inside = _rule(name)

    def listed(*elements: str) -> Part:
        return _sequence(gap, _many(*(_sequence(_element(element, inside), gap) for element in elements)))

    def several(element: str, content: Part) -> Part:
        return _sequence(_element(element, content), gap)

    rows = _rule(f"{name}_rows")
    table = _sequence(
        gap,
        _optional(several("caption", inside)),
        _many(several("colgroup", _sequence(gap, _many(_sequence(_void("col"), gap))))),
        _optional(several("thead", rows)),
        _many(several("tbody", rows)),
        _optional(several("tfoot", rows)),
    )
    return {
        name: _many(
            text,
            *others,
            *(_element(element, _rule("phrases")) for element in (*_PHRASING, *_OF_TEXT)),
            *(_element(element, inside) for element in _BLOCKS),
            _void("hr"),
            *(_element(element, listed("li")) for element in ("ol", "ul")),
            _element("dl", listed("dt", "dd")),
            _element("table", table),
            _rule("style"),
        ),
        f"{name}_rows": _sequence(gap, _many(several("tr", listed("td", "th")))),
    }


def _head(gap: Part, letters: Part) -> Part:
    others = _many(
        *(_sequence(_void(name), gap) for name in ("base", "link", "meta")),
        _sequence(_rule("style"), gap),
        _sequence(_rule("script"), gap),
    )
    return _element("head", _sequence(gap, others, _element("title", _optional(letters)), gap, others))


def _attributes() -> Part:
    """Returns the part of the attributes of a tag, each at most once."""
    value = composition.difference(
        rf'"(?:[{_CHARACTER}--&"]|{_REFERENCE})*"' + rf"|'(?:[{_CHARACTER}--&']|{_REFERENCE})*'"
    )
    space = composition.difference(rf"{_SPACE}+")
    attributes = [
        *(_sequence(f"{name}=", value) for name in _ATTRIBUTES),
        *(composition.difference(rf'{name}(?:="(?:{name})?")?') for name in _FLAGS),
    ]
    chosen = composition.selection(attributes, required=(), separator=space)
    end = composition.difference(rf"{_SPACE}*")
    return composition.choice([end, _sequence(space, chosen, end)])


def _script() -> Part:
    """Returns the part of the scripts: code in the page, or the address of one."""
    code = code_without_pattern(bundled_source("javascript", "file", None), "</(?i:script)|<!--")
    space = composition.difference(rf"{_SPACE}+")
    return composition.choice(
        [
            _sequence("<script", _optional(_sequence(space, 'type="module"')), ">", code, "</script>"),
            _sequence("<script", _rule("attributes"), "></script>"),
        ]
    )
