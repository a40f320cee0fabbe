"""Joins grammars of all front ends in one, with named places: a list of operations that can be done again.

The list is what the compile cache knows the grammar by, and what a pickle holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.errors import UnsupportedType
from grammask.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grammask.templates.parts import Part


class JoinedGrammar(Grammar):
    """The grammar of a template."""

    __slots__ = ("_operations",)

    _operations: list[tuple[Any, ...]]

    @property
    def core(self) -> _grammask.Grammar:
        """The engine's grammar."""
        if isinstance(self._core, _grammask.Grammar):
            return self._core
        raise AssertionError

    @classmethod
    def of(
        cls, core: _grammask.Grammar, known: tuple[Any, ...], operations: list[tuple[Any, ...]]
    ) -> JoinedGrammar:
        """Wrap the engine's grammar; ``known`` is what the compile cache knows it by."""
        grammar = object.__new__(cls)
        grammar._core = core
        grammar._text = b""
        grammar._key = ("template", known)
        grammar._recipe = ("", ())
        grammar._operations = operations
        return grammar

    @staticmethod
    def part_of(grammar: Grammar) -> tuple[_grammask.Grammar, tuple[Any, ...]]:
        """The engine's grammar of a part, and what it is known by.

        Raises:
            UnsupportedType: It is a lexed grammar.
        """
        if not isinstance(grammar._core, _grammask.Grammar):  # noqa: SLF001 - of this class too
            msg = "a lexed grammar cannot be a part of a template: its lexer reads whole texts"
            raise UnsupportedType(msg)
        return grammar._core, (grammar._key, grammar._text)  # noqa: SLF001

    def __reduce__(self) -> tuple[object, tuple[Any, ...]]:
        return join, (self._operations,)


class Joining:
    """Collects the parts of a grammar. Each method returns the number of a new part."""

    def __init__(self) -> None:
        self.operations: list[tuple[Any, ...]] = []
        self.marks: list[Part] = []
        """What stands at each named place."""

    def literal(self, text: bytes) -> int:
        """Exactly this text."""
        return self._add("literal", text)

    def grammar(self, grammar: Grammar) -> int:
        """Any text of a grammar."""
        return self._add("grammar", grammar)

    def free_text(
        self, ends: Sequence[bytes], end: int | None, excludes: Sequence[bytes], most_characters: int | None
    ) -> int:
        """Text before one of ``ends``, which has to follow, and without any of them and ``excludes``."""
        position = len(ends) if end is None else end
        return self._add("text", tuple(ends), position, tuple(excludes), most_characters)

    def sequence(self, parts: Iterable[int]) -> int:
        """All of them, in order."""
        return self._add("sequence", tuple(parts))

    def choice(self, parts: Iterable[int]) -> int:
        """One of them."""
        return self._add("choice", tuple(parts))

    def repeat(self, part: int, least: int, most: int | None) -> int:
        """So many copies."""
        return self._add("repeat", part, least, most)

    def mark(self, part: Part, built: int) -> int:
        """The same as ``built``, as a place at which ``part`` stands."""
        self.marks.append(part)
        return self._add("named", f"{part.label}@{len(self.marks) - 1}", built)

    def _add(self, *operation: Any) -> int:
        self.operations.append(operation)
        return len(self.operations) - 1


def names_of(operations: list[tuple[Any, ...]]) -> list[str]:
    """The names of the marked places, in their order."""
    return [operation[1] for operation in operations if operation[0] == "named"]


def join(operations: list[tuple[Any, ...]]) -> JoinedGrammar:
    """Make the grammar of the last operation."""
    composition = _grammask.Composition()
    key: list[Any] = []
    numbers: list[int] = []
    """What the composition calls each part: equal grammars are one part of it."""
    for kind, *arguments in operations:
        known: tuple[Any, ...] = (kind, *arguments)
        if kind == "grammar":
            core, content = JoinedGrammar.part_of(arguments[0])
            known = (kind, *content)
            number = composition.grammar(core)
        elif kind == "text":
            ends, end, excludes, most = arguments
            number = composition.text(list(ends), end, list(excludes), most)
        elif kind == "repeat":
            part, least, most = arguments
            number = composition.repeat(numbers[part], least, most)
        elif kind == "named":
            name, part = arguments
            number = composition.named(name, numbers[part])
        elif kind == "literal":
            number = composition.literal(*arguments)
        else:
            parts = [numbers[part] for part in arguments[0]]
            number = composition.choice(parts) if kind == "choice" else composition.sequence(parts)
        numbers.append(number)
        key.append(known)
    return JoinedGrammar.of(composition.finish(numbers[-1]), tuple(key), operations)
