"""The rules of a grammar with ``capture``, ``stop_capture``, ``suffix`` or ``stop``, and where their ends begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from grammask.llguidance_grammars.diagnostics import TextErrors
from grammask.llguidance_grammars.rule_kinds import leaves, rule_kind, uses_of_rules
from grammask.llguidance_grammars.syntax import Node, read
from grammask.llguidance_grammars.translation import ending_grammar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask import _grammask
    from grammask.llguidance_grammars.rule_kinds import RuleKind
    from grammask.llguidance_grammars.syntax import Definition

__all__ = ["CapturedRule", "CapturesUnavailable", "captured_rules"]

_OF_CAPTURES = ("capture", "stop_capture")


class CapturesUnavailable(ValueError):
    """The captures of a grammar cannot be determined."""


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
        max_tokens: The maximum number of tokens of a rule that has captured rules in it; None for other rules. Captures
            are found in the grammar without these maxima, which their texts must keep.
    """

    name: str
    capture: str | None
    hidden_in: str | None = None
    end_capture: str | None = None
    ending: _grammask.Grammar | None = None
    max_tokens: int | None = None


def captured_rules(text: str, named: Mapping[str, str] | None = None) -> list[CapturedRule]:
    """Returns the rules of a grammar that concern captures; none if it has no captures.

    Args:
        text: A grammar that :meth:`grammask.Grammar.from_llguidance_lark` accepts.
        named: The texts of the grammars that ``@name`` refers to.

    Raises:
        CapturesUnavailable: A rule that concerns captures is in a `%lark`, is a part of a lexeme, or has the name of
            another.
    """
    rules: list[CapturedRule] = []
    inside: set[str] = set()
    for one in _texts(text, named or {}):
        definitions = read(one, TextErrors(one)).rules
        found = [rule for each in definitions.values() if (rule := _rule(one, each)) is not None]
        names = {rule.name for rule in found}
        inside |= _inside_of_others(definitions, "lexeme") & names
        if _inside_of_others(definitions, "limited") & names:
            found = [replace(rule, max_tokens=_maximum(definitions[rule.name])) for rule in found]
            found += [
                CapturedRule(name, None, max_tokens=_maximum(each))
                for name, each in definitions.items()
                if name not in names and rule_kind(each) == "limited"
            ]
        rules += found
    if not any(rule.capture is not None or rule.end_capture is not None for rule in rules):
        return []
    if inside:
        msg = f"the rule {min(inside)} concerns captures and is a part of a lexeme, such as a rule with max_chars"
        raise CapturesUnavailable(msg)
    if len({rule.name for rule in rules}) < len(rules):
        msg = "rules of the same name in several grammars concern captures"
        raise CapturesUnavailable(msg)
    return rules


def _texts(text: str, named: Mapping[str, str]) -> list[str]:
    """Returns a text and the named texts that it refers to, directly or not.

    Raises:
        CapturesUnavailable: A `%lark` contains a rule with attributes of captures.
    """
    texts = [text]
    names: set[str] = set()
    for one in texts:  # It grows.
        for definition in read(one, TextErrors(one)).rules.values():
            for leaf in leaves(definition.body):
                if leaf.kind == "lark" and any(token.text in _OF_CAPTURES for token in leaf.value):
                    msg = "captures of a %lark are not supported; give it a name, as `@name`"
                    raise CapturesUnavailable(msg)
                if leaf.kind == "grammar" and leaf.value in named and leaf.value not in names:
                    names.add(leaf.value)
                    texts.append(named[leaf.value])
    return texts


def _inside_of_others(definitions: Mapping[str, Definition], kind: RuleKind) -> set[str]:
    """Returns the names of the rules that the rules of a kind are made of, directly or not."""
    names = [
        use.value[0]
        for definition in definitions.values()
        if rule_kind(definition) == kind
        for use in uses_of_rules(definition)
    ]
    inside: set[str] = set()
    while names:
        name = names.pop()
        if name not in inside and name in definitions:
            inside.add(name)
            names.extend(use.value[0] for use in uses_of_rules(definitions[name]))
    return inside


def _maximum(definition: Definition) -> int | None:
    """Returns the maximum number of tokens of a rule that is made of rules; None for other rules."""
    return int(definition.attributes["max_tokens"][0]) if rule_kind(definition) == "limited" else None


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
