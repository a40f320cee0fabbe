"""The tokenizers of llguidance: the bytes of tokens, and a function that tokenizes texts."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, Any

from grammask.vocabulary import Vocabulary, tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["LLTokenizer", "TokenizerWrapper"]

_SPECIAL_OF_BYTES = ("<|tool|>", "<|/tool|>", "<|user|>", "<|system|>", "<|assistant|>", "<|end|>")
_LOOKED_BACK = 4
"""Number of tokens at the end of a text that a longer token may replace."""
_ID_IN_BRACKETS = re.compile(rb"\[(\d{1,10})\]")


class TokenizerWrapper:
    """An adapter for a user-defined tokenizer.

    Args:
        gtokenizer: An object with ``tokens`` (their bytes, by id), ``eos_token_id``, ``bos_token_id`` and optionally
            ``special_token_ids``, which tokenizes bytes or a string when it is called.
    """

    def __init__(self, gtokenizer: Any) -> None:
        self.eos_token_id: int = gtokenizer.eos_token_id
        self.bos_token_id: int | None = gtokenizer.bos_token_id
        self.tokens: Sequence[bytes] = gtokenizer.tokens
        self.special_token_ids: Sequence[int] = getattr(gtokenizer, "special_token_ids", [])
        self.is_tokenizer_wrapper = True
        self._tokenizer = gtokenizer
        try:
            gtokenizer(b"test")
        except Exception:  # noqa: BLE001 - a tokenizer for strings may raise any exception for bytes
            self._takes_bytes = False
        else:
            self._takes_bytes = True

    def __call__(self, text: str) -> list[int]:
        """Returns the ids of the tokens of a text."""
        return list(self._tokenizer(text.encode() if self._takes_bytes else text))


class LLTokenizer:
    """The tokens of a model.

    Args:
        tokenizer: The path of a ``tokenizer.json``, its text, a :class:`TokenizerWrapper`, or ``"byte"`` for a
            vocabulary of single bytes and a few special tokens, for tests.
        n_vocab: The width of the model's logits.
        eos_token: The end tokens; the tokenizer's own if None.
        slices: Ignored: an optimisation of llguidance.

    Raises:
        ValueError: The file does not exist, or its tokens cannot be mapped to bytes.
    """

    def __init__(
        self,
        tokenizer: str | TokenizerWrapper,
        n_vocab: int | None = None,
        eos_token: int | Sequence[int] | None = None,
        slices: list[str] | None = None,
    ) -> None:
        self._slices = slices
        ends = [eos_token] if isinstance(eos_token, int) else eos_token
        encode: Callable[[str], Sequence[int]] | None
        try:
            if tokenizer == "byte":
                vocabulary = _of_bytes(n_vocab, ends)
                encode = _encode_bytes
            elif isinstance(tokenizer, str):
                vocabulary = _of_text(tokenizer, n_vocab, ends)
                encode = _encoder_of(tokenizer)
            else:
                vocabulary = _of_wrapper(tokenizer, n_vocab, ends)
                encode = tokenizer
        except OSError as error:
            msg = f"error loading tokenizer: {error}"
            raise ValueError(msg) from error
        self._set(vocabulary, encode)

    def _set(self, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]] | None) -> None:
        self._vocabulary = vocabulary
        self._encode = encode
        self._sorted: list[bytes] | None = None
        self._names: dict[int, str] = {id: name for name, id in vocabulary.special.items()}

    @classmethod
    def from_vocabulary(
        cls, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]] | None = None
    ) -> LLTokenizer:
        """Returns the tokenizer for a vocabulary of grammask; an addition to llguidance's interface."""
        made = object.__new__(cls)
        made._slices = None
        made._set(vocabulary, encode)
        return made

    @staticmethod
    def from_tiktoken(
        *,
        encoder: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        pattern: str,
        eos_token: int | Sequence[int],
        n_vocab: int | None = None,
        slices: list[str] | None = None,
    ) -> LLTokenizer:
        """Returns the tokenizer for ranks of tiktoken."""
        del slices
        size = max(*encoder.values(), *special_tokens.values()) + 1
        tokens: list[bytes | None] = [None] * size
        for token, id in encoder.items():
            tokens[id] = token
        ends = [eos_token] if isinstance(eos_token, int) else list(eos_token)
        vocabulary = Vocabulary(tokens, special=dict(special_tokens), eos=ends, size=n_vocab)
        return LLTokenizer.from_vocabulary(vocabulary, _tiktoken_encoder(encoder, special_tokens, pattern))

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of grammask that implements it; an addition to llguidance's interface."""
        return self._vocabulary

    @property
    def encode(self) -> Callable[[str], Sequence[int]] | None:
        """The function that tokenizes texts, if there is one."""
        return self._encode

    @property
    def vocab_size(self) -> int:
        """The width of the model's logits."""
        return self._vocabulary.size

    @property
    def eos_token(self) -> int:
        """The first end token."""
        return self._vocabulary.eos[0]

    @property
    def eos_tokens(self) -> list[int]:
        """The end tokens."""
        return list(self._vocabulary.eos)

    @property
    def is_canonical(self) -> bool:
        """Whether tokenization equals that of the model's tokenizer."""
        return self._encode is not None

    def with_slices(self, slices: list[str]) -> LLTokenizer:
        """Returns the same tokenizer, since there are no slices."""
        del slices
        return self

    @staticmethod
    def general_slices() -> list[str]:
        """Returns expressions that tokens of most grammars match; they change nothing here."""
        return [".*"]

    @staticmethod
    def json_slices() -> list[str]:
        """Returns expressions that tokens of JSON strings match; they change nothing here."""
        return [r'[^"\\\x00-\x1F\x7F]*']

    def is_special_token(self, token: int) -> bool:
        """Whether a token is a special token or an end token."""
        return token in self._names or token in self._vocabulary.eos

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of tokens; those of a special token are its name."""
        return b"".join(
            self._vocabulary.token(token) or self._names.get(token, "").encode() for token in tokens
        )

    def decode_str(self, tokens: Sequence[int]) -> str:
        """Returns the text of tokens, with U+FFFD for invalid UTF-8."""
        return self.decode_bytes(tokens).decode(errors="replace")

    def dbg_tokens(self, tokens: Sequence[int]) -> str:
        """Returns a readable form of tokens."""
        return f"\u27e6{self._shown(tokens, escape=True)}\u27e7"

    def test_trace_tokens(self, tokens: Sequence[int]) -> str:
        """Returns a readable form of tokens for traces of tests."""
        return self._shown(tokens, escape=False)

    def _shown(self, tokens: Sequence[int], *, escape: bool) -> str:
        shown: list[str] = []
        for token in tokens:
            text = self.decode_str([token])
            if token in self._vocabulary.eos:
                text = "\u227aEOS\u227b"
            elif escape:
                text = (
                    text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
                )
            shown.append(text)
        return "\u2027".join(shown)

    def greedy_tokenize(self, text: str | bytes) -> list[int]:
        """Tokenizes a text greedily, by the longest token at each position; differs from the model's tokenizer.

        Raises:
            ValueError: No token matches at some position.
        """
        rest = text.encode() if isinstance(text, str) else text
        ids: list[int] = []
        while rest:
            for end in range(min(len(rest), 128), 0, -1):
                matching = [id for id in self._vocabulary.ids_of(rest[:end]) if not self.is_special_token(id)]
                if matching:
                    ids.append(matching[0])
                    rest = rest[end:]
                    break
            else:
                msg = f"no token begins {rest[:10]!r}"
                raise ValueError(msg)
        return ids

    def tokenize_bytes(self, utf8bytes: bytes, *, parse_special: bool = False) -> list[int]:
        """Tokenizes bytes: a prefix in UTF-8 by the tokenizer, the rest greedily."""
        text = utf8bytes.decode(errors="ignore")
        if text.encode() != utf8bytes[: len(text.encode())]:
            text = ""  # The invalid bytes are not at the end.
        rest = utf8bytes[len(text.encode()) :]
        return self.tokenize_str(text, parse_special=parse_special) + self.greedy_tokenize(rest)

    def tokenize_partial(
        self, new_bytes: bytes, recent_tokens: Sequence[int] | None = None
    ) -> tuple[list[int], bytes]:
        """Tokenizes the beginning of a text whose rest is unknown.

        A byte 0xFF stands before a special token: its name, or its id in brackets. Tokens at the end are dropped if
        some token of the vocabulary could continue within their bytes: those bytes are left.

        Args:
            new_bytes: The bytes.
            recent_tokens: The tokens before the bytes; the last one is taken into account if tokenization keeps it.

        Returns:
            The tokens, and the bytes that are left.

        Raises:
            ValueError: There is no tokenizer, so that tokens would differ from the model's, or no special token follows
                a mark.
        """
        if not self.is_canonical:
            msg = "tokenize_partial needs a tokenizer"
            raise ValueError(msg)
        before = list(recent_tokens or [])[-1:]
        tokens, fixed = self._tokenize_marked(self._marked_bytes(before) + new_bytes)
        if before and tokens[:1] == before:
            tokens, fixed = tokens[1:], max(fixed - 1, 0)
        elif before:
            tokens, fixed = self._tokenize_marked(new_bytes)
        end = b"".join(self._vocabulary.token(token) or b"" for token in tokens[fixed:][-_LOOKED_BACK:])
        open_bytes = next((len(end) - at for at in range(len(end)) if self._has_longer_token(end[at:])), 0)
        left = b""
        while len(left) < open_bytes:
            left = (self._vocabulary.token(tokens.pop()) or b"") + left
        return tokens, left

    def _marked_bytes(self, tokens: Sequence[int]) -> bytes:
        texts = [self._vocabulary.token(token) for token in tokens]
        return b"".join(
            b"\xff[%d]" % token if text is None or token in self._names else text
            for token, text in zip(tokens, texts, strict=True)
        )

    def _tokenize_marked(self, marked: bytes) -> tuple[list[int], int]:
        """Returns the tokens of bytes with marked special tokens, and the number of tokens up to the last of these."""
        first, *others = marked.split(b"\xff")
        tokens = self.tokenize_bytes(first)
        fixed = 0
        for part in others:
            number = _ID_IN_BRACKETS.match(part)
            names = [name for name in self._vocabulary.special if part.startswith(name.encode())]
            name = max(names, key=len, default="")
            if number is not None and int(number[1]) < self.vocab_size:
                tokens.append(int(number[1]))
                rest = part[number.end() :]
            elif name:
                tokens.append(self._vocabulary.special[name])
                rest = part[len(name.encode()) :]
            else:
                msg = f"no special token begins {part[:10]!r}"
                raise ValueError(msg)
            fixed = len(tokens)
            tokens.extend(self.tokenize_bytes(rest))
        return tokens, fixed

    def _has_longer_token(self, text: bytes) -> bool:
        """Whether a token begins with the text and is longer."""
        if self._sorted is None:
            self._sorted = sorted(token for token in self._vocabulary.tokens() if token)
        at = bisect.bisect_right(self._sorted, text)
        return at < len(self._sorted) and self._sorted[at].startswith(text)

    def tokenize_str(self, text: str, *, parse_special: bool = False) -> list[int]:
        """Tokenizes a text by the tokenizer."""
        ids: list[int] = []
        for is_special, part in self._parts(text) if parse_special else [(False, text)]:
            if is_special:
                ids.append(self._vocabulary.special[part])
            elif self._encode is None:
                ids.extend(self.greedy_tokenize(part))
            elif part:
                ids.extend(self._encode(part))
        return ids

    def _parts(self, text: str) -> list[tuple[bool, str]]:
        """Splits a text at the names of special tokens into pairs (is special, text)."""
        names = sorted((name for name in self._vocabulary.special if name), key=len, reverse=True)
        parts: list[tuple[bool, str]] = []
        while text:
            at, name = min(
                ((text.find(name), name) for name in names if name in text),
                key=lambda match: (match[0], -len(match[1])),
                default=(len(text), ""),
            )
            if at:
                parts.append((False, text[:at]))
            if name:
                parts.append((True, name))
            text = text[at + len(name) :]
        return parts


def _of_bytes(n_vocab: int | None, eos: Sequence[int] | None) -> Vocabulary:
    """Returns the vocabulary whose tokens are the bytes, followed by special tokens, of which the last is the end."""
    special = {name: 256 + at for at, name in enumerate(_SPECIAL_OF_BYTES)}
    tokens = [*(bytes([byte]) for byte in range(256)), *[None] * len(special)]
    return Vocabulary(tokens, special=special, eos=[len(tokens) - 1] if eos is None else eos, size=n_vocab)


def _encode_bytes(text: str) -> list[int]:
    return list(text.encode())


def _of_text(text: str, n_vocab: int | None, eos: Sequence[int] | None) -> Vocabulary:
    if not text.lstrip().startswith("{"):
        return Vocabulary.from_tokenizer_json(text, eos=eos, size=n_vocab)
    table = tokenizer_json.table(text, "tokenizer", [], "the text names no end token; pass eos_token")
    ends = table.required_eos() if eos is None else eos
    return Vocabulary(table.with_room_for(()), special=table.special, eos=ends, size=n_vocab)


def _of_wrapper(wrapper: TokenizerWrapper, n_vocab: int | None, eos: Sequence[int] | None) -> Vocabulary:
    special: dict[str, int] = {}
    for id in wrapper.special_token_ids:
        special.setdefault(wrapper.tokens[id].decode(errors="replace") or f"<[{id}]>", id)
    ends = [wrapper.eos_token_id] if eos is None else eos
    return Vocabulary(wrapper.tokens, special=special, eos=ends, size=n_vocab)


def _encoder_of(tokenizer: str) -> Callable[[str], Sequence[int]] | None:
    """Returns the tokenization function of a tokenizer.json, if the library ``tokenizers`` is installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    is_text = tokenizer.lstrip().startswith("{")
    backend = (
        tokenizers.Tokenizer.from_str(tokenizer) if is_text else tokenizers.Tokenizer.from_file(tokenizer)
    )

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def _tiktoken_encoder(
    encoder: Mapping[bytes, int], special_tokens: Mapping[str, int], pattern: str
) -> Callable[[str], Sequence[int]] | None:
    try:
        import tiktoken
    except ImportError:
        return None
    encoding = tiktoken.Encoding(
        "grammask", pat_str=pattern, mergeable_ranks=dict(encoder), special_tokens=dict(special_tokens)
    )
    return encoding.encode_ordinary
