"""The compiled engine. Use it through the package ``grammask``."""

from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import Self, disjoint_base

__all__ = ["Vocabulary", "embedded_vocabulary", "encode_ordinary"]

@disjoint_base
class Vocabulary:
    """The tokens of a model: their bytes, the special ones, and the ones that end a text.

    Immutable, safe to share between threads, and shared by all grammars without copying; make one per model.
    Copies are the object itself. Can be pickled.
    """

    def __new__(
        cls,
        tokens: Iterable[bytes | None],
        *,
        special: Mapping[str, int] | None = None,
        eos: int | str | Iterable[int | str] | None = None,
        size: int | None = None,
    ) -> Self:
        """Make a vocabulary in which the i-th of ``tokens`` is the text of id i.

        Args:
            tokens: The bytes of each token, or None (or ``b""``) for one without text, which no grammar
                matches. Several ids may have the same bytes: they are legal together.
            special: Names of special tokens with their ids. A special token has no text: only a grammar that
                names it matches it, even if ``tokens`` has bytes for it. Ids may share names, not names ids.
            eos: The tokens that end a text, by id or by special name. They have no text either.
            size: Number of ids with padding, usually the width of the model's logits; ``len(tokens)`` if None.

        Raises:
            TypeError: A token is not bytes, a name not a string or an id not an integer.
            VocabularyError: There are no tokens, an id is outside the vocabulary, a name is ambiguous or
                unknown, the size is too small, or a token has more than 65,535 bytes.

        Cost: 20 ms for 200,000 tokens; 45 bytes of memory per token.
        """

    @property
    def size(self) -> int:
        """Number of ids, padding included: the width of a mask in bits."""

    @property
    def eos(self) -> tuple[int, ...]:
        """Ids of the tokens that end a text, ascending."""

    @property
    def special(self) -> dict[str, int]:
        """Names of the special tokens with their ids, as a new dictionary."""

    def token(self, id: int) -> bytes | None:
        """Return the bytes of a token; None for special tokens, end tokens, padding and others without text.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def tokens(self) -> list[bytes | None]:
        """Return what ``token`` says of each id, as a new list; it may leave out padding at the end."""

    def name_of(self, id: int) -> str | None:
        """Return the name of a special token, its first one if it has several; None for all other tokens.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def ids_of(self, text: bytes) -> list[int]:
        """Return the ids of all tokens whose bytes are exactly ``text``, ascending."""

    def __len__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[bytes | None]], dict[str, Any]]: ...

def embedded_vocabulary(name: str) -> tuple[list[bytes | None], dict[str, int]]:
    """Return the tokens and the special tokens of a vocabulary that is compiled into the extension.

    Args:
        name: ``"o200k_base"`` or ``"cl100k_base"``.

    Raises:
        KeyError: No such vocabulary is embedded.

    Cost: the first use of a name takes about 0.3 s.
    """

def encode_ordinary(name: str, text: str) -> list[int]:
    """Split a text into token ids as an embedded vocabulary's own tokenizer does, knowing no special tokens.

    Args:
        name: As for ``embedded_vocabulary``.
        text: Any text.

    Raises:
        KeyError: No such vocabulary is embedded.
    """
