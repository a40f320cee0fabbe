"""``Engine`` of kbnf: accept tokens, compute masks, mask logits."""

from __future__ import annotations

import sys
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.grammar import Grammar
from grammask.kbnf.config import Config
from grammask.kbnf.outcomes import (
    AcceptTokenResult,
    Finished,
    InvalidLogitsLength,
    Rejected,
    UnknownTokenID,
)
from grammask.kbnf.vocabulary import Vocabulary
from grammask.kbnf.writable_buffer import writable_buffer
from grammask.masks import allocate_mask, apply_mask

if TYPE_CHECKING:
    from typing import SupportsIndex

    import numpy.typing as npt

_INDEX_TYPES = (np.uintp, np.int64, np.uint64)
"""Element types of buffers for ids; elements at an address have the platform's ``usize``, as in kbnf."""


class Engine:
    """Generates texts of a KBNF grammar, one after the other. Copies are independent and cheap.

    *The last computation* is that of :meth:`compute_allowed_token_ids` or :meth:`update_logits`; accepting a token does
    not compute a mask. Before the first computation, and after :meth:`reset`, no id is allowed.
    """

    __slots__ = ("__weakref__", "_allowed", "_grammar", "_matcher", "_vocabulary")

    def __init__(
        self, kbnf_syntax_grammar_str: str, vocabulary: Vocabulary, config: Config | None = None
    ) -> None:
        """Makes an engine at the beginning of a text.

        Args:
            kbnf_syntax_grammar_str: The grammar.
            vocabulary: The tokens; shared with the other engines that use them.
            config: Options, which are read here; later changes have no effect.

        Raises:
            grammask.GrammarError: The grammar is invalid, has no nonempty text, or exceeds a limit. It is a
                ``ValueError``, and its message shows the places.
            TypeError: An argument has another type.
        """
        config = Config() if config is None else config
        for name, value, kind in (("vocabulary", vocabulary, Vocabulary), ("config", config, Config)):
            if not isinstance(value, kind):
                msg = f"{name} is a grammask.kbnf.{kind.__name__}, not {type(value).__name__}"
                raise TypeError(msg)
        limits = config.limits()
        self._grammar = Grammar.from_kbnf(
            kbnf_syntax_grammar_str, start=config.start_nonterminal, limits=limits
        )
        self._matcher = self._grammar.compile(vocabulary.shared, end="eager", limits=limits).matcher()
        self._vocabulary = vocabulary
        self._allowed = self._empty_mask()

    def try_accept_new_token(self, token_id: SupportsIndex) -> AcceptTokenResult:
        """Accepts a token; raises an error, and changes nothing, for an illegal one.

        Raises:
            AcceptTokenError.UnknownTokenID: The vocabulary has no such token.
            AcceptTokenError.Finished: The text has ended.
            AcceptTokenError.Rejected: The grammar does not allow the token here.
            grammask.LimitExceeded: A limit was exceeded.
        """
        id = index(token_id)
        if id not in self._vocabulary:
            msg = f"the vocabulary has no token {id}"
            raise UnknownTokenID(msg)
        self._check_not_finished()
        if not self._matcher.accept(id):
            raise Rejected(str(self._matcher.explain(id)))
        return self._result()

    def try_accept_new_bytes(self, _bytes: bytes) -> AcceptTokenResult:
        """Accepts bytes like one token; raises an error, and changes nothing, for illegal ones. Empty bytes are legal.

        Raises:
            AcceptTokenError.Finished: The text has ended.
            AcceptTokenError.Rejected: The grammar does not allow the bytes here.
            grammask.LimitExceeded: A limit was exceeded.
        """
        self._check_not_finished()
        if not self._matcher.accept_bytes(_bytes):
            msg = f"the grammar does not allow the bytes {_bytes!r} here"
            raise Rejected(msg)
        return self._result()

    def compute_allowed_token_ids(self) -> None:
        """Computes the mask of the next token, which is empty if the text has ended.

        Raises:
            grammask.DeadEnd: The text has not ended, and no token of the vocabulary is legal.
            grammask.LimitExceeded: A limit was exceeded.
        """
        allowed = self._empty_mask()
        if not self._matcher.is_finished:
            self._matcher.fill_mask(allowed)
        self._allowed = allowed

    def get_allowed_token_ids_from_last_computation(self) -> list[int]:
        """Returns the allowed ids, ascending."""
        ids: list[int] = np.flatnonzero(self._bits()).tolist()
        return ids

    def get_disallowed_token_ids_from_last_computation(self) -> list[int]:
        """Returns the ids of the vocabulary's range that are not allowed, ascending."""
        ids: list[int] = np.flatnonzero(~self._bits()).tolist()
        return ids

    def check_if_token_is_allowed(self, token_id: SupportsIndex) -> bool:
        """Whether the last computation allows a token; False for ids beyond the vocabulary."""
        bits = self._bits()
        return 0 <= index(token_id) < len(bits) and bool(bits[index(token_id)])

    def get_number_of_allowed_token_ids(self) -> int:
        """Returns the number of allowed ids."""
        return int(np.count_nonzero(self._bits()))

    def get_number_of_disallowed_token_ids(self) -> int:
        """Returns the number of ids in the vocabulary's range that are not allowed."""
        return self._vocabulary.get_vocab_size() - self.get_number_of_allowed_token_ids()

    def get_index_of_allowed_token_ids(self) -> bytes:
        """Returns the set of allowed ids as bytes, bit ``i & 7`` of byte ``i >> 3`` for id i: a key for caches."""
        text = self._allowed.tobytes()
        return text.ljust(-(-len(text) // 8) * 8, b"\0")

    def write_allowed_token_ids_to_buffer(self, ptr: Any, length: int | None = None) -> None:
        """Writes the allowed ids, ascending, to the beginning of a buffer.

        Args:
            ptr: An int64 or uint64 array or CPU tensor, or the address of ``usize`` integers.
            length: The number of elements; needed for an address.

        Raises:
            ValueError: The buffer is too short; nothing was written.
            TypeError: The buffer has another type.
        """
        ids = np.flatnonzero(self._bits())
        writable_buffer(ptr, length, _INDEX_TYPES, len(ids))[: len(ids)] = ids

    def write_disallowed_token_ids_to_buffer(self, ptr: Any, length: int | None = None) -> None:
        """Writes the ids that are not allowed, like :meth:`write_allowed_token_ids_to_buffer`."""
        ids = np.flatnonzero(~self._bits())
        writable_buffer(ptr, length, _INDEX_TYPES, len(ids))[: len(ids)] = ids

    def fill_torch_bitmask(self, bitmask_ptr: Any, length: int | None = None) -> None:
        """Writes the mask of the last computation, bit ``i & 31`` of word ``i >> 5`` for id i; clears further words.

        Args:
            bitmask_ptr: An int32 array or CPU tensor of at least ``ceil(get_vocab_size() / 32)`` words, or their
                address. kbnf takes an address alone, and writes up to four bytes beyond the buffer.
            length: The number of words; needed for an address.

        Raises:
            ValueError: The buffer is too short; nothing was written.
            TypeError: The buffer has another type, or is an address without a length.
        """
        words = len(self._allowed)
        target = writable_buffer(bitmask_ptr, length, (np.int32,), words)
        target[:words] = self._allowed
        target[words:] = 0

    def mask_logits(self, logits: Any) -> Any:
        """Sets the logits of ids that are not allowed by the last computation to negative infinity.

        Args:
            logits: A numpy array or a torch tensor of shape ``[n]`` or ``[1, n]``; n may be larger than the vocabulary.
                Changed in place, except for read-only arrays and integer arrays, which are copied.

        Returns:
            The masked logits: the same object if it was changed in place.

        Raises:
            MaskLogitsError.InvalidLogitsLength: There are fewer logits than ids.
            ValueError: The shape is another one.
            TypeError: The argument is not an array or tensor.
        """
        self._check_logits(logits)
        return self._masked(logits)

    def update_logits(self, token_id: SupportsIndex, logits: Any) -> tuple[Any, AcceptTokenResult]:
        """Accepts a token and, unless the text has ended, computes the next mask and applies it to the logits.

        Args:
            token_id: The token.
            logits: As for :meth:`mask_logits`.

        Returns:
            The logits, masked if the result is ``Ongoing``, and the result.

        Raises:
            UpdateLogitsError.UnknownTokenID, UpdateLogitsError.Rejected, UpdateLogitsError.Finished: The token was not
                accepted.
            UpdateLogitsError.InvalidLogitsLength: There are fewer logits than ids.
            grammask.DeadEnd, grammask.LimitExceeded: As for :meth:`compute_allowed_token_ids`; the token is rolled
                back.
            ValueError, TypeError: As for :meth:`mask_logits`.
        """
        self._check_logits(logits)
        result = self.try_accept_new_token(token_id)
        if result is AcceptTokenResult.Finished:
            return logits, result
        try:
            self.compute_allowed_token_ids()
        except GrammarError:
            self._matcher.rollback()
            raise
        return self._masked(logits), result

    def is_finished(self) -> bool:
        """Whether the text has ended."""
        return self._matcher.is_finished

    def reset(self) -> None:
        """Returns to the beginning of the text; the caches of the grammar are kept."""
        self._matcher.reset()
        self._allowed = self._empty_mask()

    def get_vocab(self) -> Vocabulary:
        """Returns the vocabulary of the engine itself, not a copy."""
        return self._vocabulary

    def shrink_to_fit(self) -> None:
        """Does nothing: memory is bounded by ``grammask.Limits``."""

    def __copy__(self) -> Engine:
        copy = object.__new__(type(self))
        copy._grammar = self._grammar
        copy._matcher = self._matcher.fork()
        copy._vocabulary = self._vocabulary
        copy._allowed = self._allowed
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"Engine({self._grammar!r}, {self._vocabulary!r}, {self._matcher!r})"

    def _empty_mask(self) -> npt.NDArray[np.int32]:
        return allocate_mask(1, self._vocabulary.get_vocab_size()).reshape(-1)

    def _bits(self) -> npt.NDArray[np.bool_]:
        bits = np.unpackbits(
            self._allowed.view(np.uint8), count=self._vocabulary.get_vocab_size(), bitorder="little"
        )
        return bits.view(np.bool_)

    def _result(self) -> AcceptTokenResult:
        return AcceptTokenResult.Finished if self._matcher.is_finished else AcceptTokenResult.Ongoing

    def _check_not_finished(self) -> None:
        if self._matcher.is_finished:
            msg = "the text has ended, as its grammar says; reset the engine to begin another one"
            raise Finished(msg)

    def _check_logits(self, logits: Any) -> None:
        torch = sys.modules.get("torch")
        if not isinstance(logits, np.ndarray) and (torch is None or not isinstance(logits, torch.Tensor)):
            msg = f"logits are a numpy array or a torch tensor, not {type(logits).__name__}"
            raise TypeError(msg)
        shape = tuple(logits.shape)
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != 1):
            msg = f"logits have the shape [n] or [1, n], not {list(shape)}"
            raise ValueError(msg)
        if shape[-1] < self._vocabulary.get_vocab_size():
            msg = f"there are {shape[-1]} logits for a vocabulary of {self._vocabulary.get_vocab_size()} ids"
            raise InvalidLogitsLength(msg)

    def _masked(self, logits: Any) -> Any:
        if isinstance(logits, np.ndarray):
            if not np.issubdtype(logits.dtype, np.floating):
                logits = logits.astype(np.float32)
            elif not logits.flags.writeable:
                logits = logits.copy()
        elif not logits.is_floating_point():
            logits = logits.float()
        apply_mask(logits, self._allowed)
        return logits
