"""Captures of rules: the texts of the rules that have the option ``capture`` in a grammar.

Masks do not depend on captures, so the matcher of grammask records none. The steps of a text are parsed again when its
captures are asked for, at a cost linear in the text for typical grammars.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from grammask import _grammask
from grammask.llguidance_grammars import (
    CapturedRule,
    CapturesUnavailable,
    LlguidanceLarkSource,
    llguidance_grammar,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.grammar import Grammar
    from grammask.vocabulary import Vocabulary

__all__ = ["CapturesUnavailable", "RuleCaptures", "captured_rules"]

_Capture: TypeAlias = "tuple[int, int, int, bool, int | None]"
"""As of :class:`grammask._grammask.Parse`."""

_RULE_WITH_OPTIONS = re.compile(
    r"""^[ \t]*[?!]?(?P<rule>[A-Za-z_][\w.-]*)[ \t]*\[(?P<options>(?:[^\]"]|"(?:[^"\\]|\\.)*")*)\][ \t]*(?:::=|:)""",
    re.MULTILINE,
)
_CAPTURE = re.compile(r'(?:^|,)\s*capture\s*(?:=\s*"(?P<name>[^"]*)"\s*)?(?=,|$)')
_HIDDEN = re.compile(r"(?:^|,)\s*(?:stop|suffix|stop_capture|capture_hidden_\w+)\s*=")
"""Options by which captures of a rule, or of those around it, lack a part of its text."""


def captured_rules(text: str) -> list[CapturedRule]:
    """Returns the rules with captures of a grammar in Lark or EBNF.

    Raises:
        CapturesUnavailable: There are captures, and rules with `stop` or `suffix`, whose texts are not in all captures.
    """
    rules: list[CapturedRule] = []
    hiding = None
    for match in _RULE_WITH_OPTIONS.finditer(text):
        if _HIDDEN.search(match["options"]):
            hiding = match["rule"]
        capture = _CAPTURE.search(match["options"])
        if capture is not None:
            name = match["rule"] if capture["name"] is None else capture["name"]
            rules.append(CapturedRule(match["rule"], name))
    if hiding is not None and (rules or "capture" in text):
        msg = f"captures together with the stop or suffix of the rule {hiding} are not supported"
        raise CapturesUnavailable(msg)
    return rules


class RuleCaptures:
    """Finds the captures in texts of one grammar. Immutable.

    Args:
        grammar: The grammar of grammask.
        rules: The rules that are captured, or whose ends are hidden in captures.
        vocabulary: The vocabulary of the tokens.

    Raises:
        CapturesUnavailable: The grammar has a lexer, or is not in Lark and has captures in rules with ``max_tokens``.
        GrammarError: As on compiling.
    """

    def __init__(self, grammar: Grammar, rules: Sequence[CapturedRule], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        core = grammar._core  # noqa: SLF001 - within the package
        source = grammar._source  # noqa: SLF001
        if any(rule.max_tokens is not None for rule in rules):
            if not isinstance(source, LlguidanceLarkSource):
                msg = "captures in rules with max_tokens are supported in Lark only"
                raise CapturesUnavailable(msg)
            core = llguidance_grammar(
                source.text,
                source.limits,
                dict(source.named),
                keeps_stops=source.keeps_stops,
                limits_rules=False,
            )
        if isinstance(core, _grammask.LexedGrammar):
            msg = "captures of grammars with a lexer are not supported"
            raise CapturesUnavailable(msg)
        parts = [(name, rule) for rule in rules for name in _names(core, rule)]
        self._rules = [rule for _, rule in parts]
        self._endings = [
            None if rule.ending is None else _grammask.Parser(rule.ending, ["body", "end"])
            for rule in self._rules
        ]
        names = [name for name, _ in parts]
        self._parser = _grammask.Parser(core, names, None, vocabulary) if names else None

    def of(self, steps: Sequence[int | bytes]) -> list[tuple[str, bytes]]:
        """Returns the captures that have ended, by their ends, inner ones first.

        Args:
            steps: The text, as tokens and bytes. Tokens without text, such as special tokens, add no bytes.

        Raises:
            LimitExceeded: A limit was exceeded.
            CapturesUnavailable: The parse of the text exceeds the ``max_tokens`` of a rule that has captures in it.
        """
        if self._parser is None:
            return []
        parse = self._parser.parse()
        text = b""
        tokens: list[tuple[int, int]] = []
        for step in steps:
            begin = len(text)
            text += self._feed(parse, step)
            tokens.append((begin, len(text)))
        captures = parse.whole() if parse.is_complete else parse.growing()
        ended = [(part, start, end) for part, start, end, has_ended, _ in _inner_first(captures) if has_ended]
        self._check_maxima(ended, tokens)
        ends = {span: self._end_of(text, *span) for span in ended}
        in_all = [end for span, end in ends.items() if self._rules[span[0]].hidden_in == "all"]
        found: list[tuple[int, str, bytes]] = []
        for span, own in ends.items():
            part, start, end = span
            rule = self._rules[part]
            if own is not None and rule.end_capture is not None:
                found.append((own[1], rule.end_capture, text[slice(*own)]))
            if rule.capture is not None:
                hidden = [
                    one for one in [*in_all, own] if one is not None and start <= one[0] and one[1] <= end
                ]
                found.append((end, rule.capture, _without(text, start, end, sorted({*hidden}))))
        found.sort(key=lambda capture: capture[0])
        return [capture[1:] for capture in found]

    def candidates(self, steps: Sequence[int | bytes]) -> list[tuple[str, bytes]]:
        """Returns the captures of all texts at whose ends a rule may have ended, by these ends, inner ones first.

        Whether it has depends on what follows. Each text of a rule occurs once, whatever its derivations.

        Args:
            steps: As for :meth:`of`.

        Raises:
            LimitExceeded: A limit was exceeded.
            CapturesUnavailable: A rule has a stop, a suffix, or captures in it and ``max_tokens``.
        """
        for rule in self._rules:
            if rule.ending is not None or rule.max_tokens is not None:
                msg = f"candidates for the ends of captures depend on the options of the rule {rule.name}"
                raise CapturesUnavailable(msg)
        if self._parser is None:
            return []
        parse = self._parser.parse()
        text = b""
        found: list[tuple[str, bytes]] = []

        def record(prefix: _grammask.Parse, read: bytes) -> None:
            for part, start in prefix.ended_parts():
                name = self._rules[part].capture
                if name is not None:
                    found.append((name, read[start:]))

        for step in steps:
            if not isinstance(step, bytes) and step in self._vocabulary.eos:
                continue
            before = parse.fork()
            added = self._feed(parse, step)
            for length in range(1, len(added)):
                prefix = before.fork()
                # A token that the grammar names has no bytes in between.
                if prefix.feed(added[:length]) == length:
                    record(prefix, text + added[:length])
            text += added
            if step != b"":
                record(parse, text)
        return found

    def _feed(self, parse: _grammask.Parse, step: int | bytes) -> bytes:
        """Reads a step, and returns its bytes."""
        if isinstance(step, bytes):
            parse.feed(step)
            return step
        if step in self._vocabulary.eos:
            return b""
        parse.feed_tokens([step])
        return self._vocabulary.token(step) or b""

    def _check_maxima(self, spans: Sequence[tuple[int, int, int]], tokens: Sequence[tuple[int, int]]) -> None:
        """Refuses a parse that exceeds a maximum of tokens; only another parse of the text keeps it."""
        for part, start, end in spans:
            rule = self._rules[part]
            if rule.max_tokens is None:
                continue
            count = sum(start < last and first < end for first, last in tokens)
            if count > rule.max_tokens:
                msg = (
                    f"captures in the rule {rule.name} depend on its max_tokens: the text has several parses"
                )
                raise CapturesUnavailable(msg)

    def _end_of(self, text: bytes, part: int, start: int, end: int) -> tuple[int, int] | None:
        """Returns the span of the stop or suffix of a rule; None for a rule without one."""
        parser = self._endings[part]
        if parser is None:
            return None
        parse = parser.parse()
        parse.feed(text[start:end])
        spans = {number: (start + first, start + last) for number, first, last, _, _ in parse.whole() or []}
        return spans.get(1)


def _names(grammar: _grammask.Grammar, rule: CapturedRule) -> list[str]:
    """Returns the names of a rule in a grammar: those of its copies for each context, or its own."""
    marked = re.compile(re.escape(rule.name) + r"\[capture\](?:\.[0-9]+)?")
    return [name for name in grammar.rule_names if marked.fullmatch(name)] or [rule.name]


def _inner_first(captures: Sequence[_Capture] | None) -> list[_Capture]:
    """Returns nested captures, which are in the order of their starts, in the order of their ends: a post-order."""
    ordered: list[_Capture] = []
    open_ones: list[tuple[int, _Capture]] = []
    for place, capture in enumerate(captures or []):
        while open_ones and open_ones[-1][0] != capture[4]:
            ordered.append(open_ones.pop()[1])
        open_ones.append((place, capture))
    return ordered + [capture for _, capture in reversed(open_ones)]


def _without(text: bytes, start: int, end: int, hidden: Sequence[tuple[int, int]]) -> bytes:
    """Returns a part of a text without the hidden spans in it, which are sorted."""
    kept = b""
    for first, last in hidden:
        kept += text[start:first]
        start = max(start, last)
    return kept + text[start:end]
