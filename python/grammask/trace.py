"""A record of how a grammar steered a model: per token the probability that its mask left, and the preferred token.

A :class:`Trace` is filled by the code that samples, in two calls per token: :meth:`Trace.before` with the effect of the
mask, which :func:`grammask.apply_mask` measures in the same pass, and :meth:`Trace.after` with the sampled token.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from grammask._grammask import Matcher, Vocabulary

__all__ = ["Trace", "TraceStep"]

MAX_RULES = 8
"""Maximum number of active rules of a step."""
MAX_NOTEBOOK_STEPS = 400
"""Maximum number of steps in the representation for notebooks."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A token of a trace.

    Attributes:
        token: The id of the token; None if it is not known, as of the last step of a text that was cut off.
        text: Its bytes; empty for a token without text.
        mass: The probability of all legal tokens together before the mask, at temperature 1, from 0 to 1; NaN if the
            softmax is undefined.
        preferred: The id of the token with the largest logit before the mask; None if all logits are negative infinity.
        preferred_text: The bytes of that token.
        allowed: The number of legal tokens.
        mask_seconds: The time for the mask and for accepting the token before it.
        rules: The rules of the grammar in which the text is, the innermost parts that have begun first; at most 8.
        time_ns: The time of the mask, in nanoseconds since the epoch.
    """

    token: int | None
    text: bytes
    mass: float
    preferred: int | None
    preferred_text: bytes
    allowed: int
    mask_seconds: float
    rules: tuple[str, ...]
    time_ns: int

    @property
    def is_forced(self) -> bool:
        """Whether no other token was legal."""
        return self.allowed == 1

    @property
    def is_preferred(self) -> bool:
        """Whether the token is the one that the model preferred."""
        return self.token is not None and self.token == self.preferred

    def to_json(self) -> dict[str, Any]:
        """Returns the step as an object of JSON, without NaN: ``mass`` is null then."""
        return {
            "token": self.token,
            "text": self.text.decode("utf-8", "replace"),
            "mass": None if math.isnan(self.mass) else self.mass,
            "preferred": self.preferred,
            "preferred_text": self.preferred_text.decode("utf-8", "replace"),
            "forced": self.is_forced,
            "allowed": self.allowed,
            "mask_seconds": self.mask_seconds,
            "rules": list(self.rules),
        }


@named_keywords
@dataclass
class Trace:
    """The steps of one text. Not thread-safe.

    >>> import numpy as np
    >>> import grammask
    >>> vocabulary = grammask.Vocabulary([b"y", b"n", b"o", None], eos=3)
    >>> compiled = grammask.Grammar.from_kbnf('start ::= "y" | "no";').compile(vocabulary)
    >>> matcher, trace = compiled.matcher(), grammask.Trace(vocabulary)
    >>> logits, mass, preferred = np.zeros(4), np.empty(1), np.empty(1, np.int64)
    >>> mask = grammask.allocate_mask(1, vocabulary.size)[0]
    >>> matcher.fill_mask(mask)
    >>> _ = grammask.apply_mask(logits, mask, mass=mass, preferred=preferred)
    >>> trace.before(matcher, mass=mass[0], preferred=preferred[0], allowed=2)
    >>> matcher.accept(1)
    True
    >>> trace.after(1)
    >>> trace.steps[0].mass, trace.steps[0].is_forced, trace.steps[0].rules
    (0.5, False, ('start',))

    Attributes:
        vocabulary: The vocabulary of the tokens.
        steps: The steps so far.
    """

    vocabulary: Vocabulary
    steps: list[TraceStep] = field(default_factory=list)

    def before(
        self,
        matcher: Matcher | None,
        *,
        mass: float,
        preferred: int | None,
        allowed: int,
        mask_seconds: float = 0.0,
    ) -> None:
        """Begins the step of the next token.

        Args:
            matcher: The matcher of the text before the token; None for a text without a grammar.
            mass: The probability of the legal tokens, from ``apply_mask(..., mass=...)``.
            preferred: The token with the largest logit, from ``apply_mask(..., preferred=...)``; None or negative if
                there is none.
            allowed: The number of legal tokens.
            mask_seconds: The time for the mask.

        Raises:
            LimitExceeded: A limit of the grammar was exceeded.

        Cost: the names of the active rules, tens of microseconds in most states.
        """
        wanted = None if preferred is None or preferred < 0 else int(preferred)
        step = TraceStep(
            token=None,
            text=b"",
            mass=float(mass),
            preferred=wanted,
            preferred_text=self._text_of(wanted),
            allowed=int(allowed),
            mask_seconds=mask_seconds,
            rules=() if matcher is None else _active_rules(matcher),
            time_ns=time.time_ns(),
        )
        self.steps.append(step)

    def after(self, token: int) -> None:
        """Completes the latest step with its token. Has no effect if that step has one.

        Raises:
            ValueError: No step was begun.
        """
        if not self.steps:
            msg = "a step begins with before()"
            raise ValueError(msg)
        if self.steps[-1].token is None:
            self.steps[-1] = replace(self.steps[-1], token=int(token), text=self._text_of(token))

    def _text_of(self, token: int | None) -> bytes:
        return b"" if token is None or token >= self.vocabulary.size else self.vocabulary.token(token) or b""

    def __iter__(self) -> Iterator[TraceStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def text(self) -> bytes:
        """The text: the bytes of all tokens."""
        return b"".join(step.text for step in self.steps)

    @property
    def mean_surprise(self) -> float:
        """The mean of ``-log2(mass)`` over the steps, in bits per token: how much the grammar deviates from the model.

        0 without steps. Steps whose mass is 0 or NaN are left out.
        """
        masses = [step.mass for step in self.steps if step.mass > 0]
        return sum(-math.log2(mass) for mass in masses) / len(masses) if masses else 0.0

    def to_json(self) -> dict[str, Any]:
        """Returns the trace as an object of JSON: ``text``, ``summary`` and ``steps``."""
        return {
            "text": self.text.decode("utf-8", "replace"),
            "summary": {
                "tokens": len(self.steps),
                "forced": sum(step.is_forced for step in self.steps),
                "preferred": sum(step.is_preferred for step in self.steps),
                "mean_surprise_bits": self.mean_surprise,
                "mask_seconds": sum(step.mask_seconds for step in self.steps),
            },
            "steps": [step.to_json() for step in self.steps],
        }

    def to_html(self) -> str:
        """Returns a page of HTML that needs no other files: the text as tokens, the curve of the mass, and a table."""
        return _PAGE.format(style=_STYLE, body=self._body(self.steps), script=_SCRIPT)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace to a file: HTML if the name ends with ``.html``, else JSON.

        Raises:
            OSError: The file cannot be written.
        """
        from pathlib import Path

        target = Path(path)
        text = (
            self.to_html()
            if target.suffix in {".html", ".htm"}
            else json.dumps(self.to_json(), indent=1) + "\n"
        )
        target.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        shown = self.steps[:MAX_NOTEBOOK_STEPS]
        more = f"<p>… {len(self.steps) - len(shown)} more</p>" if len(shown) < len(self.steps) else ""
        return f'<style>{_STYLE}</style><div class="grammask-trace">{self._body(shown)}{more}</div>'

    def _body(self, steps: list[TraceStep]) -> str:
        forced = sum(step.is_forced for step in steps)
        preferred = sum(step.is_preferred for step in steps)
        summary = (
            f"{len(steps)} tokens, {forced} forced, {preferred} preferred by the model; "
            f"{self.mean_surprise:.3f} bits of surprise per token"
        )
        tokens = "".join(_token_span(number, step) for number, step in enumerate(steps))
        rows = "".join(_table_row(number, step) for number, step in enumerate(steps))
        head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
        return (
            f"<p>{summary}</p>{_curve(steps)}<pre>{tokens}</pre>"
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        )


