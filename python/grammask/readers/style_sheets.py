"""Style sheets in CSS: rules with selectors and declarations, and the at-rules in use.

The grammar is that of CSS Syntax Module Level 3 with the selectors of Selectors Level 4, without nested rules. Names of
properties, units and functions are not checked, and values are lists of components with balanced brackets. No sheet
contains ``</``, so it can be the text of an element.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from grammask import composition

if TYPE_CHECKING:
    from grammask.composition import Part

__all__ = ["style_sheet_part"]

_HTML_END = r"(?s:.)*</(?s:.)*"

_NAME_START = r"(?:[A-Za-z_\u{A0}-\u{D7FF}\u{E000}-\u{FDCF}\u{FDF0}-\u{FFFD}]|\\[^\n\f\x00-\x1f0-9a-fA-F])"
_NAME = rf"(?:{_NAME_START}|[0-9-])"
_IDENTIFIER = rf"(?:--{_NAME}*|-?{_NAME_START}{_NAME}*)"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_STRING = r"\"(?:[^\"\\\n\r\f\x00]|\\[^\r\x00])*\"|'(?:[^'\\\n\r\f\x00]|\\[^\r\x00])*'"
_SPACE = r"(?:[ \t\n\f]|/\*(?:[^*\x00\r]|\*+[^*/\x00\r])*\*+/)"


def _terminal(pattern: str) -> Part:
    return composition.difference(pattern, [_HTML_END])


def _sequence(*parts: Part | str) -> Part:
    return composition.sequence(
        composition.literal(part) if isinstance(part, str) else part for part in parts
    )


def _optional(part: Part) -> Part:
    return composition.repeat(part, 0, 1)


def _many(part: Part) -> Part:
    return composition.repeat(part, 0, None)


@cache
def style_sheet_part() -> Part:
    """Returns the part of the style sheets."""
    space = _terminal(f"{_SPACE}*")
    some_space = _terminal(f"{_SPACE}+")
    identifier = _terminal(_IDENTIFIER)
    string = _terminal(_STRING)
    # Without quotes, the text of `url(` is one token of its own.
    url = _terminal(
        r"[uU][rR][lL]\([ \t\n\f]*(?:(?:[^\"'()\\\x00-\x20\x7f]|\\[^\n\f\r\x00])*"
        rf"|{_STRING})[ \t\n\f]*\)"
    )
    function_name = composition.difference(_IDENTIFIER, [_HTML_END, "[uU][rR][lL]"])

    def listed(one: Part) -> Part:
        return _sequence(one, _many(_sequence(space, ",", space, one)))

    # Components of values.
    value = composition.reference("css_value")
    arguments = composition.reference("css_arguments")
    function = _sequence(function_name, "(", arguments, ")")
    brackets = composition.choice([_sequence("(", arguments, ")"), _sequence("[", arguments, "]")])
    component = composition.choice(
        [
            _terminal(rf"{_IDENTIFIER}|{_NUMBER}(?:%|{_IDENTIFIER})?|#{_NAME}+|{_STRING}"),
            url,
            function,
            brackets,
        ]
    )
    operator = _terminal(rf"{_SPACE}*[,/*]{_SPACE}*|{_SPACE}+[+-]{_SPACE}+|{_SPACE}+")
    query_operator = _terminal(rf"{_SPACE}*(?:[,/*:=]|[<>]=?){_SPACE}*|{_SPACE}+[+-]{_SPACE}+|{_SPACE}+")

    # Selectors.
    attribute = _sequence(
        "[",
        space,
        identifier,
        _optional(
            _sequence(
                _terminal(rf"{_SPACE}*[~|^$*]?={_SPACE}*"),
                composition.choice([identifier, string]),
                _optional(_terminal(rf"{_SPACE}+[iIsS]")),
            )
        ),
        space,
        "]",
    )
    selectors = composition.reference("css_selectors")
    nth = _terminal(rf"(?i:odd|even)|[+-]?[0-9]+|[+-]?[0-9]*[nN](?:{_SPACE}*[+-]{_SPACE}*[0-9]+)?")
    pseudo = composition.choice(
        [
            _terminal(rf"::?{_IDENTIFIER}"),
            _sequence(
                _terminal(r":(?i:is|where|not|has|host|host-context|slotted|cue)\("),
                space,
                selectors,
                space,
                ")",
            ),
            _sequence(
                _terminal(r":(?i:nth-child|nth-last-child|nth-of-type|nth-last-of-type)\("),
                space,
                nth,
                space,
                ")",
            ),
            _sequence(
                _terminal(r":(?i:lang|dir)\("),
                space,
                listed(composition.choice([identifier, string])),
                space,
                ")",
            ),
        ]
    )
    qualified = composition.choice([_terminal(rf"#{_NAME}+|\.{_IDENTIFIER}"), attribute, pseudo])
    compound = composition.choice(
        [
            _sequence(_terminal(rf"{_IDENTIFIER}|\*|&"), _many(qualified)),
            composition.repeat(qualified, 1, None),
        ]
    )
    combinator = _terminal(rf"{_SPACE}*[>+~]{_SPACE}*|{_SPACE}+")
    selector = _sequence(
        _optional(_terminal(rf"[>+~]{_SPACE}*")), compound, _many(_sequence(combinator, compound))
    )

    # Declarations and rules.
    declaration = _sequence(
        identifier,
        space,
        ":",
        space,
        value,
        _optional(_terminal(rf"{_SPACE}*!{_SPACE}*(?i:important)")),
    )
    declarations = _sequence(
        "{",
        space,
        _many(_sequence(_optional(_sequence(declaration, space)), ";", space)),
        _optional(_sequence(declaration, space)),
        "}",
    )
    style_rule = _sequence(composition.reference("css_selectors"), space, declarations)
    rule_list = composition.reference("css_rules")
    prelude = composition.reference("css_prelude")
    frame_selector = _terminal(r"(?i:from|to)|[0-9]+(?:\.[0-9]+)?%")
    frame = _sequence(listed(frame_selector), space, declarations, space)
    at_rule = composition.choice(
        [
            _sequence(
                _terminal(r"@(?i:media|supports|container|layer|starting-style)"),
                _optional(_sequence(some_space, prelude)),
                space,
                "{",
                rule_list,
                "}",
            ),
            _sequence(
                _terminal(r"@(?i:-webkit-|-moz-)?(?i:keyframes)"),
                some_space,
                composition.choice([identifier, string]),
                space,
                "{",
                space,
                _many(frame),
                "}",
            ),
            _sequence(
                _terminal(r"@(?i:font-face|page|property|counter-style|font-feature-values|view-transition)"),
                _optional(_sequence(some_space, prelude)),
                space,
                declarations,
            ),
            _sequence(_terminal(r"@(?i:import|namespace|layer)"), some_space, prelude, space, ";"),
        ]
    )
    rules = {
        "css_value": _sequence(component, _many(_sequence(_optional(operator), component))),
        "css_arguments": _sequence(
            space,
            _optional(_sequence(component, _many(_sequence(_optional(query_operator), component)), space)),
        ),
        "css_prelude": _sequence(component, _many(_sequence(_optional(query_operator), component))),
        "css_selectors": listed(selector),
        "css_rules": _sequence(space, _many(_sequence(composition.choice([style_rule, at_rule]), space))),
    }
    return composition.rules(rules, "css_rules")
