"""The matchers of xgrammar: a matcher per text, and operations on batches. Functions for masks are names here too."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grammask.compat.rule_captures import CapturesUnavailable
from grammask.compat.xgrammar.bitmasks import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from grammask.compat.xgrammar.compiler import CompiledGrammar
from grammask.compat.xgrammar.exception import grammar_errors
from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.masks import fill_masks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "BatchGrammarMatcher",
    "GrammarMatcher",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "get_bitmask_shape",
    "reset_token_bitmask",
]


class GrammarMatcher:
    """One text being generated.

    Args:
        compiled_grammar: The grammar.
        override_stop_tokens: The end tokens, in place of the vocabulary's.
        terminate_without_stop_token: Whether :meth:`is_terminated` is true as soon as the text is complete.
        max_rollback_tokens: Ignored: all tokens can be rolled back.
        default_temperature: The value of :attr:`temperature` where no rule of the grammar has one.

    Raises:
        ValueError: The grammar is not compiled.
        RuntimeError: The temperature is negative or not finite.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: int | Sequence[int] | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        del max_rollback_tokens
        if default_temperature is not None and not 0 <= default_temperature < math.inf:
            msg = f"default_temperature must be a finite non-negative number, not {default_temperature}"
            raise RuntimeError(msg)
        given: object = compiled_grammar
        if not isinstance(given, CompiledGrammar):
            msg = "The grammar should be compiled before passing it to GrammarMatcher."
            raise ValueError(msg)
        if isinstance(override_stop_tokens, int):
            override_stop_tokens = [override_stop_tokens]
        vocabulary = compiled_grammar.tokenizer_info.vocabulary
        size = compiled_grammar.tokenizer_info.vocab_size
        if any(not 0 <= token < size for token in override_stop_tokens or ()):
            msg = f"override_stop_tokens must be token ids below {size}, not {override_stop_tokens}"
            raise RuntimeError(msg)
        self._compiled = compiled_grammar
        with grammar_errors():
            self._temperatures = compiled_grammar.temperatures().reader()
        has_parts = self._temperatures is not None or _may_have_captures(compiled_grammar)
        self._steps: list[int | bytes] | None = [] if has_parts else None
        """The text, where captures or temperatures may be asked for."""
        self._matcher = RequestMatcher(compiled_grammar.compiled, vocabulary, override_stop_tokens)
        self._size = size
        self._has_hidden_end = vocabulary.size > self._size
        self._ends_when_complete = terminate_without_stop_token
        self._temperature = default_temperature

    @property
    def request_matcher(self) -> RequestMatcher:
        """The matcher that implements it; an addition to xgrammar's interface."""
        return self._matcher

    @property
    def has_plain_masks(self) -> bool:
        """Whether the masks of grammask's matcher need no change: whether the end tokens are the vocabulary's."""
        return self._matcher.is_plain and not self._has_hidden_end

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """Appends a token; returns False for an illegal or unknown token, and after the end."""
        del debug_print
        if self._matcher.is_finished or token_id >= self._size:
            return False
        with grammar_errors():
            is_legal = self._matcher.accept(token_id)
        if is_legal and self._steps is not None:
            self._steps.append(token_id)
        return is_legal

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """Appends a text as one step; returns False for an illegal text, and after the end."""
        del debug_print
        if self._matcher.is_finished:
            return False
        text = input_str.encode() if isinstance(input_str, str) else input_str
        with grammar_errors():
            is_legal = self._matcher.inner.accept_bytes(text)
        if is_legal and self._steps is not None:
            self._steps.append(text)
        return is_legal

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        """Writes the mask of the next token into a row.

        Returns:
            Whether some token is illegal.

        Raises:
            RuntimeError: An end token was accepted, the mask has a wrong type or shape, no token is legal and the text
                is not complete, or a budget was passed.
        """
        del debug_print
        self.check_not_ended()
        try:
            with grammar_errors():
                self.fill_row(bitmask, index)
        except (TypeError, ValueError, IndexError) as error:
            raise RuntimeError(str(error)) from error
        words = np.asarray(bitmask)
        return not _admits_all(words if words.ndim == 1 else words[index], self._size)

    def check_not_ended(self) -> None:
        """Checks that no end token was accepted; an addition to xgrammar's interface.

        Raises:
            RuntimeError: One was.
        """
        if self._matcher.is_finished:
            msg = "GrammarMatcher has terminated after accepting the stop token: there is no next token mask"
            raise RuntimeError(msg)

    def fill_row(self, bitmask: Any, row: int) -> None:
        """Writes the mask of the next token into a row; empty at the end of a text without end tokens.

        Raises:
            GrammarError: As for :meth:`fill_next_token_bitmask`.
            TypeError, ValueError, IndexError: The mask has a wrong type or shape.
        """
        if not self._has_hidden_end:
            self._matcher.fill_mask(bitmask, row)
            return
        words = np.zeros((1, self._size // 32 + 1), np.int32)
        self._matcher.fill_mask(words)
        words.view(np.uint32)[0, self._size >> 5] &= ~np.uint32(1 << (self._size & 31))
        np.asarray(bitmask)[row] = words[0, : -(-self._size // 32)]

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """Writes the mask of each node of a tree of drafted tokens; node 0 is the current text.

        Rows of illegal nodes are set to zero; rows of their descendants are unchanged. Their ``temperatures`` are -1,
        as those of nodes without a temperature.

        Returns:
            True; False if ``time_threshold`` is positive and the call took more seconds. All rows are written anyway.

        Raises:
            RuntimeError: The arguments have wrong types or shapes; a node is not in the tree, or is reached twice; at a
                node, no token is legal and the text is not complete, or a limit was exceeded.
        """
        start = time.perf_counter()
        for edges in (retrieve_next_token, retrieve_next_sibling, draft_tokens):
            if hasattr(edges, "dtype") and np.asarray(edges).dtype != np.int64:
                msg = f"the tree and its tokens are of int64, not of {edges.dtype}"
                raise RuntimeError(msg)
        shape = np.asarray(token_bitmask).shape
        if len(shape) != 2 or shape[0] != len(draft_tokens):
            msg = f"the bitmask has a row for each of the {len(draft_tokens)} nodes, not the shape {shape}"
            raise RuntimeError(msg)
        next_token = [int(node) for node in retrieve_next_token]
        next_sibling = [int(node) for node in retrieve_next_sibling]
        if next_sibling and next_sibling[0] >= 0:
            msg = "the root has no siblings"
            raise RuntimeError(msg)
        tokens = [int(token) for token in draft_tokens]
        _check_tree(next_token, next_sibling, len(tokens))
        if temperatures is not None:
            _check_temperatures(temperatures)
            if len(temperatures) != len(tokens):
                msg = f"the temperatures tensor has {len(temperatures)} values for {len(tokens)} nodes"
                raise RuntimeError(msg)
            temperatures[...] = -1.0
        with grammar_errors():
            for node, matcher in _nodes(
                self.fork(), next_token, next_sibling, tokens, np.asarray(token_bitmask)
            ):
                if temperatures is not None:
                    temperatures[node] = _written(matcher.temperature)
        return not 0 < time_threshold < time.perf_counter() - start

    def find_jump_forward_string(self) -> str:
        """Returns the forced text."""
        with grammar_errors():
            forced = self._matcher.inner.forced_bytes()
        # The forced bytes may end within a character, which is dropped.
        return forced.decode(errors="ignore")

    def rollback(self, num_tokens: int = 1) -> None:
        """Removes the last steps.

        Raises:
            RuntimeError: Fewer steps were accepted.
        """
        try:
            self._matcher.rollback(num_tokens)
        except (ValueError, OverflowError) as error:
            raise RuntimeError(str(error)) from error
        if self._steps is not None and num_tokens:
            del self._steps[-num_tokens:]
            if self._temperatures is not None:
                self._temperatures.roll_back(len(self._steps))

    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
        """Returns the name and the bytes of each occurrence of a rule with the option ``capture`` that has ended.

        Of the derivations of an ambiguous text, one is chosen: see :class:`grammask._grammask.Parser`. The text is
        parsed again at each call. Special tokens add no bytes.

        Args:
            deduplicate: Whether an occurrence ends once. Otherwise every text at whose end it may have ended is an
                element, over all derivations, ordered by the ends: ``12`` is a candidate in ``123``.

        Raises:
            RuntimeError: A limit was exceeded, a grammar within this one has captures, or a rule in EBNF hides a part
                of its text; without deduplication also if one in Lark does, or has ``max_tokens`` and captures in it.
        """
        try:
            with grammar_errors():
                captures = self._compiled.captures()
                return (
                    captures.of(self._steps or []) if deduplicate else captures.candidates(self._steps or [])
                )
        except CapturesUnavailable as error:
            raise RuntimeError(str(error)) from error

    def is_terminated(self) -> bool:
        """Whether an end token was accepted, or the text is complete and needs none."""
        return self._matcher.is_finished or (self._ends_when_complete and self._matcher.is_complete)

    def is_completed(self) -> bool:
        """Whether the text so far is complete."""
        return self._matcher.is_complete

    def reset(self) -> None:
        """Returns to the beginning of the text."""
        self._matcher.reset()
        if self._steps is not None:
            self._steps = []
        if self._temperatures is not None:
            self._temperatures.roll_back(0)

    def fork(self) -> GrammarMatcher:
        """Returns an independent matcher with the same text."""
        other = object.__new__(GrammarMatcher)
        vars(other).update(vars(self))
        other._matcher = self._matcher.fork()
        other._steps = None if self._steps is None else [*self._steps]
        other._temperatures = None if self._temperatures is None else self._temperatures.forked()
        return other

    @property
    def max_rollback_tokens(self) -> int:
        """Always -1, for no limit."""
        return -1

    @property
    def temperature(self) -> float | None:
        """The highest temperature of the innermost rules that the next token can belong to; otherwise the default.

        A grammar that has temperatures is parsed again for them, at a cost linear in the text for typical grammars.

        Raises:
            RuntimeError: A limit was exceeded.
        """
        if self._temperatures is None:
            return self._temperature
        with grammar_errors():
            found = self._temperatures.temperature(self._steps or [])
        return self._temperature if found is None else found

    @property
    def stop_token_ids(self) -> list[int]:
        """The end tokens."""
        return self._matcher.end_tokens


class BatchGrammarMatcher:
    """Runs operations on batches of matchers.

    Args:
        max_threads: Ignored: new masks are computed by the threads of :func:`grammask.set_threads`.
    """

    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None:
        del max_threads

    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Sequence[int] | None = None,
        debug_print: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Writes the masks of the matchers into rows; into rows 0, 1, 2, ... if ``indices`` is None.

        Raises:
            RuntimeError: As for :meth:`GrammarMatcher.fill_next_token_bitmask`, or the number of rows is wrong.
        """
        del debug_print
        rows = list(range(len(matchers))) if indices is None else [int(index) for index in indices]
        for matcher in matchers:
            matcher.check_not_ended()
        try:
            with grammar_errors():
                if all(matcher.has_plain_masks for matcher in matchers):
                    fill_masks([matcher.request_matcher.inner for matcher in matchers], bitmask, rows)
                else:
                    for matcher, row in zip(matchers, rows, strict=True):
                        matcher.fill_row(bitmask, row)
        except (TypeError, ValueError, IndexError) as error:
            raise RuntimeError(str(error)) from error

    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher],
        tokens: Sequence[int],
        debug_print: bool = False,  # noqa: FBT001, FBT002
    ) -> list[bool]:
        """Appends a token to each text; returns for each whether it is legal.

        Raises:
            RuntimeError: The numbers of matchers and tokens differ.
        """
        del debug_print
        _check_same_length(matchers, tokens)
        return [matcher.accept_token(token) for matcher, token in zip(matchers, tokens, strict=True)]

    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher],
        strings: Sequence[str | bytes],
        debug_print: bool = False,  # noqa: FBT001, FBT002
    ) -> list[bool]:
        """Appends a text to each text; returns for each whether it is legal.

        Raises:
            RuntimeError: The numbers of matchers and texts differ.
        """
        del debug_print
        _check_same_length(matchers, strings)
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: Sequence[int] | int = 1) -> None:
        """Removes steps of each text.

        Raises:
            RuntimeError: The numbers of matchers and counts differ, or fewer steps were accepted.
        """
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        _check_same_length(matchers, counts)
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)

    @staticmethod
    def batch_fill_temperature(
        matchers: Sequence[GrammarMatcher], temperatures: Any, indices: Sequence[int] | None = None
    ) -> None:
        """Writes the temperatures of the matchers into rows; -1 for matchers without one.

        Raises:
            RuntimeError: The number of rows is wrong, or a row does not exist; ``temperatures`` is no float32 array
                with one dimension.
        """
        _check_temperatures(temperatures)
        rows = list(range(len(matchers))) if indices is None else [int(index) for index in indices]
        if len(rows) != len(matchers):
            msg = f"the indices size is {len(rows)}, and there are {len(matchers)} matchers"
            raise RuntimeError(msg)
        if any(not 0 <= row < len(temperatures) for row in rows):
            msg = f"an index is out of bounds: there are {len(temperatures)} temperatures"
            raise RuntimeError(msg)
        for matcher, row in zip(matchers, rows, strict=True):
            temperatures[row] = _written(matcher.temperature)


def _may_have_captures(compiled: CompiledGrammar) -> bool:
    try:
        return bool(compiled.grammar.captured_rules())
    except CapturesUnavailable:
        return False  # Asking for them is an error.


def _written(temperature: float | None) -> float:
    return -1.0 if temperature is None else temperature


def _check_temperatures(temperatures: Any) -> None:
    """Checks that an array has one dimension of 32-bit numbers."""
    values = np.asarray(temperatures)
    if values.ndim != 1 or values.dtype != np.float32:
        msg = f"the temperatures tensor has one dimension of float32, not {values.ndim} of {values.dtype}"
        raise RuntimeError(msg)


def _nodes(
    matcher: GrammarMatcher, next_token: list[int], next_sibling: list[int], tokens: list[int], rows: Any
) -> Iterator[tuple[int, GrammarMatcher]]:
    """Fills the rows of a tree depth first; yields each legal node with the matcher at its text.

    The stack has nodes, and whether they are finished.
    """
    stack = [(0, False)] if tokens else []
    while stack:
        node, is_done = stack.pop()
        if is_done:
            matcher.rollback(1)
            continue
        if node:
            if next_sibling[node] >= 0:
                stack.append((next_sibling[node], False))
            if not matcher.accept_token(tokens[node]):
                rows[node] = 0
                continue
            stack.append((node, True))
        matcher.fill_row(rows, node)
        yield node, matcher
        if next_token[node] >= 0:
            stack.append((next_token[node], False))


def _check_tree(next_token: list[int], next_sibling: list[int], size: int) -> None:
    """Checks that the edges from node 0 form a tree."""
    if not len(next_token) == len(next_sibling) == size:
        msg = f"{size} drafted tokens have {len(next_token)} and {len(next_sibling)} edges"
        raise RuntimeError(msg)
    seen = {0}
    nodes = [0] if size else []
    while nodes:
        node = nodes.pop()
        for other in (next_token[node], next_sibling[node] if node else -1):
            if other < 0:
                continue
            if other >= size or other in seen:
                msg = f"the draft has no tree: node {other} is reached twice or does not exist"
                raise RuntimeError(msg)
            seen.add(other)
            nodes.append(other)


def _check_same_length(matchers: Sequence[Any], others: Sequence[Any]) -> None:
    if len(matchers) != len(others):
        msg = f"{len(matchers)} matchers were given {len(others)} values"
        raise RuntimeError(msg)


def _admits_all(words: Any, size: int) -> bool:
    whole, rest = divmod(size, 32)
    if not (words[:whole] == -1).all():
        return False
    return not rest or int(words[whole]) & ((1 << rest) - 1) == (1 << rest) - 1
