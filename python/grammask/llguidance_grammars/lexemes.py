"""Lexemes: rules with attributes such as ``lazy`` or ``max_chars``, which are regular languages.

A lexeme may be made of other rules if it has no end that stops it early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from grammask.llguidance_grammars.rule_attributes import attribute_bound, check_attributes
from grammask.llguidance_grammars.rule_kinds import LAZY_ATTRIBUTES, rule_kind, uses_of_rules
from grammask.llguidance_grammars.syntax import Definition, Node

if TYPE_CHECKING:
    from grammask import _grammask
    from grammask.llguidance_grammars.diagnostics import TextErrors
    from grammask.llguidance_grammars.languages import Languages
    from grammask.llguidance_grammars.lazy_lexemes import Rivals
    from grammask.llguidance_grammars.syntax import Statements

__all__ = ["Lexeme", "Lexemes"]


class Lexeme(NamedTuple):
    """A lexeme that is a rule: its language, and its maximum number of tokens."""

    language: int
    max_tokens: int | None


class Lexemes:
    """The lexemes of a scope that are rules.

    Args:
        statements: The statements of the scope.
        languages: The languages of its terminals, which must have been read.
        errors: Receives the errors.
        composition: Has the languages.
        keeps_stops: Whether a stop is a part of the text, as a suffix.
    """

    def __init__(
        self,
        statements: Statements,
        languages: Languages,
        errors: TextErrors,
        composition: _grammask.Composition,
        *,
        keeps_stops: bool,
    ) -> None:
        self._rules = statements.rules
        self._has_ignored = bool(statements.ignored)
        self._languages = languages
        self._errors = errors
        self._composition = composition
        self._keeps_stops = keeps_stops
        self._lexemes: dict[str, Lexeme] = {}

    def of_rule(self, definition: Definition) -> Lexeme:
        """Returns the lexeme of a rule with attributes of lexemes."""
        lexeme = self._lexemes.get(definition.name)
        if lexeme is not None:
            return lexeme
        check_attributes(definition, self._errors, self._composition)
        attributes = definition.attributes
        if attributes.keys().isdisjoint(LAZY_ATTRIBUTES):
            self._read_rule_languages(definition)
        language = self._languages.of_tree(definition.body)
        is_lazy = "lazy" in attributes
        for name in ("suffix", "stop"):
            ending, span = attributes.get(name, (None, (0, 0)))
            if name not in attributes:
                continue
            is_lazy = True
            other = next(iter({"suffix", "stop"} - {name}))
            if not isinstance(ending, Node):
                self._errors.add("unexpected-input", span, f"{name} must be a string or a terminal")
            elif _is_empty_string(ending):
                self._errors.add("unexpected-input", span, f"{name} must not be empty")
            elif other in attributes:
                self._errors.add("unexpected-input", span, f"{name} cannot be combined with {other}")
            else:
                language = self._composition.concatenated_language(
                    [language, self._languages.of_tree(ending)]
                )
            if name == "stop" and not self._keeps_stops:
                self._composition.warn(
                    f"the `stop` of `{definition.name}` stays in the text", "`suffix=` says so in the grammar"
                )
        if is_lazy:
            language = self._composition.shortest_language(language)
        max_characters = attribute_bound(definition, "max_chars", self._errors)
        if max_characters is not None:
            characters = self._composition.range_language("\0", "\U0010ffff")
            short = self._composition.repeated_language(characters, 0, max_characters)
            language = self._composition.intersection_language([language, short])
        lexeme = Lexeme(language, attribute_bound(definition, "max_tokens", self._errors))
        self._lexemes[definition.name] = lexeme
        return lexeme

    def is_nullable(self, lexeme: Node | Definition) -> bool:
        """Whether a lexeme may be empty."""
        language = (
            self.of_rule(lexeme).language
            if isinstance(lexeme, Definition)
            else self._languages.of_tree(lexeme)
        )
        return self._composition.is_nullable_language(language)

    def without_rivals(self, language: int, rivals: Rivals, own: str | None) -> int:
        """Returns a language without the texts that begin with a rival.

        Args:
            language: The language of a lexeme.
            rivals: Its rivals.
            own: The name of the lexeme if it is lazy. A lazy lexeme may equal its rival.
        """
        composition = self._composition
        if not rivals - {own}:
            return language
        more = composition.complement_language(self._languages.empty_text)
        suffix = more if own is not None else composition.union_language([self._languages.empty_text, more])
        excluded = [
            composition.concatenated_language([self.of_rule(self._rules[name]).language, suffix])
            for name in sorted(rivals - {own})
        ]
        others = composition.complement_language(composition.union_language(excluded))
        return composition.intersection_language([language, others])

    def _read_rule_languages(self, lexeme: Definition) -> None:
        """Makes the languages of the rules that a lexeme is made of, each after those that it uses."""
        open_names: set[str] = set()
        stack = [(lexeme.name, False)]
        while stack:
            name, is_ready = stack.pop()
            rule = self._rules[name]
            if is_ready:
                open_names.discard(name)
                if rule is not lexeme:
                    is_lexeme = rule_kind(rule) == "lexeme"
                    self._languages.of_rules[name] = (
                        self.of_rule(rule).language if is_lexeme else self._languages.of_tree(rule.body)
                    )
                continue
            if name in self._languages.of_rules:
                continue
            open_names.add(name)
            stack.append((name, True))
            for use in uses_of_rules(rule):
                used = use.value[0]
                if used in self._languages.of_rules:
                    continue
                if used not in self._rules:
                    self._languages.of_rules[used] = self._languages.empty_text  # `check_names` refuses it.
                elif used in open_names:
                    message = f"`{lexeme.name}` is a lexeme, and the rule `{used}` in it is made of itself"
                    self._errors.add("recursive-terminal", use.span, message)
                    self._languages.of_rules[used] = self._languages.empty_text
                elif self._check_part_of_lexeme(lexeme, self._rules[used], use):
                    stack.append((used, False))
                else:
                    self._languages.of_rules[used] = self._languages.empty_text

    def _check_part_of_lexeme(self, lexeme: Definition, rule: Definition, use: Node) -> bool:
        """Refuses a rule whose meaning would be lost in a lexeme; returns whether it is none."""
        attributes = [
            name for name in ("temperature", "max_tokens", *LAZY_ATTRIBUTES) if name in rule.attributes
        ]
        reason = None
        if self._has_ignored:
            reason = "a rule in it would lack the ignored text"
        elif attributes:
            reason = f"the rule `{rule.name}` in it has `{attributes[0]}`"
        elif rule.is_parametric:
            reason = f"the rule `{rule.name}` in it has a parameter"
        if reason is not None:
            self._errors.add("rule-in-terminal", use.span, f"`{lexeme.name}` is a lexeme, and {reason}")
        return reason is None


def _is_empty_string(node: Any) -> bool:
    return isinstance(node, Node) and node.value == ("", False)
