"""Captures of rules: the texts of the rules that have the option ``capture`` in a grammar.

Masks do not depend on captures, so the matcher of grammask records none. The steps of a text are parsed again when its
captures are asked for, at a cost linear in the text for typical grammars.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grammask import _grammask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.grammar import Grammar
    from grammask.vocabulary import Vocabulary

__all__ = ["CapturesUnavailable", "RuleCaptures", "captured_rules"]

_RULE_WITH_OPTIONS = re.compile(
    r"""^[ \t]*[?!]?(?P<rule>[A-Za-z_][\w.-]*)[ \t]*\[(?P<options>(?:[^\]"]|"(?:[^"\\]|\\.)*")*)\][ \t]*(?:::=|:)""",
    re.MULTILINE,
)
_CAPTURE = re.compile(r'(?:^|,)\s*capture\s*(?:=\s*"(?P<name>[^"]*)"\s*)?(?=,|$)')
_HIDDEN = re.compile(r"(?:^|,)\s*(?:stop|suffix|stop_capture|capture_hidden_\w+)\s*=")
"""Options by which captures of a rule, or of those around it, lack a part of its text."""


class CapturesUnavailable(ValueError):
    """The captures of a grammar cannot be determined."""


def captured_rules(text: str) -> dict[str, str]:
    """Returns the name of the capture of each rule with one, of a grammar in Lark or EBNF.

    Raises:
        CapturesUnavailable: There are captures, and rules with `stop` or `suffix`, whose texts are not in all captures.
    """
    rules: dict[str, str] = {}
    hiding = None
    for match in _RULE_WITH_OPTIONS.finditer(text):
        if _HIDDEN.search(match["options"]):
            hiding = match["rule"]
        capture = _CAPTURE.search(match["options"])
        if capture is not None:
            rules[match["rule"]] = match["rule"] if capture["name"] is None else capture["name"]
    if hiding is not None and (rules or "capture" in text):
        msg = f"captures together with the stop or suffix of the rule {hiding} are not supported"
        raise CapturesUnavailable(msg)
    return rules


class RuleCaptures:
    """Finds the captures in texts of one grammar. Immutable.

    Args:
        grammar: The grammar of grammask.
        rules: The name of the capture of each rule.
        vocabulary: The vocabulary of the tokens.

    Raises:
        CapturesUnavailable: The grammar has a lexer.
        GrammarError: As on compiling.
    """

    def __init__(self, grammar: Grammar, rules: dict[str, str], vocabulary: Vocabulary) -> None:
        self._names = list(rules.values())
        self._vocabulary = vocabulary
        core = grammar._core  # noqa: SLF001 - within the package
        if isinstance(core, _grammask.LexedGrammar):
            msg = "captures of grammars with a lexer are not supported"
            raise CapturesUnavailable(msg)
        self._parser = _grammask.Parser(core, list(rules), None, vocabulary) if rules else None

    @property
    def has_rules(self) -> bool:
        """Whether the grammar has captures."""
        return self._parser is not None

    def of(self, steps: Sequence[int | bytes]) -> list[tuple[str, bytes]]:
        """Returns the captures that have ended, by their ends, inner ones first.

        Args:
            steps: The text, as tokens and bytes. Tokens without text, such as special tokens, add no bytes.

        Raises:
            LimitExceeded: A limit was exceeded.
        """
        if self._parser is None:
            return []
        parse = self._parser.parse()
        text = b""
        for step in steps:
            if isinstance(step, bytes):
                parse.feed(step)
                text += step
            elif step not in self._vocabulary.eos:
                parse.feed_tokens([step])
                text += self._vocabulary.token(step) or b""
        captures = parse.whole() if parse.is_complete else parse.growing()
        ended = sorted(
            ((end, -start, part) for part, start, end, has_ended, _ in captures or [] if has_ended),
            key=lambda capture: capture[:2],
        )
        return [(self._names[part], text[-start:end]) for end, start, part in ended]
