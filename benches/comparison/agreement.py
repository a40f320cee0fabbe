"""Compares the masks of the engines bit for bit, with a verdict token by token where they differ.

:meth:`grammask.Matcher.accept` gives the verdict: it steps the recogniser over the bytes of a token and uses no mask.
It also verifies the masks of grammask over the whole vocabulary in a few places. It is not an independent oracle; the
textbook recogniser in the tests of the engine is, and so are peers that agree bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grammask
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from comparison.cases import Case
    from comparison.measurement import Measurement
    from comparison.vocabularies import TokenTable

_JUDGED_IN_FULL = 4
"""Number of places per case at which all tokens of the vocabulary are tried."""
_JUDGED_TOKENS = 2000
"""Maximum number of differing tokens that are tried per place."""
_EXAMPLES = 5


@dataclass
class Verdict:
    """The result of comparing the sampled masks of one engine on one case."""

    compared: int = 0
    equal: int = 0
    wrongly_allowed: int = 0
    """Number of tried tokens that its masks allow but that cannot come next."""
    wrongly_refused: int = 0
    """Number of tried tokens that its masks exclude but that can come next."""
    examples: list[str] = field(default_factory=list)

    @property
    def differing(self) -> int:
        """Number of masks that differ from the reference."""
        return self.compared - self.equal


def judge(
    case: Case, table: TokenTable, documents: list[list[int]], measured: dict[str, Measurement]
) -> dict[str, Verdict]:
    """Return the verdict for each engine. The masks of grammask are the reference, and are verified themselves."""
    verdicts = {name: Verdict() for name, measurement in measured.items() if measurement.masks()}
    if "grammask" not in verdicts:
        return verdicts
    reference = measured["grammask"].masks()
    others = {name: measured[name].masks() for name in verdicts if name != "grammask"}
    ignored = {name: measured[name].facts["ignored"] for name in others}
    judge_ = _Judge(case, table, documents)
    full = set(list(reference)[:: max(1, len(reference) // _JUDGED_IN_FULL)])
    for place in sorted(reference):
        bits = _bits(reference[place], table.size)
        if place in full:
            _give(verdicts["grammask"], judge_, place, bits, range(table.size))
        for name, masks in others.items():
            if place not in masks:
                continue
            theirs = _bits(masks[place], table.size)
            differing = np.flatnonzero(bits != theirs)
            differing = differing[~np.isin(differing, ignored[name])]
            _give(verdicts[name], judge_, place, theirs, differing[:_JUDGED_TOKENS].tolist())
            _blame_reference(verdicts["grammask"], judge_, place, bits, differing[:_JUDGED_TOKENS].tolist())
    return verdicts


class _Judge:
    """Decides whether a token can come next at a place of a document."""

    def __init__(self, case: Case, table: TokenTable, documents: list[list[int]]) -> None:
        vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
        self._compiled = grammask.Grammar.from_kbnf(case.grammars["kbnf"]).compile(vocabulary)
        self._documents = documents
        self._table = table
        self._place = (-1, 0)
        self._matcher = self._compiled.matcher()

    def can_come(self, place: tuple[int, int], token: int) -> bool:
        """Try a token and roll back. Places must be queried in ascending order."""
        document, position = place
        if document != self._place[0]:
            self._matcher = self._compiled.matcher()
            self._place = (document, 0)
        for read in self._documents[document][self._place[1] : position]:
            self._matcher.accept(read)
        self._place = place
        accepted = self._matcher.accept(token)
        if accepted:
            self._matcher.rollback()
        return accepted

    def describe(self, place: tuple[int, int], token: int) -> str:
        """Return a readable description of a token and its place."""
        document, position = place
        before = b"".join(
            self._table.tokens[id] or b""
            for id in self._documents[document][max(0, position - 12) : position]
        )
        texts = dict(enumerate(self._table.tokens)) | {self._table.eos: "end of text"}
        text = repr(texts.get(token, f"id {token} without text"))
        return f"{text} after {before[-40:]!r} (document {document}, token {position})"


def _give(
    verdict: Verdict, judge_: _Judge, place: tuple[int, int], bits: npt.NDArray[np.bool_], tokens: Any
) -> None:
    """Count a compared mask and its errors at some tokens."""
    wrong = 0
    verdict.compared += 1
    for token in tokens:
        wrong += _count(verdict, judge_, place, bits, token)
    verdict.equal += not len(tokens) or (not wrong and len(tokens) == len(bits))


def _blame_reference(
    verdict: Verdict, judge_: _Judge, place: tuple[int, int], bits: npt.NDArray[np.bool_], tokens: list[int]
) -> None:
    """Count errors of the reference where another mask differs from it."""
    for token in tokens:
        _count(verdict, judge_, place, bits, token)


def _count(
    verdict: Verdict, judge_: _Judge, place: tuple[int, int], bits: npt.NDArray[np.bool_], token: int
) -> bool:
    allowed, can_come = bool(bits[token]), judge_.can_come(place, token)
    if allowed == can_come:
        return False
    if allowed:
        verdict.wrongly_allowed += 1
    else:
        verdict.wrongly_refused += 1
    if len(verdict.examples) < _EXAMPLES:
        verdict.examples.append(("allows " if allowed else "refuses ") + judge_.describe(place, token))
    return True


def _bits(row: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)
