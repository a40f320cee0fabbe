"""Turns statements into a grammar: terminals into regular languages, rules into rules.

All readings of a text are legal: a text belongs to the language if it can be cut into lexemes in some way. What is
ignored may stand behind every lexeme. Trees are visited from the leaves up, with a stack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.errors import GrammarError
from grammask.llguidance_grammars.refusals import Refusals
from grammask.llguidance_grammars.syntax import Definition, Node, read
from grammask.llguidance_grammars.syntax import Grammar as Statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask._grammask import Limits
    from grammask.grammar import Grammar

__all__ = ["llguidance_grammar"]

_WORDS = re.compile(r"\s+|\w+|[^\s\w]+")


def llguidance_grammar(text: str, grammars: type[Grammar], limits: Limits | None) -> _grammask.Grammar:
    """Returns the grammar of a text.

    Args:
        text: The grammar.
        grammars: The class that reads schemas inside.
        limits: Budgets for schemas and expressions.

    Raises:
        GrammarError: Everything that is wrong, all at once.
    """
    refusals = Refusals(text)
    statements = read(text, refusals)
    translator = _Translator(statements, refusals, grammars, limits)
    translator.read_terminals()
    translator.read_ignored(statements.ignored)
    grammar = translator.read_rules(has_initial_skip=bool(statements.options.get("allow_initial_skip")))
    refusals.raise_all()
    assert grammar is not None
    return grammar


def _bottom_up(root: Node) -> Iterator[Node]:
    """Yields all nodes of a tree, parts first."""
    stack = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready or not node.parts:
            yield node
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))


class _Translator:
    def __init__(
        self,
        statements: Statements,
        refusals: Refusals,
        grammars: type[Grammar],
        limits: Limits | None,
    ) -> None:
        self.rules = statements.rules
        self.terminals = statements.terminals
        self.begun = statements.begun
        self.refusals = refusals
        self.grammars = grammars
        self.limits = limits
        self.composition = _grammask.Composition()
        self.nothing = self.composition.literal_language(b"")
        self.languages: dict[str, int] = {}
        self.ignored: int | None = None

    # Terminals --------------------------------------------------------------------------------------------------

    def read_terminals(self) -> None:
        """Makes the languages of all terminals, each after those that it names."""
        open_names: set[str] = set()
        for name in self.terminals:
            stack = [(name, False)]
            while stack:
                current, is_ready = stack.pop()
                if is_ready:
                    open_names.discard(current)
                    self.languages[current] = self.language(self.terminals[current].body)
                    continue
                if current in self.languages:
                    continue
                open_names.add(current)
                stack.append((current, True))
                for node in _bottom_up(self.terminals[current].body):
                    if (
                        node.kind != "terminal"
                        or node.value in self.languages
                        or node.value not in self.terminals
                    ):
                        continue
                    if node.value in open_names:
                        self.refusals.add(
                            "recursive-terminal", node.span, f"`{node.value}` is made of itself"
                        )
                        self.languages[node.value] = self.nothing
                    else:
                        stack.append((node.value, False))

    def language(self, root: Node) -> int:
        """Returns the language of a tree of terminals."""
        results: list[int] = []
        for node in _bottom_up(root):
            count = len(node.parts)
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(self.language_of(node, parts))
        return results[0]

    def language_of(self, node: Node, parts: list[int]) -> int:
        composition = self.composition
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
                    return self.regex(f"(?i:{_escaped(text)})", node)
                return composition.literal_language(text.encode())
            case "regex" if not isinstance(node.value, tuple):
                return self.substrings(node)
            case "regex":
                pattern, flags = node.value
                pattern = pattern.replace("\\/", "/")
                return self.regex(f"(?{flags}:{pattern})" if flags else pattern, node)
            case "terminal" if node.value in self.languages:
                return self.languages[node.value]
            case "terminal":
                self.undefined(node)
            case "rule":
                self.refusals.add(
                    "unexpected-input",
                    node.span,
                    "a terminal is made of terminals, and this is a rule",
                    "write its name in capitals",
                )
            case _:
                self.refusals.add("unexpected-input", node.span, "this cannot be part of a terminal")
        return self.nothing

    def regex(self, pattern: str, node: Node) -> int:
        try:
            return self.composition.regex_language(pattern, self.limits)
        except GrammarError as error:
            self.refusals.of_part(node.span, error)
            return self.nothing

    def substrings(self, node: Node) -> int:
        """The language of ``%regex {...}``."""
        value = node.value if isinstance(node.value, dict) else {}
        match value:
            case {"substring_chars": str(text)} if len(value) == 1:
                return self.composition.substring_language(text)
            case {"substring_words": str(text)} if len(value) == 1:
                chunks = _WORDS.findall(text)
            case {"substring_chunks": list(chunks)} if len(value) == 1 and all(
                isinstance(c, str) for c in chunks
            ):
                pass
            case _:
                help = "it is `substring_chunks`, `substring_words` or `substring_chars`"
                self.refusals.add("unsupported-grammar", node.span, "there is no such `%regex`", help)
                return self.nothing
        starts, rest = [self.nothing], self.nothing
        for chunk in reversed(chunks):
            literal = self.composition.literal_language(chunk.encode())
            rest = self.composition.union_language(
                [self.nothing, self.composition.concatenated_language([literal, rest])]
            )
            starts.append(rest)
        return self.composition.union_language(starts)

    # Rules ------------------------------------------------------------------------------------------------------

    def read_ignored(self, nodes: list[Node]) -> None:
        if nodes:
            either = self.composition.union_language([self.language(node) for node in nodes])
            self.ignored = self.composition.terminal(
                self.composition.repeated_language(either, 0, None), "%ignore"
            )

    def read_rules(self, *, has_initial_skip: bool) -> _grammask.Grammar | None:
        if "start" not in self.begun:
            place = next(iter(self.rules.values())).span if self.rules else (0, 0)
            self.refusals.add("missing-start", place, "the rule `start` is not defined")
        references = {name: self.composition.rule(name) for name in self.rules}
        for name, definition in self.rules.items():
            self.composition.define(references[name], self.rule(definition, references))
        if "start" not in references:
            return None
        start = self.composition.reference(references["start"])
        if has_initial_skip and self.ignored is not None:
            start = self.composition.sequence([self.ignored, start])
        return self.composition.finish(start)

    def rule(self, definition: Definition, references: dict[str, int]) -> int:
        attributes = dict(definition.attributes)
        attributes.pop("capture", None)
        if not attributes:
            return self.part(definition.body, references)
        language = self.language(definition.body)
        lazy = attributes.pop("lazy", None)
        suffix = attributes.pop("suffix", None)
        most = attributes.pop("max_tokens", None)
        attributes.pop("stop_capture", None)
        for name, (_, span) in attributes.items():
            self.refusals.add(
                "unsupported-grammar", span, f"the attribute `{name}` is not supported", _ADVICE.get(name)
            )
        if suffix is not None:
            ending = suffix[0] if isinstance(suffix[0], Node) else None
            if ending is None or ending.value == ("", False):
                self.refusals.add("unexpected-input", suffix[1], "`suffix` is a terminal that is not empty")
            else:
                language = self.composition.concatenated_language([language, self.language(ending)])
        if lazy is not None or suffix is not None:
            language = self.composition.shortest_language(language)
        limit = None
        if most is not None:
            if isinstance(most[0], int) and not isinstance(most[0], bool) and most[0] < 1 << 32:
                limit = most[0]
            else:
                self.refusals.add("unexpected-input", most[1], "`max_tokens` is a number")
        return self.lexeme(language, definition.name, limit)

    def part(self, root: Node, references: dict[str, int]) -> int:
        """Returns the part of a right-hand side."""
        results: list[int] = []
        for node in _bottom_up(root):
            count = len(node.parts)
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(self.part_of(node, parts, references))
        return results[0]

    def part_of(self, node: Node, parts: list[int], references: dict[str, int]) -> int:
        composition = self.composition
        match node.kind:
            case "choice":
                return composition.choice(parts)
            case "sequence":
                return composition.sequence(parts)
            case "repeat":
                return composition.repeat(parts[0], *node.value)
            case "rule" if node.value in references:
                return composition.reference(references[node.value])
            case "rule":
                self.undefined(node)
                return composition.literal(b"")
            case "special":
                return self.behind(self.token(node))
            case "json":
                return self.behind(self.schema(node))
            case "regex" if not isinstance(node.value, tuple):
                return self.lexeme(self.substrings(node), "%regex")
            case "and":
                self.refusals.add(
                    "unexpected-input", node.span, "`&` is for terminals", "give it a name in capitals"
                )
                return composition.literal(b"")
            case "not":
                return self.lexeme(self.language(node), self.refusals.text[slice(*node.span)])
            case _:
                return self.lexeme(self.language_of(node, []), self.refusals.text[slice(*node.span)])

    def lexeme(self, language: int, label: str, most_tokens: int | None = None) -> int:
        """The part for a lexeme, and for what is ignored behind it. The empty lexeme has nothing behind it."""
        composition = self.composition
        label = " ".join(label.split()) or "lexeme"
        if self.ignored is None:
            return composition.terminal(language, label, most_tokens)
        something = composition.complement_language(self.nothing)
        some = composition.terminal(
            composition.intersection_language([language, something]), label, most_tokens
        )
        none = composition.terminal(composition.intersection_language([language, self.nothing]), '""')
        return composition.choice([composition.sequence([some, self.ignored]), none])

    def behind(self, part: int) -> int:
        return part if self.ignored is None else self.composition.sequence([part, self.ignored])

    def token(self, node: Node) -> int:
        """``<name>``, ``<[1,5-9]>``, ``<[^1]>`` or ``<[*]>``."""
        inside = node.value[1:-1]
        if not (inside.startswith("[") and inside.endswith("]")):
            return self.composition.token(node.value)
        listed = inside[1:-1]
        if listed == "*":
            return self.composition.tokens([], others=True)
        others = listed.startswith("^")
        ranges = []
        for item in listed.removeprefix("^").split(","):
            match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", item)
            ends = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if ends[0] > ends[1]:
                help = "ids and ranges of ids are written `<[1,5-9]>`"
                self.refusals.add("invalid-token-reference", node.span, "this names no tokens", help)
                return self.composition.literal(b"")
            ranges.append(ends)
        return self.composition.tokens([], others, ranges)

    def schema(self, node: Node) -> int:
        schema = node.value
        options: dict[str, Any] = {"limits": self.limits}
        if isinstance(schema, dict) and "x-guidance" in schema:
            own = schema["x-guidance"]
            schema = {name: value for name, value in schema.items() if name != "x-guidance"}
            for name, value in own.items() if isinstance(own, dict) else ():
                if name == "whitespace_flexible" and isinstance(value, bool):
                    options["whitespace"] = "flexible" if value else "compact"
                elif name not in ("lenient", "coerce_one_of") or value:
                    self.refusals.add(
                        "unsupported-grammar", node.span, f"`{name}` of `x-guidance` is not supported"
                    )
        try:
            grammar = self.grammars.from_json_schema(schema, **options)
        except GrammarError as error:
            self.refusals.of_part(node.span, error)
        except (TypeError, ValueError) as error:
            self.refusals.add("invalid-schema", node.span, str(error))
        else:
            return grammar.graft_into(self.composition)
        return self.composition.literal(b"")

    def undefined(self, node: Node) -> None:
        if node.value not in self.begun:
            self.refusals.add("undefined-symbol", node.span, f"`{node.value}` is not defined")


_ADVICE = {
    "stop": "write `suffix=`, which makes the word a part of the text",
    "temperature": "give the temperature to the sampler",
}


def _escaped(text: str) -> str:
    """A text as a regular expression."""
    return "".join(c if c.isalnum() or ord(c) > 127 else f"\\x{ord(c):02x}" for c in text)
