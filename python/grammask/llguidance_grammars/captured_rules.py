"""The rules of a grammar with ``capture``, ``stop_capture``, ``suffix`` or ``stop``, and where their ends begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.llguidance_grammars.diagnostics import TextErrors
from grammask.llguidance_grammars.syntax import Node, read
from grammask.llguidance_grammars.translation import ending_grammar

if TYPE_CHECKING:
    from grammask import _grammask
    from grammask.llguidance_grammars.syntax import Definition

__all__ = ["CapturedRule", "captured_rules"]


@dataclass(frozen=True, slots=True)
class CapturedRule:
    """A rule whose texts, or whose ends, are captured or hidden in captures.

    Attributes:
        name: The name of the rule.
        capture: The name of the capture of its texts; None for none.
        hidden_in: Which captures lack the end of the rule: ``"own"`` (``suffix``), ``"all"`` that contain it
            (``stop``), or None for a rule without one.
        end_capture: The name of the capture of its ends; None for none.
        ending: The grammar of a text of the rule, with the rules ``body`` and ``end``; None without an end.
    """

    name: str
    capture: str | None
    hidden_in: str | None = None
    end_capture: str | None = None
    ending: _grammask.Grammar | None = None


def captured_rules(text: str) -> list[CapturedRule]:
    """Returns the rules of a grammar that concern captures; none if it has no captures.

    Args:
        text: A grammar that :meth:`grammask.Grammar.from_llguidance_lark` accepts.
    """
    statements = read(text, TextErrors(text))
    rules = [rule for one in statements.rules.values() if (rule := _rule(text, one)) is not None]
    return rules if any(rule.capture is not None or rule.end_capture is not None for rule in rules) else []


def _rule(text: str, definition: Definition) -> CapturedRule | None:
    attributes = definition.attributes
    capture = _name(attributes["capture"][0], definition.name) if "capture" in attributes else None
    for attribute, hidden_in in (("suffix", "own"), ("stop", "all")):
        ending = attributes.get(attribute, (None,))[0]
        if isinstance(ending, Node):
            end_capture = attributes["stop_capture"][0].value[0] if "stop_capture" in attributes else None
            grammar = ending_grammar(text, definition.name, attribute)
            return CapturedRule(definition.name, capture, hidden_in, end_capture, grammar)
    return None if capture is None else CapturedRule(definition.name, capture)


def _name(value: Any, default: str) -> str:
    return str(value.value[0]) if isinstance(value, Node) else default
