"""xgrammar's functions for tests: texts against grammars, and masks in other forms.

The passes of xgrammar's optimiser, and functions that print its automata, do not exist here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammask.compat.xgrammar.bitmasks import dtype_of_bitmasks
from grammask.compat.xgrammar.compiler import GrammarCompiler
from grammask.compat.xgrammar.grammar import Grammar
from grammask.compat.xgrammar.matcher import GrammarMatcher
from grammask.compat.xgrammar.tokenizer_info import TokenizerInfo

__all__ = ["bitmask_to_bool_mask", "bool_mask_to_bitmask"]


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """Calls :meth:`Grammar.from_ebnf`, which keeps the text as it is."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:
    """Returns a matcher without tokens, which accepts texts only."""
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, terminate_without_stop_token=True, **kwargs)


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str, tokenizer_info: TokenizerInfo | None = None, **kwargs: Any
) -> GrammarMatcher:
    """Returns a matcher for a vocabulary, or without tokens."""
    tokens = TokenizerInfo([]) if tokenizer_info is None else tokenizer_info
    compiled = GrammarCompiler(tokens, cache_enabled=False).compile_grammar(grammar)
    return GrammarMatcher(compiled, **kwargs)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str | bytes,
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Whether a text is a text of a grammar, or, without ``require_termination``, a viable prefix of one."""
    del debug_print, print_time
    matcher = _get_matcher_from_grammar(grammar)
    return matcher.accept_string(input_str) and (not require_termination or matcher.is_terminated())


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> list[int]:
    """Returns the ids of the illegal tokens in a row of a mask, ascending.

    Raises:
        ValueError: The mask is not on the CPU, or not of 32-bit integers.
    """
    return [int(id) for id in np.flatnonzero(_bits(bitmask)[index, :vocab_size] == 0)]


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> tuple[bool, int]:
    """Returns whether a row of a mask has a single token, and this token or -1."""
    legal = np.flatnonzero(_bits(bitmask)[index, :vocab_size])
    return (True, int(legal[0])) if len(legal) == 1 else (False, -1)


def _traverse_draft_tree(
    retrieve_next_token: Any,
    retrieve_next_sibling: Any,
    draft_tokens: Any,
    matcher: GrammarMatcher,
    allocate_token_bitmask: Any,
    time_threshold: float = -1.0,
) -> bool:
    """Calls :meth:`GrammarMatcher.traverse_draft_tree`."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )


def bool_mask_to_bitmask(bool_mask: Any) -> Any:
    """Returns the mask for an array of booleans of shape ``[rows, vocab]``; bits of padding are 1."""
    given = np.asarray(bool_mask)
    padding = -given.shape[1] % 32
    padded = np.pad(given.astype(np.uint8), ((0, 0), (0, padding)), constant_values=1)
    words = np.packbits(padded, axis=1, bitorder="little").view(np.int32)
    if isinstance(bool_mask, np.ndarray):
        return words
    import torch

    return torch.from_numpy(words)


def bitmask_to_bool_mask(bit_mask: Any, vocab_size: int | None = None) -> Any:
    """Returns the booleans of a mask, of shape ``[rows, vocab]``; all bits if ``vocab_size`` is None.

    Raises:
        ValueError: The mask is not on the CPU, not of 32-bit integers, or too small.
    """
    bits = _bits(bit_mask)
    if vocab_size is not None and vocab_size > bits.shape[1]:
        msg = "vocab_size should be less than or equal to the size represented by bit_mask."
        raise ValueError(msg)
    allowed = bits[:, :vocab_size].astype(bool)
    if isinstance(bit_mask, np.ndarray):
        return allowed
    import torch

    return torch.from_numpy(allowed)


def _bits(bitmask: Any) -> Any:
    """Returns a byte, 0 or 1, per token and padding bit, in rows."""
    if not isinstance(bitmask, np.ndarray) and bitmask.device.type != "cpu":
        msg = "bitmask should be on CPU."
        raise ValueError(msg)
    if bitmask.dtype != dtype_of_bitmasks() and np.asarray(bitmask).dtype != np.int32:
        msg = f"bitmask should be of type {dtype_of_bitmasks()}."
        raise ValueError(msg)
    words = np.atleast_2d(np.ascontiguousarray(np.asarray(bitmask)))
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