def _active_rules(matcher: Matcher) -> tuple[str, ...]:
    rules = dict.fromkeys(expectation.rule for expectation in matcher.expected())
    return tuple(list(rules)[:MAX_RULES])


_COLUMNS = ("#", "token", "text", "mass left", "legal", "preferred", "mask", "rules")


def _shown(text: bytes) -> str:
    return escape(text.decode("utf-8", "replace")) or "·"


def _kind(step: TraceStep) -> str:
    if step.is_forced:
        return "forced"
    return "preferred" if step.is_preferred else "steered" if step.mass < 0.5 else "free"


def _percent(mass: float) -> str:
    if math.isnan(mass):
        return "?"
    return f"{mass:.1%}" if mass >= 0.001 else f"{mass:.1e}"


def _token_span(number: int, step: TraceStep) -> str:
    title = f"{number}: {step.allowed} legal, mass {_percent(step.mass)}"
    return (
        f'<span class="{_kind(step)}" data-step="{number}" title="{escape(title)}">{_shown(step.text)}</span>'
    )


def _table_row(number: int, step: TraceStep) -> str:
    preferred = "the token" if step.is_preferred else f"<code>{_shown(step.preferred_text)}</code>"
    legal = "forced" if step.is_forced else f"{step.allowed:,}"
    cells = (
        str(number),
        "" if step.token is None else str(step.token),
        f"<code>{_shown(step.text)}</code>",
        _percent(step.mass),
        legal,
        preferred,
        f"{step.mask_seconds * 1e6:,.1f} µs",
        escape(", ".join(step.rules)),
    )
    return (
        f'<tr class="{_kind(step)}" data-step="{number}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    )


def _curve(steps: list[TraceStep]) -> str:
    """Returns the curve of the mass as SVG, 4 px per token."""
    width, height = max(4 * len(steps), 40), 80
    known = [(4 * at + 2, step.mass) for at, step in enumerate(steps) if not math.isnan(step.mass)]
    points = " ".join(f"{x},{height - mass * (height - 4) - 2:.1f}" for x, mass in known)
    return (
        f'<div class="scroll"><svg role="img" aria-label="Probability mass that the mask left, per token" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<line x1="0" y1="2" x2="{width}" y2="2"/><line x1="0" y1="{height - 2}" x2="{width}" y2="{height - 2}"/>'
        f'<polyline points="{points}"/></svg></div>'
    )


_STYLE = """
.grammask-trace{--ink:#1f2933;--line:#52606d;--forced:#e4e7eb;--preferred:#e3f4e8;--free:#fff3d6;--steered:#fbdedb;\
color:var(--ink)}
@media(prefers-color-scheme:dark){.grammask-trace{--ink:#e4e7eb;--line:#9aa5b1;--forced:#323f4b;--preferred:#1d3b2a;\
--free:#4a3a12;--steered:#54211d}}
.grammask-trace pre{white-space:pre-wrap;line-height:1.7;font-size:14px}
.grammask-trace span.forced,.grammask-trace tr.forced td:first-child{background:var(--forced)}
.grammask-trace span.preferred,.grammask-trace tr.preferred td:first-child{background:var(--preferred)}
.grammask-trace span.free,.grammask-trace tr.free td:first-child{background:var(--free)}
.grammask-trace span.steered,.grammask-trace tr.steered td:first-child{background:var(--steered)}
.grammask-trace span{border-right:1px solid var(--line)}
.grammask-trace .chosen{outline:2px solid var(--line)}
.grammask-trace .scroll{overflow:auto;max-height:60vh}
.grammask-trace table{border-collapse:collapse;font-size:13px}
.grammask-trace td,.grammask-trace th{padding:2px 10px;text-align:left;border-bottom:1px solid var(--line)}
.grammask-trace svg line{stroke:var(--line);stroke-dasharray:2 4}
.grammask-trace svg polyline{fill:none;stroke:var(--ink);stroke-width:1.5}
"""

_SCRIPT = """
const steps = element => element.closest("[data-step]")?.dataset.step;
document.addEventListener("click", event => {
  const step = steps(event.target);
  if (step === undefined) return;
  for (const each of document.querySelectorAll(".chosen")) each.classList.remove("chosen");
  for (const each of document.querySelectorAll(`[data-step="${step}"]`)) {
    each.classList.add("chosen");
    if (each.localName !== event.target.localName) each.scrollIntoView({block: "nearest"});
  }
});
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Trace of a text under a grammar</title>
<style>body{{font-family:system-ui,sans-serif;margin:1.5rem}}{style}</style>
</head>
<body>
<main class="grammask-trace">
<h1>Trace</h1>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""
