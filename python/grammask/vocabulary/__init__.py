"""Vocabularies: the tokens of a model, read from the files and objects of common tokenizers."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.arguments import check_path, check_type
from grammask.errors import VocabularyError
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from typing_extensions import Self

    from grammask.vocabulary import huggingface, sentencepiece, tiktoken
    from grammask.vocabulary.token_table import Encoder, TokenTable

    EndTokens: TypeAlias = int | str | Iterable[int | str]

__all__ = ["Vocabulary"]


@named_keywords
class Vocabulary(_grammask.Vocabulary):
    """The tokens of a model: their bytes, the special tokens, and the end tokens.

    Immutable, safe to share between threads, and shared by all grammars without copying; make one per model.
    ``copy`` returns the object itself. Can be pickled.

    The ``from_*`` methods read the text to which a tokenizer *decodes* each token in the middle of a text. They share
    three options: ``special`` marks further tokens as special, ``eos`` gives the end tokens by id or by
    special name (``()`` for none; None takes those that the tokenizer names, and is an error if it names none), and
    ``size`` pads to the width of the model's logits. All raise ``VocabularyError`` for tokens that they cannot map
    to bytes exactly.

    >>> from grammask import Vocabulary
    >>> vocabulary = Vocabulary([b"a", b"b", b"ab", None], special={"<|end|>": 3}, eos="<|end|>")
    >>> vocabulary.token(2), vocabulary.token(3), vocabulary.eos
    (b'ab', None, (3,))
    """

    _make_encoder: Callable[[], Encoder] | None = None
    _encode: Encoder | None = None
    """The encoder of the tokenizer, once a text was encoded."""

    def __getstate__(self) -> None:
        """Pickles have the tokens, and no merges."""

    @classmethod
    def default(cls) -> Self:
        """Returns the embedded vocabulary: o200k_base of GPT-4o and gpt-oss, 199,998 tokens, eos ``<|endoftext|>``.

        Needs no file and no network. Cost: 0.1 s for the first call.
        """
        with _DEFAULTS_LOCK:
            vocabulary = _DEFAULTS.get(cls)
            if not isinstance(vocabulary, cls):
                vocabulary = cls.embedded("o200k_base")
                _DEFAULTS[cls] = vocabulary
        return vocabulary

    @classmethod
    def embedded(cls, name: str, *, eos: EndTokens | None = None) -> Self:
        """Returns a vocabulary in the extension module, which needs no file and no network.

        Args:
            name: ``"o200k_base"`` or ``"cl100k_base"``, as in tiktoken.
            eos: The end tokens; None for ``<|endoftext|>``.

        Raises:
            KeyError: No such vocabulary is embedded.
        """
        from grammask.vocabulary import tiktoken
        from grammask.vocabulary.token_table import TokenTable

        tokens, special = _grammask.embedded_vocabulary(name)
        encoder = lambda: lambda text: _grammask.encode_ordinary(name, text)  # noqa: E731
        return cls._of(
            TokenTable(tokens, special, [special[tiktoken.END_OF_TEXT]], name, encoder), None, eos, None
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a file that :meth:`save` wrote.

        Such a file opens 10 to 40 times as fast as that of a tokenizer, and needs no library: it is mapped into memory,
        and processes share it. Servers keep one per model. Do not change it in place; :meth:`save` replaces it. Bytes
        of :meth:`to_bytes` in a file are read too.

        Raises:
            OSError: The file cannot be read.
            VocabularyError: The file is not a saved vocabulary, is damaged, or has another version of the format
                (code ``invalid-saved-vocabulary``).

        >>> import os, tempfile
        >>> from grammask import Vocabulary
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.vocabulary")
        ...     Vocabulary([b"a", b"b", None], eos=2).save(path)
        ...     Vocabulary.load(path).tokens()
        [b'a', b'b', None]
        """
        return cls(_grammask.open_vocabulary(path))

    @staticmethod
    def is_saved(path: str | os.PathLike[str]) -> bool:
        """Whether a file begins like those of :meth:`save`.

        Raises:
            OSError: The file cannot be read.
        """
        from pathlib import Path  # Takes as long as a quarter of the package.

        check_path("path", path)
        with Path(path).open("rb") as file:
            return file.read(len(_SAVED_MAGIC)) == _SAVED_MAGIC

    @classmethod
    def from_bytes(cls, saved: bytes) -> Self:
        """Reads bytes that :meth:`to_bytes` returned, or those of a file of :meth:`save`, into memory of its own.

        Raises ``VocabularyError`` as :meth:`load`.
        """
        return cls(_grammask.saved_vocabulary(saved))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from the file of a tokenizer or the folder of a model.

        The format is recognised by the contents of the file: GGUF, ``tokenizer.json``, ``tekken.json``, ``*.tiktoken``
        or a SentencePiece model. In a folder, the first of these is used: ``tokenizer.json``, ``tekken.json``, the
        tokenizer that ``transformers`` loads, a single GGUF file.

        Args:
            path: The file or the folder.
            special: Further special tokens.
            eos: The end tokens; None for those that the tokenizer names.
            size: Number of ids with padding; None for the default of the format, or for the width in the
                ``config.json`` of a folder if that is larger.

        Raises:
            VocabularyError: The format is unknown, the file is damaged, its tokens cannot be mapped to bytes, or no end
                token is known.
        """
        from grammask.vocabulary import file_kinds

        check_path("path", path)
        table, width = file_kinds.read(path)
        if size is None and width is not None:
            size = max(width, len(table.tokens))
        return cls._of(table, special, eos, size)

    @classmethod
    def from_tiktoken(
        cls,
        source: tiktoken.Encoding | str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a ``tiktoken.Encoding`` or from a ``*.tiktoken`` file.

        Args:
            source: The encoding, or the path of a file with ``base64(bytes) rank`` lines. A file contains no
                special tokens: pass them in ``special``.
            special: Further special tokens.
            eos: The end tokens; None for the special token ``<|endoftext|>``.
            size: Number of ids with padding; None for the largest id plus one.

        Raises:
            VocabularyError: The file is damaged, or there is no ``<|endoftext|>`` and no ``eos``.
        """
        from grammask.vocabulary import tiktoken

        return cls._of(tiktoken.read(source), special, eos, size)

    @classmethod
    def from_tokenizer_json(
        cls,
        path: str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a ``tokenizer.json`` of the Hugging Face ``tokenizers`` library.

        The decoder in the file determines the bytes of the tokens. Supported are byte-level decoders (GPT-2, Llama 3,
        Qwen, DeepSeek), byte fallback (Llama 2, Mistral, Gemma, Phi-3), Metaspace (Unigram models) and WordPiece. CTC,
        ``</w>`` suffixes and files without a decoder are not, because the text of a token then depends on its
        neighbours.

        Args:
            path: The file.
            special: Special tokens in addition to the added tokens that the file marks as special.
            eos: The end tokens; None for those that ``generation_config.json`` or ``tokenizer_config.json``
                in the same folder name.
            size: Number of ids with padding; None for the largest id plus one.

        Raises:
            VocabularyError: The file is damaged, its tokens cannot be mapped to bytes, or no end token is known.
        """
        from grammask.vocabulary import tokenizer_json

        check_path("path", path)
        return cls._of(tokenizer_json.read(path), special, eos, size)

    @classmethod
    def from_tekken(
        cls,
        path: str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a ``tekken.json`` of Mistral.

        Args:
            path: The file.
            special: Special tokens in addition to those of the file.
            eos: The end tokens; None for ``</s>``.
            size: Number of ids with padding; None for the vocabulary size in the file.

        Raises:
            VocabularyError: The file is damaged.
        """
        from grammask.vocabulary import tekken

        check_path("path", path)
        return cls._of(tekken.read(path), special, eos, size)

    @classmethod
    def from_huggingface(
        cls,
        tokenizer: huggingface.Tokenizer,
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a tokenizer of ``transformers``, fast or slow, or from a ``tokenizers.Tokenizer``.

        Each token is compared with its decoding by the tokenizer.

        Args:
            tokenizer: The tokenizer. Fast ones are read like their file by ``from_tokenizer_json``; the common families
                of slow ones are supported, and tokenizers of mistral-common, also in the wrapper of ``transformers``.
            special: Further special tokens.
            eos: The end tokens; None for the ``eos_token_id`` of the tokenizer. Prefer the model's
                ``generation_config.eos_token_id``, which is often a longer list.
            size: Number of ids with padding, preferably the model's ``config.vocab_size``; None for the largest id
                plus one.

        Raises:
            VocabularyError: The tokens cannot be mapped to bytes, or no end token is known.

        Cost: 0.5 s for a fast tokenizer with 200,000 tokens.
        """
        from grammask.vocabulary import huggingface

        return cls._of(huggingface.read(tokenizer), special, eos, size)

    @classmethod
    def from_sentencepiece(
        cls,
        source: sentencepiece.Processor | str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a SentencePiece model: a ``*.model`` file, or a ``SentencePieceProcessor``.

        Reading a file does not need the ``sentencepiece`` library. The text of a token is its decoding between other
        tokens; each token of a processor is compared with it. For tokenizers with another numbering of the pieces, such
        as XLM-RoBERTa's, use ``from_huggingface``.

        Args:
            source: The path of the file, or the processor.
            special: Special tokens in addition to the control and unknown pieces.
            eos: The end tokens; None for that of the training options in the model.
            size: Number of ids with padding; None for the number of pieces.

        Raises:
            VocabularyError: The file is damaged, has rules that rewrite decoded texts, or names no end token.
        """
        from grammask.vocabulary import sentencepiece

        return cls._of(sentencepiece.read(source), special, eos, size)

    @classmethod
    def from_gguf(
        cls,
        path: str | os.PathLike[str],
        *,
        special: Mapping[str, int] | None = None,
        eos: EndTokens | None = None,
        size: int | None = None,
    ) -> Self:
        """Makes a vocabulary from a GGUF file, the format of llama.cpp; needs no library, and reads no weights.

        Supported are the tokenizers ``llama``, ``gpt2``, ``t5``, ``bert`` and ``gemma4`` of the format.

        Args:
            path: The file; the first one if the model has several.
            special: Special tokens in addition to those of the types control and unknown.
            eos: The end tokens; None for the ends of text, turn and message in the file.
            size: Number of ids with padding; None for the number of tokens.

        Raises:
            VocabularyError: The file is damaged, its tokenizer is not supported, or it names no end token.
        """
        from grammask.vocabulary import gguf

        check_path("path", path)
        return cls._of(gguf.read(path), special, eos, size)

    @classmethod
    def _of(
        cls, table: TokenTable, special: Mapping[str, int] | None, eos: EndTokens | None, size: int | None
    ) -> Self:
        """Makes a vocabulary from the tokens of a tokenizer and the common options."""
        if special is not None:
            check_type("special", special, Mapping, "a mapping of names to ids")
        if eos is None:
            eos = table.required_eos()
        all_special = {**table.special, **(special or {})}
        vocabulary = cls(table.with_room_for(all_special.values()), special=all_special, eos=eos, size=size)
        vocabulary._make_encoder = table.encoder
        return vocabulary

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text, exactly as the tokenizer encodes it, without special tokens.

        Names of special tokens in the text are text, as in ``encode_ordinary`` of tiktoken and with
        ``encode_special_tokens`` of ``tokenizers``. Supported are the vocabularies of :meth:`default` and of
        :meth:`from_tiktoken` with an encoding; byte-pair encodings of a ``tokenizer.json`` and of
        :meth:`from_huggingface`, by whatever library; and GGUF files with merges whose pieces are those of GPT-2,
        SmolLM, Llama 3 or Qwen2, as llama.cpp encodes them.

        Raises:
            VocabularyError: The source of the vocabulary has no merges, as tokens, saved files, ``*.tiktoken`` files,
                SentencePiece and tekken have not, or the tokenizer has a part that is not known (code
                ``unsupported-tokenizer``).
            OSError: The file of the tokenizer, which is read again by the first call, cannot be read.

        Cost: reading the merges in the first call, about as much as reading the tokens; then some microseconds for each
        token.

        >>> from grammask import Vocabulary
        >>> vocabulary = Vocabulary.default()
        >>> [vocabulary.token(id) for id in vocabulary.encode("tokens of a text")]
        [b'tokens', b' of', b' a', b' text']
        """
        check_type("text", text, str, "a str")
        if self._encode is None:
            if self._make_encoder is None:
                raise VocabularyError(
                    "the vocabulary has no merges, so texts cannot be encoded; read it from a tokenizer.json, a GGUF "
                    "file with merges, or an encoding of tiktoken",
                    "unsupported-tokenizer",
                )
            self._encode = self._make_encoder()
        return list(self._encode(text))


_SAVED_MAGIC = b"gmskvoc\n"
"""The first bytes of a saved vocabulary."""

_DEFAULTS: dict[type[Vocabulary], Vocabulary] = {}
_DEFAULTS_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    # A forked process lacks the thread that may hold the lock.
    os.register_at_fork(
        before=_DEFAULTS_LOCK.acquire,
        after_in_parent=_DEFAULTS_LOCK.release,
        after_in_child=_DEFAULTS_LOCK.release,
    )
