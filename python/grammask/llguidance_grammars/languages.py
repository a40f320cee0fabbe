"""The regular languages of terminals, and of parts of rules that are lexemes.

A language is a number of the composition's table. Trees are visited from the leaves up, with a stack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grammask.errors import GrammarError
from grammask.llguidance_grammars.syntax import Node, bottom_up

if TYPE_CHECKING:
    from grammask import _grammask
    from grammask._grammask import Limits
    from grammask.llguidance_grammars.diagnostics import TextErrors
    from grammask.llguidance_grammars.syntax import Statements

__all__ = ["Languages"]

_WORDS = re.compile(r"\s+|\w+|[^\s\w]+")


class Languages:
    """The languages of the terminals of a scope, and of the rules that lexemes are made of.

    Attributes:
        empty_text: The language of the empty text.
        of_rules: The languages of the rules that lexemes are made of.
    """

    def __init__(
        self,
        statements: Statements,
        errors: TextErrors,
        composition: _grammask.Composition,
        limits: Limits | None,
    ) -> None:
        self.empty_text = composition.literal_language(b"")
        self.of_rules: dict[str, int] = {}
        self._of_terminals: dict[str, int] = {}
        self._terminals = statements.terminals
        self._begun = statements.begun
        self._errors = errors
        self._composition = composition
        self._limits = limits

    def read_terminals(self) -> None:
        """Makes the languages of all terminals, each after those that it uses."""
        open_names: set[str] = set()
        for name in self._terminals:
            stack = [(name, False)]
            while stack:
                current, is_ready = stack.pop()
                if is_ready:
                    open_names.discard(current)
                    self._of_terminals[current] = self.of_tree(self._terminals[current].body)
                    continue
                if current in self._of_terminals:
                    continue
                open_names.add(current)
                stack.append((current, True))
                for node in bottom_up(self._terminals[current].body):
                    if (
                        node.kind != "terminal"
                        or node.value in self._of_terminals
                        or node.value not in self._terminals
                    ):
                        continue
                    if node.value in open_names:
                        self._errors.add("recursive-terminal", node.span, f"`{node.value}` is made of itself")
                        self._of_terminals[node.value] = self.empty_text
                    else:
                        stack.append((node.value, False))

    def of_tree(self, root: Node) -> int:
        """Returns the language of a tree."""
        results: list[int] = []
        for node in bottom_up(root):
            count = len(node.parts)
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(self.of_node(node, parts))
        return results[0]

    def of_node(self, node: Node, parts: list[int]) -> int:
        """Returns the language of a node, given those of its parts."""
        composition = self._composition
        match node.kind:
            case "choice":
                return composition.union_language(parts)
            case "sequence":
                return composition.concatenated_language(parts)
            case "and":
                return composition.intersection_language(parts)
            case "not":
                return composition.complement_language(parts[0])
            case "repeat":
                return composition.repeated_language(parts[0], *node.value)
            case "range":
                return composition.range_language(*node.value)
            case "string":
                text, ignores_case = node.value
                if ignores_case:
                    return self._regex(f"(?i:{_escaped(text)})", node)
                return composition.literal_language(text.encode())
            case "regex" if not isinstance(node.value, tuple):
                return self.substrings(node)
            case "regex":
                pattern, flags = node.value
                pattern = pattern.replace("\\/", "/")
                return self._regex(f"(?{flags}:{pattern})" if flags else pattern, node)
            case "terminal" if node.value in self._of_terminals:
                return self._of_terminals[node.value]
            case "terminal":
                self.undefined(node, node.value)
            case "rule" if node.value[0] in self.of_rules:
                return self.of_rules[node.value[0]]
            case "rule":
                self._errors.add(
                    "rule-in-terminal",
                    node.span,
                    "a terminal is made of terminals, and this is a rule",
                    "write its name in capitals",
                )
            case _:
                kinds = {"special": "special tokens", "json": "%json", "lark": "nested %lark"}
                kind = kinds.get(node.kind, f"parts of the kind `{node.kind}`")
                self._errors.add("unexpected-input", node.span, f"{kind} cannot be used in terminals")
        return self.empty_text

    def substrings(self, node: Node) -> int:
        """Returns the language of ``%regex {...}``."""
        value = node.value
        match value:
            case {"substring_chars": str(text)} if len(value) == 1:
                return self._composition.substring_language(text)
            case {"substring_words": str(text)} if len(value) == 1:
                chunks = _WORDS.findall(text)
            case {"substring_chunks": list(chunks)} if len(value) == 1 and all(
                isinstance(c, str) for c in chunks
            ):
                pass
            case _:
                help = "it has one field: `substring_chunks`, `substring_words` or `substring_chars`"
                self._errors.add("unexpected-input", node.span, _defect_of_substrings(value), help)
                return self.empty_text
        return self._composition.chunks_language(chunks)

    def undefined(self, node: Node, name: str) -> None:
        """Reports an undefined name, unless the statement that defines it is malformed."""
        if name not in self._begun:
            self._errors.add("undefined-symbol", node.span, f"`{name}` is not defined")

    def _regex(self, pattern: str, node: Node) -> int:
        try:
            return self._composition.regex_language(pattern, self._limits)
        except GrammarError as error:
            self._errors.add_inner(node.span, error)
            return self.empty_text


def _defect_of_substrings(value: Any) -> str:
    """Returns what is wrong with the value of ``%regex``."""
    if not isinstance(value, dict):
        return "%regex value must be an object"
    if not value:
        return "no fields set on %regex"
    for name in value:
        if name not in ("substring_chars", "substring_chunks", "substring_words"):
            return f"unknown field `{name}` in %regex"
    if len(value) > 1:
        return "only one field can be set on %regex"
    name = next(iter(value))
    return f"{name} must be {'an array of strings' if name == 'substring_chunks' else 'a string'}"


def _escaped(text: str) -> str:
    """Returns a text as a regular expression."""
    return "".join(c if c.isalnum() or ord(c) > 127 else f"\\x{ord(c):02x}" for c in text)
