"""The attributes of rules: their values, and errors in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from grammask.llguidance_grammars.rule_kinds import LEXEME_ATTRIBUTES
from grammask.llguidance_grammars.syntax import Node

if TYPE_CHECKING:
    from grammask import _grammask
    from grammask.llguidance_grammars.diagnostics import TextErrors
    from grammask.llguidance_grammars.syntax import Definition

__all__ = ["attribute_bound", "check_attributes", "is_temperature"]


def check_attributes(definition: Definition, errors: TextErrors, composition: _grammask.Composition) -> None:
    """Refuses unknown attributes, and warns of those without an effect on masks."""
    for name, (_, span) in definition.attributes.items():
        if name == "temperature":
            _check_temperature(definition, errors, composition)
        elif name == "capture":
            _check_capture_name(definition, name, errors)
        elif name == "stop_capture":
            _check_capture_name(definition, name, errors)
            if definition.attributes.keys().isdisjoint(("stop", "suffix")):
                errors.add("unexpected-input", span, "stop_capture requires stop or suffix")
        elif name not in LEXEME_ATTRIBUTES:
            errors.add("unsupported-grammar", span, f"the attribute `{name}` is not supported")


def attribute_bound(definition: Definition, attribute: str, errors: TextErrors) -> int | None:
    """Returns the value of ``max_chars`` or ``max_tokens``; None if it is absent or an error."""
    bound, span = definition.attributes.get(attribute, (None, (0, 0)))
    if bound is None or (isinstance(bound, int) and not isinstance(bound, bool) and 0 <= bound < 1 << 32):
        return bound
    errors.add("unexpected-input", span, f"`{attribute}` is a number")
    return None


def is_temperature(value: Any) -> bool:
    """Whether a value is a temperature: a finite number that is not negative."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf


def _check_capture_name(definition: Definition, attribute: str, errors: TextErrors) -> None:
    """Refuses the name of a capture that is no string."""
    value, span = definition.attributes[attribute]
    if attribute == "capture" and value is True:
        return
    if not isinstance(value, Node) or value.kind != "string":
        message = f"expected string literal after {attribute}="
        errors.add("unexpected-input", span, message)


def _check_temperature(
    definition: Definition, errors: TextErrors, composition: _grammask.Composition
) -> None:
    value, span = definition.attributes["temperature"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        errors.add("unexpected-input", span, "expected number after temperature=")
    elif not is_temperature(value):
        errors.add("unexpected-input", span, "temperature must be a finite non-negative number")
    else:
        composition.warn(f"the temperature of `{definition.name}` changes no mask", "give it to the sampler")
