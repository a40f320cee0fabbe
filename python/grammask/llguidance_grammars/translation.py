"""From statements to a grammar: terminals become languages, some rules lexemes, and the others parts of a composition.

A text belongs to the language if it can be cut into lexemes in some way. Ignored text may follow every lexeme.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from grammask import _grammask
from grammask.errors import GrammarError
from grammask.llguidance_grammars.diagnostics import TextErrors
from grammask.llguidance_grammars.languages import Languages
from grammask.llguidance_grammars.lazy_lexemes import LazyLexemes, Rivals
from grammask.llguidance_grammars.lexemes import Lexemes
from grammask.llguidance_grammars.rule_attributes import attribute_bound, check_attributes, is_temperature
from grammask.llguidance_grammars.rule_kinds import LAZY_ATTRIBUTES, rule_kind, uses_of_rules
from grammask.llguidance_grammars.schema_options import schema_options, without_options
from grammask.llguidance_grammars.stops import Stops
from grammask.llguidance_grammars.syntax import (
    Definition,
    Node,
    Statements,
    bottom_up,
    read,
    read_tokens,
)
from grammask.readers.json_schema import json_schema_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask._grammask import Limits
    from grammask.composition import Part

__all__ = ["llguidance_grammar"]


class _RuleInstance(NamedTuple):
    """A rule for a parameter and a context."""

    name: str
    parameter: int | None = None
    rivals: Rivals = frozenset()
    """The lazy lexemes that may begin where the rule begins."""
    followers: Rivals = frozenset()
    """The lazy lexemes that may begin after the rule."""


_MAX_INSTANCES = 1 << 20
"""Instances of rules without a limit of the caller."""
_MAX_LIMITED_RULES = 1000
"""Instances of limited rules. Each has a copy of the rules that it refers to."""


def llguidance_grammar(
    text: str,
    limits: Limits | None,
    named: Mapping[str, str | Part] | None = None,
    *,
    keeps_stops: bool = False,
    limits_rules: bool = True,
) -> _grammask.Grammar:
    """Returns the grammar of a text.

    Args:
        text: The grammar.
        limits: Limits of schemas and expressions.
        named: The grammars that ``@name`` refers to; texts are in the same dialect.
        keeps_stops: Whether a stop is a part of the text, as a suffix, so that the next part begins after it.
        limits_rules: Whether ``max_tokens`` of rules that are made of rules is enforced.

    Raises:
        GrammarError: All errors.
    """
    translation = _Translation(limits, named or {}, keeps_stops=keeps_stops, limits_rules=limits_rules)
    texts = [text, *(value for value in translation.named.values() if isinstance(value, str))]
    translation.may_have_captures = any("capture" in one for one in texts)
    top = translation.scope_of_text(text)
    # Reading a scope may add others.
    for scope in translation.scopes:
        scope.read()
    for errors in translation.errors:
        errors.raise_all()
    return translation.composition.finish(translation.composition.reference(top.start))


def ending_grammar(text: str, rule: str, attribute: str) -> _grammask.Grammar:
    """Returns the grammar of the texts of a rule with a stop or suffix, made of the rules ``body`` and ``end``.

    Args:
        text: A grammar without errors.
        rule: The name of the rule.
        attribute: ``"stop"`` or ``"suffix"``.
    """
    translation = _Translation(None, {}, keeps_stops=True)
    scope = translation.scope_of_text(text)
    scope.languages.read_terminals()
    scope.read_ignored(scope.statements.ignored)
    definition = scope.rules[rule]
    composition = translation.composition
    body = composition.terminal(scope.languages.of_tree(definition.body), "body")
    end = composition.terminal(scope.languages.of_tree(definition.attributes[attribute][0]), "end")
    ignored = [] if scope.ignored is None else [scope.ignored]
    named = [composition.named("body", body), composition.named("end", end)]
    return composition.finish(composition.sequence([*named, *ignored]))


class _Translation:
    """The state that the scopes of a grammar share."""

    def __init__(
        self,
        limits: Limits | None,
        named: Mapping[str, str | Part],
        *,
        keeps_stops: bool,
        limits_rules: bool = True,
    ) -> None:
        self.limits = limits
        self.limits_rules = limits_rules
        self.keeps_stops = keeps_stops
        self.named = named
        self.composition = _grammask.Composition()
        self.scopes: list[_Scope] = []
        self.errors: list[TextErrors] = []
        self.instances = 0
        self.may_have_captures = False
        self._named_parts: dict[str, int] = {}

    def scope_of_text(self, text: str) -> _Scope:
        errors = TextErrors(text)
        self.errors.append(errors)
        return self.scope(read(text, errors), errors)

    def scope(self, statements: Statements, errors: TextErrors) -> _Scope:
        self.scopes.append(_Scope(self, statements, errors))
        return self.scopes[-1]

    def part_named(self, name: str) -> int | None:
        """Returns the part of ``@name``, which is made at its first use; None if there is no such grammar."""
        if name not in self._named_parts and name in self.named:
            grammar = self.named[name]
            self._named_parts[name] = (
                self.composition.reference(self.scope_of_text(grammar).start)
                if isinstance(grammar, str)
                else grammar.graft_into(self.composition)
            )
        return self._named_parts.get(name)


class _Scope:
    """The statements of a text, or of a ``%lark``, which share their names."""

    def __init__(self, translation: _Translation, statements: Statements, errors: TextErrors) -> None:
        self.translation = translation
        self.statements = statements
        self.rules = statements.rules
        self.begun = statements.begun
        self.errors = errors
        self.limits = translation.limits
        self.composition = translation.composition
        self.start = self.composition.rule("start")
        self.languages = Languages(statements, errors, self.composition, self.limits)
        self.lexemes = Lexemes(
            statements, self.languages, errors, self.composition, keeps_stops=translation.keeps_stops
        )
        self.ignored: int | None = None
        self.rule_numbers: dict[_RuleInstance, int] = {}
        self.pending: list[_RuleInstance] = []
        self.uses: dict[_RuleInstance, list[_RuleInstance]] = {}
        """The instances that the rule of an instance refers to."""
        self.limited_parts: dict[_RuleInstance, int] = {}
        """The parts of limited rules, which are defined after the rules that they refer to."""
        self.current_uses: list[_RuleInstance] = []
        """The uses of the instance whose part is made."""
        self.stops = Stops(Statements() if translation.keeps_stops else statements)
        self.lazy: LazyLexemes | None = None
        self.bound_names = {
            node.value[1]
            for definition in statements.rules.values()
            for node in bottom_up(definition.body)
            if node.kind == "binding" and node.value[0] == "bind"
        }

    def read(self) -> None:
        """Defines the start rule, and all rules and terminals that it uses."""
        self.languages.read_terminals()
        self.read_ignored(self.statements.ignored)
        self.read_rules()

    def read_ignored(self, nodes: list[Node]) -> None:
        if nodes:
            either = self.composition.union_language([self.languages.of_tree(node) for node in nodes])
            maximum = 1 if self.statements.options.get("skip_repetition") == "once" else None
            self.ignored = self.composition.terminal(
                self.composition.repeated_language(either, 0, maximum), "%ignore"
            )
            if any("temperature" in rule.attributes for rule in self.rules.values()):
                # Ignored text has no temperature, although rules contain the one after their lexemes.
                self.ignored = self.composition.named("%ignore[temperature=default]", self.ignored)

    def read_rules(self) -> None:
        if "start" not in self.begun:
            place = next(iter(self.rules.values())).span if self.rules else (0, 0)
            self.errors.add("missing-start", place, "the rule `start` is not defined")
        for span, message, help in self.stops.unsupported(has_ignored=self.ignored is not None):
            self.errors.add("unsupported-grammar", span, message, help)
        for definition in self.rules.values():
            self.check_names(definition)
        lazy = self.lazy = LazyLexemes(self.statements, self.lexemes.is_nullable)
        start = self.rules.get("start")
        if start is not None and not start.is_parametric:
            first = self.rule_number(_RuleInstance("start", rivals=lazy.first_of("start")))
        for name, definition in self.rules.items():
            # With lazy lexemes, used rules are made for each context.
            if not definition.is_parametric and not lazy.has_any:
                self.rule_number(_RuleInstance(name))
        self.define_pending(0)
        used = {instance.name for instance in self.pending}
        done = len(self.pending)
        for name, definition in self.rules.items():
            if not definition.is_parametric and name not in used:
                self.rule_number(_RuleInstance(name))
        self.define_pending(done)
        self.define_limited()
        for span in lazy.undecided_spans:
            self.errors.add(
                "unsupported-grammar",
                span,
                "whether a lazy lexeme may begin here depends on what was read before",
                "write the alternatives, or the copies, as rules of their own",
            )
        if start is None:
            return
        if start.is_parametric:
            self.errors.add("unexpected-input", start.span, "the rule `start` has no parameter")
            return
        part = self.composition.reference(first)
        if self.statements.options.get("allow_initial_skip") and self.ignored is not None:
            part = self.composition.sequence([self.ignored, part])
        self.composition.define(self.start, part)

    def define_pending(self, done: int) -> None:
        """Defines the pending instances after the first ``done``, and those that they use."""
        while done < len(self.pending):
            instance = self.pending[done]
            self.current_uses = self.uses[instance] = []
            part = self.rule(instance)
            if rule_kind(self.rules[instance.name]) == "limited":
                self.limited_parts[instance] = part
            else:
                self.composition.define(self.rule_numbers[instance], part)
            done += 1

    def define_limited(self) -> None:
        """Defines the limited rules, each after those that it refers to."""
        if len(self.limited_parts) > _MAX_LIMITED_RULES:
            message = f"more than {_MAX_LIMITED_RULES} rules made of rules have `max_tokens`"
            self.errors.add("limit-exceeded", self.rules[next(iter(self.limited_parts)).name].span, message)
            return
        self.check_limited()
        seen: set[_RuleInstance] = set()
        stack = [(instance, False) for instance in self.limited_parts]
        while stack:
            instance, is_ready = stack.pop()
            if is_ready:
                self.define_limited_rule(instance)
            elif instance not in seen:
                seen.add(instance)
                if instance in self.limited_parts:
                    stack.append((instance, True))
                stack.extend((used, False) for used in self.uses.get(instance, ()))

    def define_limited_rule(self, instance: _RuleInstance) -> None:
        definition = self.rules[instance.name]
        part = self.limited_parts[instance]
        bound = attribute_bound(definition, "max_tokens", self.errors)
        if not self.translation.limits_rules:
            part = self.composition.named(f"{definition.name}[capture]", part)
            self.composition.define(self.rule_numbers[instance], part)
            return
        try:
            part = self.composition.limited(part, 0 if bound is None else bound)
        except GrammarError as error:
            self.errors.add_inner(definition.span, error)
        self.composition.define(self.rule_numbers[instance], self.marked(definition, part))

    def rule_number(self, instance: _RuleInstance) -> int:
        """Returns the number of an instance, which is defined later."""
        name, parameter = instance.name, instance.parameter
        number = self.rule_numbers.get(instance)
        if number is None:
            shown = name if parameter is None else f"{name}::{parameter}"
            number = self.rule_numbers[instance] = self.composition.rule(shown)
            maximum = _MAX_INSTANCES if self.limits is None else self.limits.grammar_size
            self.translation.instances += 1
            if self.translation.instances <= maximum:
                self.pending.append(instance)
            else:
                self.errors.add(
                    "limit-exceeded",
                    self.rules[name].span,
                    f"the rules are used with more than {maximum} parameters",
                    "bound a growing parameter by a condition, `%if lt(_, 20)`",
                )
        return number

    def check_names(self, definition: Definition) -> None:
        """Refuses undefined names, and parameters of rules without one."""
        for node in bottom_up(definition.body):
            needs_parameter = node.kind == "if" and node.value.needs_parameter
            if node.kind == "rule":
                name, parameter, *_ = node.value
                needs_parameter = parameter is not None and parameter.needs_parameter
                if name not in self.rules:
                    self.languages.undefined(node, name)
                elif self.rules[name].is_parametric and parameter is None:
                    help = f"write `{name}::_` to pass one on, or a number after `::`"
                    self.errors.add("unexpected-input", node.span, f"`{name}` has a parameter", help)
                elif parameter is not None and not self.rules[name].is_parametric:
                    help = f"define it as `{name}::_`"
                    self.errors.add("unexpected-input", node.span, f"`{name}` has no parameter", help)
            if needs_parameter and not definition.is_parametric:
                help = f"define it as `{definition.name}::_`"
                self.errors.add("unexpected-input", node.span, f"`{definition.name}` has no parameter", help)

    def rule(self, instance: _RuleInstance) -> int:
        """Returns the part of a rule for a parameter and a context."""
        name, rivals = instance.name, instance.rivals
        definition = self.rules[name]
        kind = rule_kind(definition)
        if kind != "lexeme":
            check_attributes(definition, self.errors, self.composition)
            part = self.part(definition.body, instance)
            part = self.composition.scope(part) if _binds(definition.body) else part
            return part if kind == "limited" else self.marked(definition, part)
        if definition.is_parametric:
            message = "a rule with a parameter is no lexeme"
            self.errors.add("unsupported-grammar", definition.span, message)
            return self.composition.literal(b"")
        lexeme = self.lexemes.of_rule(definition)
        is_lazy = not definition.attributes.keys().isdisjoint(LAZY_ATTRIBUTES)
        language = self.lexemes.without_rivals(lexeme.language, rivals, name if is_lazy else None)
        return self.marked(definition, self.lexeme(language, name, lexeme.max_tokens))

    def marked(self, definition: Definition, part: int) -> int:
        """Returns a part as a rule whose name says that it has a temperature, or concerns captures.

        A rule is made for each context, under names of its own; these names begin alike.
        """
        attributes = definition.attributes
        value = attributes.get("temperature", (None, (0, 0)))[0]
        if is_temperature(value):
            part = self.composition.named(f"{definition.name}[temperature={value}]", part)
        if self.translation.may_have_captures and not attributes.keys().isdisjoint(
            ("capture", "suffix", "stop")
        ):
            part = self.composition.named(f"{definition.name}[capture]", part)
        return part

    def check_limited(self) -> None:
        """Refuses the parts of rules with ``max_tokens`` whose meaning would be lost in them."""
        users: dict[str, list[str]] = {}
        for name, rule in self.rules.items():
            for use in uses_of_rules(rule):
                users.setdefault(use.value[0], []).append(name)
        lost: dict[str, tuple[str, str]] = {}
        """For a rule, one in it that has an attribute, and this attribute."""
        pending: list[str] = []
        for name, rule in self.rules.items():
            for attribute in ("temperature", *LAZY_ATTRIBUTES):
                if attribute in rule.attributes and name not in lost:
                    lost[name] = (name, attribute)
                    pending.append(name)
        while pending:
            used = pending.pop()
            for user in users.get(used, ()):
                if user not in lost:
                    lost[user] = lost[used]
                    pending.append(user)
        for name in dict.fromkeys(instance.name for instance in self.limited_parts):
            definition = self.rules[name]
            inner, attribute = lost.get(name, (name, ""))
            if inner != name:
                message = f"`{name}` has `max_tokens`, and the rule `{inner}` in it has `{attribute}`"
                self.errors.add("rule-in-terminal", definition.span, message)
            if self.statements.ignored:
                message = f"`{name}` has `max_tokens` and contains rules, in a grammar with ignored text"
                help = "the number of tokens of a terminal does not count ignored text"
                self.errors.add("unsupported-grammar", definition.span, message, help)

    def part(self, root: Node, instance: _RuleInstance) -> int:
        """Returns the part of a right-hand side."""
        parameter = instance.parameter
        if self.lazy is not None and self.lazy.has_any:
            root = self.lazy.guarded(root, instance.rivals, instance.followers)
        results: list[int] = []
        for node in bottom_up(root, parameter):
            if node.kind == "if" and not node.value.holds(parameter or 0):
                results.append(self.never())
                continue
            count = len(node.parts)
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(self.part_of(node, parts, parameter))
        return results[0]

    def binding(self, node: Node) -> int:
        """Returns the part of a binding, whose operand is a terminal."""
        word, name, operand = node.value
        if name not in self.bound_names:
            self.errors.add(
                "invalid-binding",
                node.span,
                f"nothing binds the name `{name}`",
                "a rule that binds a name is its scope, with the rules that it refers to",
            )
            return self.composition.literal(b"")
        if operand is None:
            return self.composition.binding(word, name)
        label = self.errors.text[slice(*operand.span)]
        terminal = self.composition.terminal(
            self.languages.of_tree(operand), " ".join(label.split()) or "operand"
        )
        return self.composition.binding(word, name, terminal)

    def never(self) -> int:
        """Returns the part that matches no text."""
        something = self.composition.complement_language(self.languages.empty_text)
        no_text = self.composition.intersection_language([self.languages.empty_text, something])
        return self.composition.terminal(no_text, "never")

    def part_of(self, node: Node, parts: list[int], parameter: int | None) -> int:
        composition = self.composition
        match node.kind:
            case "choice":
                return composition.choice(parts)
            case "sequence":
                return composition.sequence(parts)
            case "repeat":
                return composition.repeat(parts[0], *node.value)
            case "if":
                return parts[0]
            case "rule":
                return self.rule_part(node, parameter)
            case "guarded":
                rivals, leaf = node.value
                return self.guarded(rivals, leaf, parameter)
            case "binding":
                return self.then_ignored(self.binding(node))
            case "special":
                return self.then_ignored(self.token(node))
            case "json":
                return self.then_ignored(self.schema(node))
            case "lark":
                statements = read_tokens(node.value, self.errors)
                return self.then_ignored(
                    composition.reference(self.translation.scope(statements, self.errors).start)
                )
            case "grammar":
                named = self.translation.part_named(node.value)
                if named is None:
                    help = "give it in `grammars={...}`"
                    message = f"there is no grammar `@{node.value}`"
                    self.errors.add("undefined-symbol", node.span, message, help)
                    return composition.literal(b"")
                return self.then_ignored(named)
            case "regex" if not isinstance(node.value, tuple):
                return self.lexeme(self.languages.substrings(node), "%regex")
            case "and":
                self.errors.add(
                    "unexpected-input",
                    node.span,
                    "intersection `&` is not supported in rules",
                    "give it a name in capitals",
                )
                return composition.literal(b"")
            case "not":
                return self.lexeme(self.languages.of_tree(node), self.errors.text[slice(*node.span)])
            case "string" if (stripped := self.stops.stripped(node)) is not None:
                language = composition.literal_language(stripped.encode())
                return self.lexeme(language, f"after {self.errors.text[slice(*node.span)]}")
            case _:
                return self.lexeme(self.languages.of_node(node, []), self.errors.text[slice(*node.span)])

    def guarded(self, rivals: Rivals, leaf: Node, parameter: int | None) -> int:
        """Returns the part of a leaf at a position where lazy lexemes may begin."""
        if not rivals or leaf.kind in ("json", "lark", "grammar", "special", "and"):
            return self.part_of(leaf, [], parameter)
        stripped = self.stops.stripped(leaf)
        language = (
            self.languages.of_tree(leaf)
            if stripped is None
            else self.composition.literal_language(stripped.encode())
        )
        label = self.errors.text[slice(*leaf.span)]
        return self.lexeme(self.lexemes.without_rivals(language, rivals, None), label)

    def rule_part(self, node: Node, parameter: int | None) -> int:
        name, argument, rivals, followers = (*node.value, frozenset(), frozenset())[:4]
        definition = self.rules.get(name)
        # `check_names` has refused the rule or the argument.
        if definition is None or definition.is_parametric != (argument is not None):
            return self.composition.literal(b"")
        value = None if argument is None else argument.value(parameter or 0)
        instance = _RuleInstance(name, value, rivals, followers)
        self.current_uses.append(instance)
        return self.composition.reference(self.rule_number(instance))

    def lexeme(self, language: int, label: str, max_tokens: int | None = None) -> int:
        """Returns the part of a lexeme, with the ignored text after it unless it is empty."""
        composition = self.composition
        label = " ".join(label.split()) or "lexeme"
        if self.ignored is None:
            return composition.terminal(language, label, max_tokens)
        something = composition.complement_language(self.languages.empty_text)
        some = composition.terminal(
            composition.intersection_language([language, something]), label, max_tokens
        )
        none = composition.terminal(
            composition.intersection_language([language, self.languages.empty_text]), '""'
        )
        return composition.choice([composition.sequence([some, self.ignored]), none])

    def then_ignored(self, part: int) -> int:
        return part if self.ignored is None else self.composition.sequence([part, self.ignored])

    def token(self, node: Node) -> int:
        """Returns the part of ``<name>``, ``<[1,5-9]>``, ``<[^1]>`` or ``<[*]>``."""
        inside = node.value[1:-1]
        if not (inside.startswith("[") and inside.endswith("]")):
            return self.composition.token(node.value)
        listed = inside[1:-1]
        if listed == "*":
            return self.composition.tokens([], others=True)
        others = listed.startswith("^")
        if "*" in listed:
            message = (
                "negated wildcard special token is not supported" if others else "wildcard cannot be mixed"
            )
            self.errors.add("invalid-token-reference", node.span, message, "`<[*]>` is any token")
            return self.composition.literal(b"")
        ranges = []
        for item in listed.removeprefix("^").split(","):
            match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", item)
            ends = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if ends[0] > ends[1]:
                help = "ids and ranges of ids are written `<[1,5-9]>`"
                defect = "invalid" if item else "empty"
                message = f"{defect} numeric special-token range"
                self.errors.add("invalid-token-reference", node.span, message, help)
                return self.composition.literal(b"")
            ranges.append(ends)
        return self.composition.tokens([], others, ranges)

    def schema(self, node: Node) -> int:
        schema, own = without_options(node.value)
        options: dict[str, Any] = {}
        try:
            options = schema_options(own if isinstance(own, dict) else {})
        except ValueError as error:
            self.errors.add("unsupported-grammar", node.span, str(error))
        if "on_unsupported" in options:
            message = "lenient of x-guidance is not supported: the constraints that it drops are not listed"
            self.errors.add("unsupported-grammar", node.span, message)
        try:
            part = json_schema_part(schema, limits=self.limits, **options)
        except GrammarError as error:
            self.errors.add_inner(node.span, error)
        except (TypeError, ValueError) as error:
            self.errors.add("invalid-schema", node.span, str(error))
        else:
            return part.graft_into(self.composition)
        return self.composition.literal(b"")


def _binds(body: Node) -> bool:
    return any(node.kind == "binding" and node.value[0] == "bind" for node in bottom_up(body))
