"""Builds the grammar of a template from those of its parts, with a name for each captured part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask, composition
from grammask.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grammask.templates.parts import Part


class CaptureBuilder:
    """Names the captured parts of a grammar.

    Attributes:
        marks: The captured parts, by the number in their names.
    """

    def __init__(self, salt: str = "") -> None:
        self._salt = salt
        self.marks: list[Part] = []
        self._names: list[str] = []

    @classmethod
    def of(
        cls, build: Callable[[CaptureBuilder], composition.Part]
    ) -> tuple[composition.Part, CaptureBuilder]:
        """Builds a grammar, and returns it with its captures.

        ``build`` runs twice: names contain a hash of the grammar, so that they differ from the names in embedded ones.
        Messages show what is before the full stop.
        """
        captures = cls(build(cls()).digest.hex()[:12])
        return build(captures), captures

    def capture(self, part: Part, built: composition.Part) -> composition.Part:
        """Returns the grammar ``built`` of a part as a captured part."""
        name = f"{part.label}.{self._salt}-{len(self.marks)}"
        self.marks.append(part)
        self._names.append(name)
        return composition.named(built, name)

    def parser(
        self, root: composition.Part, vocabulary: _grammask.Vocabulary | None = None
    ) -> _grammask.Parser:
        """Returns the parser of a grammar for its captures; with a vocabulary it also reads tokens."""
        return _grammask.Parser(composition.build(root), self._names, None, vocabulary)


def free_text(
    ends: Sequence[bytes],
    end: int | None,
    excludes: Sequence[bytes],
    max_characters: int | None,
    max_tokens: int | None = None,
) -> composition.Part:
    """Returns the part of text without any of ``ends`` and ``excludes``.

    Args:
        ends: The delimiters of the text.
        end: The index of the delimiter that must follow; None if the text ends with the output.
        excludes: Other texts that it does not contain.
        max_characters: The maximum number of characters.
        max_tokens: The maximum number of tokens.
    """
    index = len(ends) if end is None else end
    return composition.Part("text", (list(ends), index, list(excludes), max_characters, max_tokens))


def any_keyword(words: Iterable[str]) -> composition.Part:
    """Returns the part that matches one of the keywords."""
    return Grammar.from_choices(words).as_part()
