"""Spans of OpenTelemetry for traces: one for the text, and a child for each token.

Needs the package ``opentelemetry-api``; without an SDK its spans are dropped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from grammask.trace import Trace, TraceStep

__all__ = ["record_spans"]


@named_keywords
def record_spans(trace: Trace, *, tracer: Any = None, name: str = "grammask.text") -> None:
    """Records a trace as spans. The spans of tokens begin when their masks were requested.

    Args:
        trace: The trace of a text, finished or not.
        tracer: A tracer of OpenTelemetry; that of the global provider by default.
        name: The name of the span of the text; those of tokens are ``grammask.token``.

    Raises:
        ImportError: ``opentelemetry-api`` is not installed.

    Cost: one span per token.
    """
    from opentelemetry import trace as api

    if tracer is None:
        tracer = api.get_tracer("grammask")
    if not trace.steps:
        return
    begins = [step.time_ns - int(step.mask_seconds * 1e9) for step in trace.steps]
    ends = [*begins[1:], trace.steps[-1].time_ns]
    summary = trace.to_json()["summary"]
    whole = tracer.start_span(
        name, start_time=begins[0], attributes={f"grammask.{key}": value for key, value in summary.items()}
    )
    context = api.set_span_in_context(whole)
    for step, begin, end in zip(trace.steps, begins, ends, strict=True):
        span = tracer.start_span(
            "grammask.token", context=context, start_time=begin, attributes=_attributes(step)
        )
        span.end(max(begin, end))
    whole.end(max(begins[0], ends[-1]))


def _attributes(step: TraceStep) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "grammask.text": step.text.decode("utf-8", "replace"),
        "grammask.allowed": step.allowed,
        "grammask.forced": step.is_forced,
        "grammask.mask_seconds": step.mask_seconds,
        "grammask.rules": list(step.rules),
    }
    # Attributes have no null, and NaN is refused by some exporters.
    if step.token is not None:
        attributes["grammask.token"] = step.token
    if step.preferred is not None:
        attributes["grammask.preferred"] = step.preferred
    if not math.isnan(step.mass):
        attributes["grammask.mass"] = step.mass
    return attributes
