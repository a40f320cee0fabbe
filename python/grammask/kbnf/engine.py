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
from grammask.kbnf.writable_buffer import writable_buffer
from grammask.masks import allocate_mask, apply_mask

if TYPE_CHECKING:
    from typing import SupportsIndex

    import numpy.typing as npt

    from grammask.kbnf.vocabulary import Vocabulary

_INDEX_TYPES = (np.uintp, np.int64, np.uint64)
"""Elements of buffers for ids; those at an address are of the platform's ``usize``, as in kbnf."""


class Engine:
    """Generates texts of a KBNF grammar one after the other. Copies are independent and cheap.

    *The last computation* is the one of :meth:`compute_allowed_token_ids` or :meth:`update_logits`; accepting a token
    computes nothing. Before the first one, and after :meth:`reset`, nothing is allowed.
    """

    __slots__ = ("__weakref__", "_allowed", "_grammar", "_matcher", "_vocabulary")

    def __init__(
        self, kbnf_syntax_grammar_str: str, vocabulary: Vocabulary, config: Config | None = None
    ) -> None:
        """Makes an engine at the beginning of a text.

        Args:
            kbnf_syntax_grammar_str: The grammar.
            vocabulary: The tokens; shared with the other engines that use them.
            config: Options; it is read now and may be changed afterwards.

        Raises:
            grammask.GrammarError: The grammar has errors, only empty texts or none, or passes a limit. It is a
                ``ValueError``, and its text shows the places.
        """
        config = Config() if config is None else config
        limits = config.limits()
        self._grammar = Grammar.from_kbnf(
            kbnf_syntax_grammar_str, start=config.start_nonterminal, limits=limits
        )
        self._matcher = self._grammar.compile(vocabulary.shared, end="eager", limits=limits).matcher()
        self._vocabulary = vocabulary
        self._allowed = self._nothing()

    def try_accept_new_token(self, token_id: SupportsIndex) -> AcceptTokenResult:
        """Accepts a token, or changes nothing and raises an error.

        Raises:
            AcceptTokenError.UnknownTokenID: The vocabulary has no such token.
            AcceptTokenError.Finished: The text has ended.
            AcceptTokenError.Rejected: The grammar does not allow the token here.
            grammask.LimitExceeded: A budget was passed.
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
        """Accepts bytes as if they were one token, or changes nothing and raises an error. Empty bytes do nothing.

        Raises:
            AcceptTokenError.Finished: The text has ended.
            AcceptTokenError.Rejected: The grammar does not allow the bytes here.
            grammask.LimitExceeded: A budget was passed.
        """
        self._check_not_finished()
        if not self._matcher.accept_bytes(_bytes):
            msg = f"the grammar does not allow the bytes {_bytes!r} here"
            raise Rejected(msg)
        return self._result()

    def compute_allowed_token_ids(self) -> None:
        """Computes which tokens can come next: none if the text has ended.

        Raises:
            grammask.DeadEnd: The text goes on, and no token of the vocabulary can come next.
            grammask.LimitExceeded: A budget was passed.
        """
        allowed = self._nothing()
        if not self._matcher.is_finished:
            self._matcher.fill_mask(allowed)
        self._allowed = allowed

    def get_allowed_token_ids_from_last_computation(self) -> list[int]:
        """Returns the allowed ids, ascending."""
        ids: list[int] = np.flatnonzero(self._bits()).tolist()
        return ids

    def get_disallowed_token_ids_from_last_computation(self) -> list[int]:
        """Returns the other ids up to the largest one of the vocabulary, ascending."""
        ids: list[int] = np.flatnonzero(~self._bits()).tolist()
        return ids

    def check_if_token_is_allowed(self, token_id: SupportsIndex) -> bool:
        """Whether the last computation allows a token; false for ids that the vocabulary does not have."""
        bits = self._bits()
        return 0 <= index(token_id) < len(bits) and bool(bits[index(token_id)])

    def get_number_of_allowed_token_ids(self) -> int:
        """Counts the allowed ids."""
        return int(np.count_nonzero(self._bits()))

    def get_number_of_disallowed_token_ids(self) -> int:
        """Counts the other ids up to the largest one of the vocabulary."""
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
            TypeError: It is no such buffer.
        """
        ids = np.flatnonzero(self._bits())
        writable_buffer(ptr, length, _INDEX_TYPES, len(ids))[: len(ids)] = ids

    def write_disallowed_token_ids_to_buffer(self, ptr: Any, length: int | None = None) -> None:
        """Writes the other ids, as :meth:`write_allowed_token_ids_to_buffer` writes the allowed ones."""
        ids = np.flatnonzero(~self._bits())
        writable_buffer(ptr, length, _INDEX_TYPES, len(ids))[: len(ids)] = ids

    def fill_torch_bitmask(self, bitmask_ptr: Any, length: int | None = None) -> None:
        """Writes the mask of the last computation, bit ``i & 31`` of word ``i >> 5`` for id i; clears what is beyond.

        Args:
            bitmask_ptr: An int32 array or CPU tensor of at least ``ceil(get_vocab_size() / 32)`` words, or their
                address. kbnf takes the address alone, and writes up to four bytes too many.
            length: The number of words; needed for an address.

        Raises:
            ValueError: The buffer is too short; nothing was written.
            TypeError: It is no such buffer, or an address without a length.
        """
        words = len(self._allowed)
        target = writable_buffer(bitmask_ptr, length, (np.int32,), words)
        target[:words] = self._allowed
        target[words:] = 0

    def mask_logits(self, logits: Any) -> Any:
        """Sets the logits of the ids that the last computation does not allow to negative infinity.

        Args:
            logits: A numpy array or a tensor of torch, of shape ``[n]`` or ``[1, n]``; n may be larger than the
                vocabulary. Changed in place and keeping its type, except for read-only arrays and ones of integers,
                of which a masked copy is made.

        Returns:
            The masked logits: the same object if it was changed in place.

        Raises:
            MaskLogitsError.InvalidLogitsLength: There are fewer logits than ids.
            ValueError: Another shape.
            TypeError: Something else than an array or a tensor.
        """
        self._check_logits(logits)
        return self._masked(logits)

    def update_logits(self, token_id: SupportsIndex, logits: Any) -> tuple[Any, AcceptTokenResult]:
        """Accepts a token and, if the text goes on, computes which tokens can come next and masks the logits.

        Args:
            token_id: The token.
            logits: As for :meth:`mask_logits`.

        Returns:
            The logits, masked if the result is ``Ongoing``, and the result.

        Raises:
            UpdateLogitsError.UnknownTokenID, UpdateLogitsError.Rejected, UpdateLogitsError.Finished: The token was not
                accepted.
            UpdateLogitsError.InvalidLogitsLength: There are fewer logits than ids.
            grammask.DeadEnd, grammask.LimitExceeded: As :meth:`compute_allowed_token_ids`; the token is taken back.
            ValueError, TypeError: As :meth:`mask_logits`.
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
        """Goes back to the beginning of the text; what was learned about the grammar is kept."""
        self._matcher.reset()
        self._allowed = self._nothing()

    def get_vocab(self) -> Vocabulary:
        """Returns the vocabulary that the engine was made with, not a copy."""
        return self._vocabulary

    def shrink_to_fit(self) -> None:
        """Does nothing: memory is bounded by itself."""

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

    def _nothing(self) -> npt.NDArray[np.int32]:
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
