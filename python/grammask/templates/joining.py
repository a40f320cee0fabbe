"""Joins the grammars of a template's parts in one, with a name for each place whose text is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask, composition
from grammask.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grammask.templates.parts import Part


class Joining:
    """Makes grammars of parts and remembers the marked places."""

    def __init__(self, salt: str = "") -> None:
        self._salt = salt
        self.marks: list[Part] = []
        """What stands at each marked place, in the order of the numbers in their names."""
        self._names: list[str] = []

    @classmethod
    def of(cls, build: Callable[[Joining], composition.Part]) -> tuple[composition.Part, Joining]:
        """Build a whole. The names of its places hold a hash of it, so that they are not those of any part of it."""
        joining = cls(build(cls()).digest.hex()[:12])
        return build(joining), joining

    def mark(self, part: Part, built: composition.Part) -> composition.Part:
        """The same as ``built``, as a place at which ``part`` stands."""
        name = f"{part.label}@{self._salt}-{len(self.marks)}"
        self.marks.append(part)
        self._names.append(name)
        return composition.named(built, name)

    def parser(
        self, root: composition.Part, vocabulary: _grammask.Vocabulary | None = None
    ) -> _grammask.Parser:
        """Make the parser of a whole, for the places that were marked in it, and for texts in tokens."""
        return _grammask.Parser(composition.build(root), self._names, None, vocabulary)


def free_text(
    ends: Sequence[bytes],
    end: int | None,
    excludes: Sequence[bytes],
    most_characters: int | None,
    most_tokens: int | None = None,
) -> composition.Part:
    """Text before one of ``ends``, which has to follow, and without any of them and ``excludes``."""
    index = len(ends) if end is None else end
    return composition.Part("text", (list(ends), index, list(excludes), most_characters, most_tokens))


def any_of(words: Iterable[str]) -> composition.Part:
    """One of some words."""
    return Grammar.from_choices(words).as_part()
