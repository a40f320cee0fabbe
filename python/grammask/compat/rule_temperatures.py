"""The temperature at a position of a text, from the rules that have the option ``temperature`` in a grammar.

Masks do not depend on temperatures, so the matcher of grammask has none. A rule with a temperature contains a rule
whose name ends with ``[temperature=x]``, and the parser for captures finds which of these the next token can belong
to.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from grammask import _grammask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.grammar import Grammar
    from grammask.vocabulary import Vocabulary

__all__ = ["RuleTemperatures", "TemperatureReader"]

_NAME = re.compile(r".*\[temperature=(?P<value>[^\]]*)\](?:\.[0-9]+)?", re.DOTALL)
"""A composition adds a number to a name that it has already."""


class RuleTemperatures:
    """Finds the temperatures of texts of one grammar. Immutable.

    Args:
        grammar: The grammar of grammask.
        vocabulary: The vocabulary of the tokens.

    Raises:
        GrammarError: As on compiling.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        core = grammar._core  # noqa: SLF001 - within the package
        self._values: list[float | None] = []
        self._parser: _grammask.Parser | None = None
        if isinstance(core, _grammask.LexedGrammar):
            return
        names = [name for name in dict.fromkeys(core.rule_names) if _NAME.fullmatch(name)]
        texts = [match["value"] for name in names if (match := _NAME.fullmatch(name))]
        self._values = [None if text == "default" else float(text) for text in texts]
        if any(value is not None for value in self._values):
            self._parser = _grammask.Parser(core, names, None, vocabulary)

    def reader(self) -> TemperatureReader | None:
        """Returns a reader at the beginning of a text; None if no rule has a temperature."""
        return None if self._parser is None else TemperatureReader(self._parser, self._values)


class TemperatureReader:
    """Follows one text.

    Args:
        parser: The parser of the rules.
        values: The temperature of each rule; None for text that is outside of all rules.
    """

    def __init__(self, parser: _grammask.Parser, values: Sequence[float | None]) -> None:
        self._parser = parser
        self._values = values
        self._parse = parser.parse()
        self._count = 0
        self._has_warned = False

    def forked(self) -> TemperatureReader:
        """Returns an independent reader of the same text."""
        other = object.__new__(TemperatureReader)
        vars(other).update(vars(self), _parse=self._parse.fork())
        return other

    def roll_back(self, count: int) -> None:
        """Forgets the text if more than ``count`` steps of it were read."""
        if self._count > count:
            self._parse, self._count = self._parser.parse(), 0

    def temperature(self, steps: Sequence[int | bytes]) -> float | None:
        """Returns the highest temperature of the innermost rules that the next token can belong to.

        The cost is that of parsing the steps since the last call. Different temperatures give one warning per text.

        Args:
            steps: The text, as tokens and bytes; it begins with the steps of the last call.

        Raises:
            LimitExceeded: A limit was exceeded.
        """
        for step in steps[self._count :]:
            if isinstance(step, bytes):
                self._parse.feed(step)
            else:
                self._parse.feed_tokens([step])
        self._count = len(steps)
        open_values = [self._values[part] for part in self._parse.open_parts()]
        values = {value for value in open_values if value is not None}
        if len(values) > 1 and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                "Multiple active grammar paths specify different temperatures. "
                f"Using the maximum temperature {max(values)}.",
                RuntimeWarning,
                stacklevel=3,
            )
        return max(values, default=None)
