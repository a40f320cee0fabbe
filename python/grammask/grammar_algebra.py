"""Grammars from other grammars: concatenation, union, repetition, and the plain grammars to combine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import composition
from grammask.arguments import listed
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from grammask.composition import Part

__all__ = ["GrammarAlgebra"]


@named_keywords
class GrammarAlgebra:
    """The operations that combine grammars into a grammar. They build nothing before the grammar is used."""

    __slots__ = ()

    @classmethod
    def of_part(cls, part: Part) -> Self:
        """Returns the grammar of a part of :mod:`grammask.composition`."""
        raise NotImplementedError

    def as_part(self) -> Part:
        """Returns the grammar as a part of others."""
        raise NotImplementedError

    @classmethod
    def literal(cls, text: str | bytes) -> Self:
        """Returns the grammar of a single text.

        >>> import grammask
        >>> from grammask import Grammar
        >>> answer = "Answer: " + Grammar.from_regex("[0-9]+") + (Grammar.literal("!") | "?")
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> answer.compile(bytes_only).is_valid(b"Answer: 42?")
        True
        """
        return cls.of_part(composition.literal(text))

    @classmethod
    def token(cls, token: int | str) -> Self:
        """Returns the grammar of one token, which matches by id: other tokens with the same text do not.

        Args:
            token: Its id, the name of a special token, or a text that no other token has. Names and texts are looked up
                in the vocabulary when the grammar is compiled.

        Raises:
            TypeError: It is neither an id nor a text.
            ValueError: The id is no number of 32 bits.
        """
        return cls.of_part(composition.token(token))

    @classmethod
    def any_token(cls, *tokens: int | str, but: Iterable[int | str] | None = None) -> Self:
        """Returns the grammar of any one of some tokens, or of any one except some. Tokens match by id.

        Args:
            tokens: Ids, names or texts, as of :meth:`token`.
            but: The excluded tokens. All others with text and all other special tokens match, but no end token.

        Raises:
            TypeError: Both are given, or neither.
        """
        if bool(tokens) == (but is not None):
            msg = "give the tokens, or those that are meant not to match (`but=`)"
            raise TypeError(msg)
        given = tokens if but is None else listed("but", but, "ids or texts")
        return cls.of_part(composition.tokens(given, others=but is not None))

    @classmethod
    def text(
        cls,
        *,
        before: str | None = None,
        stops: Sequence[str] = (),
        without: Sequence[str] = (),
        max_characters: int | None = None,
        max_tokens: int | None = None,
    ) -> Self:
        """Returns the grammar of any text in UTF-8.

        >>> import grammask
        >>> from grammask import Grammar
        >>> thought = Grammar.text(before="</think>") + "</think>" + Grammar.from_choices(["yes", "no"])
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> thought.compile(bytes_only).is_valid(b"hm, a < b</think>no")
        True

        Args:
            before: A word that must follow in the surrounding grammar. The text ends where the word first occurs; it
                does not include the word.
            stops: Other words whose first occurrence would end the text as well.
            without: Words that the text does not contain.
            max_characters: The maximum number of characters.
            max_tokens: The maximum number of the model's tokens.

        Raises:
            TypeError: A word is no ``str``, or one word stands for a list of words.
            ValueError: A word is empty, or a bound negative or too large.
        """
        return cls.of_part(
            composition.free_text(
                before=before,
                stops=stops,
                without=without,
                max_characters=max_characters,
                max_tokens=max_tokens,
            )
        )

    @classmethod
    def text_until(
        cls,
        *ends: str,
        without: Sequence[str] = (),
        max_characters: int | None = None,
        max_tokens: int | None = None,
    ) -> Self:
        """Returns the grammar of any text that ends with the first occurrence of one of some words.

        Args:
            ends: The words.
            without: As of :meth:`text`.
            max_characters: As of :meth:`text`, not counting the word at the end.
            max_tokens: As of :meth:`text`, not counting the word at the end.

        Raises:
            ValueError: There is no word, or as of :meth:`text`.
        """
        parts = []
        for end in ends:
            stop = composition.literal(end)
            before = composition.free_text(
                before=end,
                stops=ends,
                without=without,
                max_characters=max_characters,
                max_tokens=max_tokens,
            )
            parts.append(composition.sequence([before, stop]))
        return cls.of_part(composition.choice(parts))

    @classmethod
    def concat(cls, *parts: Self | str | bytes) -> Self:
        """Returns the concatenation of grammars and texts. Also ``a + b``.

        Raises:
            TypeError: A part is neither a grammar nor a text.
        """
        return cls.of_part(composition.sequence(_part_of(part) for part in parts))

    @classmethod
    def union(cls, *parts: Self | str | bytes) -> Self:
        """Returns the union of grammars and texts. Also ``a | b``.

        Raises:
            TypeError: A part is neither a grammar nor a text.
            ValueError: There are no parts.
        """
        return cls.of_part(composition.choice(_part_of(part) for part in parts))

    def repeat(self, least: int = 0, most: int | None = None) -> Self:
        """Returns the grammar of ``least`` to ``most`` texts of this one in a row; None is no upper bound.

        Raises:
            ValueError: The bounds are negative or contradict each other.
        """
        return self.of_part(composition.repeat(self.as_part(), least, most))

    def optional(self) -> Self:
        """Returns the grammar of the texts of this one and the empty text."""
        return self.repeat(0, 1)

    @classmethod
    def bind(cls, name: str, operand: Self | str | bytes) -> Self:
        """Returns the grammar of the texts of another one, which binds a name to the text.

        A name belongs to the :meth:`scope` around it, in which it is bound from there on, in place of an earlier text.
        All ways to bind it are followed.

        >>> import grammask
        >>> from grammask import Grammar
        >>> tag = Grammar.bind("tag", Grammar.from_regex("[a-z]+"))
        >>> element = ("<" + tag + ">" + Grammar.from_regex("[^<]*") + "</" + Grammar.same("tag") + ">").scope()
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = element.compile(bytes_only)
        >>> compiled.is_valid(b"<b>text</b>"), compiled.is_valid(b"<b>text</i>")
        (True, False)

        Args:
            name: An identifier in ASCII.
            operand: A regular language. A text of more than ``Limits.bound_bytes`` bytes is an error when it is read.

        Raises:
            GrammarSemanticError: When the grammar is used: the name is outside of a scope.
            UnsupportedGrammar: When the grammar is used: the operand is not regular.
            ValueError: The name is no identifier.
        """
        return cls.of_part(composition.binding("bind", name, _part_of(operand, "operand")))

    @classmethod
    def same(cls, name: str) -> Self:
        """Returns the grammar of the text that a name is bound to; there is none while nothing has bound it.

        Raises:
            GrammarSemanticError: When the grammar is used: nothing binds the name in the scope.
            ValueError: The name is no identifier.
        """
        return cls.of_part(composition.binding("same", name))

    @classmethod
    def other(cls, name: str, operand: Self | str | bytes) -> Self:
        """Returns the grammar of the texts of another one except for the text that a name is bound to.

        Args:
            name: The name. While nothing has bound it, there is no text.
            operand: A regular language.

        Raises:
            GrammarSemanticError: When the grammar is used: nothing binds the name in the scope.
            UnsupportedGrammar: When the grammar is used: the operand is not regular, or has no text but one that may be
                bound.
            ValueError: The name is no identifier.
        """
        return cls.of_part(composition.binding("other", name, _part_of(operand, "operand")))

    @classmethod
    def without_prefix(cls, name: str, operand: Self | str | bytes) -> Self:
        """Returns the grammar of the texts of another one that do not begin with the text that a name is bound to.

        Every text begins with the empty one, so there is no text while the name is bound to that, or to nothing.

        Args:
            name: The name.
            operand: A regular language.

        Raises:
            GrammarSemanticError: When the grammar is used: nothing binds the name in the scope.
            UnsupportedGrammar: When the grammar is used: the operand is not regular, or all its texts may begin with a
                bound text.
            ValueError: The name is no identifier.
        """
        return cls.of_part(composition.binding("without_prefix", name, _part_of(operand, "operand")))

    def scope(self) -> Self:
        """Returns the same grammar as a scope: what :meth:`bind` binds in it is bound nowhere else.

        Scopes may be nested. A name refers to the innermost scope around it.
        """
        return self.of_part(composition.scope(self.as_part()))

    def limited(self, *, max_tokens: int) -> Self:
        """Returns the grammar of the texts of this one that overlap at most some number of the model's tokens.

        A token counts if at least one of its bytes belongs to the text. The text can always be ended in time: once
        as few tokens are left as its shortest end needs, only tokens that keep to it are legal.

        >>> from grammask import Grammar
        >>> answer = Grammar.from_regex("[a-z ]+").limited(max_tokens=20) + "."

        Args:
            max_tokens: The maximum number of tokens.

        Raises:
            UnsupportedGrammar: When the grammar is used: it names tokens and is not a regular language. Budgets of
                whole texts have no such condition.
            ValueError: The number is negative, or too large.
        """
        return self.of_part(composition.limited(self.as_part(), max_tokens))

    def named(self, name: str) -> Self:
        """Returns the same grammar with a name, which explanations show where the grammar is a part of another."""
        return self.of_part(composition.named(self.as_part(), name))

    def __add__(self, other: Self | str | bytes) -> Self:
        """Returns the concatenation."""
        return self.concat(self, other) if isinstance(other, GrammarAlgebra | str | bytes) else NotImplemented

    def __radd__(self, other: str | bytes) -> Self:
        """Returns the concatenation."""
        return self.concat(other, self) if isinstance(other, str | bytes) else NotImplemented

    def __or__(self, other: Self | str | bytes) -> Self:
        """Returns the union."""
        return self.union(self, other) if isinstance(other, GrammarAlgebra | str | bytes) else NotImplemented

    def __ror__(self, other: str | bytes) -> Self:
        """Returns the union."""
        return self.union(other, self) if isinstance(other, str | bytes) else NotImplemented


def _part_of(part: object, name: str = "a part") -> Part:
    """Returns an argument as a part; ``name`` is for errors."""
    if isinstance(part, GrammarAlgebra):
        return part.as_part()
    if isinstance(part, str | bytes):
        return composition.literal(part)
    msg = f"{name} is a Grammar, a str or bytes, not {type(part).__name__}"
    raise TypeError(msg)
