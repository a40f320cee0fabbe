"""The matcher of llguidance: it raises no errors, but stores the first one and refuses all tokens afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask._grammask import Limits
from grammask.compat.llguidance import grammar_texts
from grammask.compat.rule_captures import CapturesUnavailable, RuleCaptures
from grammask.errors import GrammarError, LimitExceeded
from grammask.llguidance_grammars import captured_rules
from grammask.masks import allocate_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask._grammask import Matcher
    from grammask.compat.llguidance.tokenizer import LLTokenizer
    from grammask.grammar import Grammar
    from grammask.llguidance_grammars import CapturedRule

__all__ = ["LLMatcher", "LLParserLimits"]


class LLParserLimits:
    """Budgets. Those without a counterpart in this engine are ignored.

    Args:
        max_items_in_row: Maximum number of items in an Earley set.
        initial_lexer_fuel: Ignored.
        step_lexer_fuel: Ignored.
        step_max_items: Ignored.
        max_lexer_states: Maximum number of states in the automata of terminals.
        max_grammar_size: Maximum number of symbols in the grammar.
        precompute_large_lexemes: Ignored.
        verbose_errors: Ignored.
    """

    def __init__(
        self,
        max_items_in_row: int | None = None,
        initial_lexer_fuel: int | None = None,
        step_lexer_fuel: int | None = None,
        step_max_items: int | None = None,
        max_lexer_states: int | None = None,
        max_grammar_size: int | None = None,
        precompute_large_lexemes: bool | None = None,  # noqa: FBT001
        verbose_errors: bool | None = None,  # noqa: FBT001
    ) -> None:
        self.max_items_in_row = _given(max_items_in_row, 2_000)
        self.initial_lexer_fuel = _given(initial_lexer_fuel, 1_000_000)
        self.step_lexer_fuel = _given(step_lexer_fuel, 200_000)
        self.step_max_items = _given(step_max_items, 50_000)
        self.max_lexer_states = _given(max_lexer_states, 250_000)
        self.max_grammar_size = _given(max_grammar_size, 500_000)
        self.precompute_large_lexemes = precompute_large_lexemes is not False
        self.verbose_errors = verbose_errors is not False
        self.limits = Limits(
            set_items=max_items_in_row, automaton_states=max_lexer_states, grammar_size=max_grammar_size
        )


def _given(value: int | None, default: int) -> int:
    """Returns a value, or llguidance's default, which is not a budget of this engine."""
    return default if value is None else value


class LLMatcher:
    """One text being generated.

    After an error the matcher refuses all tokens, and its masks are empty: an error never ends the text.

    Args:
        tokenizer: The tokens of the model.
        grammar: Lark, or a string from ``grammar_from``.
        log_level: Ignored.
        limits: Limits of reading and compiling.
    """

    def __init__(
        self,
        tokenizer: LLTokenizer,
        grammar: str,
        *,
        log_level: int = 1,
        limits: LLParserLimits | None = None,
    ) -> None:
        del log_level
        self._tokenizer = tokenizer
        self._ends = frozenset(tokenizer.eos_tokens)
        self._error = ""
        self._stop_reason = "NotStopped"
        self._warnings: list[str] = []
        self._matcher: Matcher | None = None
        self._captures: _Captures | None = None
        self._steps: list[int | bytes] = []
        try:
            parsed = grammar_texts.read(grammar, None if limits is None else limits.limits)
            self._captures = _Captures(parsed, grammar, tokenizer)
            compiled = parsed.compile(tokenizer.vocabulary, limits=None if limits is None else limits.limits)
            self._warnings = [str(each) for each in (*parsed.relaxations, *parsed.check())]
            self._matcher = compiled.matcher()
        except (ValueError, RecursionError) as error:
            self._fail(error)

    @staticmethod
    def validate_grammar(
        grammar: str, tokenizer: LLTokenizer | None = None, *, limits: LLParserLimits | None = None
    ) -> str:
        """Returns the error of a grammar, or its warnings; the empty string if there are none."""
        is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar, tokenizer, limits=limits)
        if is_error:
            return messages[0]
        return f"WARNING: {'; '.join(messages)}" if messages else ""

    @staticmethod
    def validate_grammar_with_warnings(
        grammar: str, tokenizer: LLTokenizer | None = None, *, limits: LLParserLimits | None = None
    ) -> tuple[bool, list[str]]:
        """Returns True with the error of a grammar, or False with its warnings."""
        bounds = None if limits is None else limits.limits
        try:
            parsed = grammar_texts.read(grammar, bounds)
            warnings = [str(each) for each in (*parsed.relaxations, *parsed.check(bounds))]
            if tokenizer is not None:
                parsed.compile(tokenizer.vocabulary, limits=bounds)
        except (ValueError, RecursionError) as error:
            return True, [str(error)]
        return False, warnings

    @staticmethod
    def grammar_from_json_schema(
        schema: str | dict[str, Any],
        defaults: dict[str, Any] | None = None,
        overrides: dict[str, Any] | None = None,
    ) -> str:
        """Returns the grammar of a JSON schema with llguidance's options.

        Raises:
            ValueError: The schema is not JSON.
        """
        return grammar_texts.from_json_schema(schema, defaults, overrides)

    @staticmethod
    def grammar_from_lark(lark: str) -> str:
        """Returns the argument: Lark is a grammar."""
        return lark

    @staticmethod
    def grammar_from_regex(regex: str) -> str:
        """Returns the grammar of a regular expression."""
        return grammar_texts.from_kind("regex", regex)

    def is_error(self) -> bool:
        """Whether there was an error."""
        return bool(self._error)

    def get_error(self) -> str:
        """Returns the error, or the empty string."""
        return self._error

    def get_grammar_warnings(self) -> list[str]:
        """Returns the warnings about the grammar."""
        return list(self._warnings)

    def deep_copy(self) -> LLMatcher:
        """Returns an independent matcher with the same text."""
        other = object.__new__(LLMatcher)
        vars(other).update(vars(self))
        other._matcher = None if self._matcher is None else self._matcher.fork()
        other._steps = [*self._steps]
        return other

    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        matcher = self._working()
        return matcher is not None and (matcher.is_complete or matcher.is_finished)

    def is_stopped(self) -> bool:
        """Whether only end tokens are legal, or there was an error."""
        return self.stop_reason() != "NotStopped"

    def stop_reason(self) -> str:
        """Returns the reason of the stop, as one of llguidance's names."""
        if self._error:
            return self._stop_reason
        matcher = self._working()
        if matcher is None:
            return "InternalError"
        if matcher.is_finished:
            return "EndOfSentence"
        return "NoExtension" if self._only_ends() else "NotStopped"

    def rollback(self, num_tokens: int) -> bool:
        """Removes the last tokens; an end token at which only end tokens were legal does not count."""
        matcher = self._working()
        if matcher is None:
            return False
        try:
            matcher.rollback(num_tokens)
        except (ValueError, OverflowError) as error:
            return self._fail(error)
        if num_tokens:
            del self._steps[-num_tokens:]
        return True

    def reset(self) -> bool:
        """Returns to the beginning of the text."""
        matcher = self._working()
        if matcher is None:
            return False
        matcher.reset()
        self._steps = []
        return True

    def compute_ff_tokens(self) -> list[int]:
        """Returns the forced tokens, in the tokenization of the tokenizer."""
        matcher = self._working()
        if matcher is None:
            return []
        try:
            return matcher.forced_tokens(self._tokenizer.encode)
        except GrammarError as error:
            self._fail(error)
            return []

    def compute_ff_bytes(self) -> bytes:
        """Returns the forced bytes."""
        matcher = self._working()
        if matcher is None:
            return b""
        try:
            return matcher.forced_bytes()
        except GrammarError as error:
            self._fail(error)
            return b""

    def try_consume_tokens(self, tokens: Sequence[int]) -> int:
        """Appends tokens up to the first illegal one; returns the number of legal tokens."""
        for count, token in enumerate(tokens):
            if not self._accept(token):
                return count
        return len(tokens)

    def consume_token(self, sampled_token: int) -> bool:
        """Appends a token; an illegal one is an error of the matcher."""
        if self._accept(sampled_token):
            return True
        if not self._error:
            self._fail(ValueError(self._refusal(sampled_token)))
        return False

    def consume_tokens(self, sampled_tokens: Sequence[int]) -> bool:
        """Appends tokens; an illegal one is an error of the matcher."""
        if self._error:
            return False
        return all(self.consume_token(token) for token in sampled_tokens)

    def validate_tokens(self, tokens: Sequence[int]) -> int:
        """Returns the number of leading tokens that are legal, 0 if an id is not in the vocabulary; changes nothing."""
        matcher = self._working()
        if matcher is None or self.is_stopped() or any(not self._exists(token) for token in tokens):
            return 0
        trial = self.deep_copy()
        count = 0
        for token in tokens:
            was_stopped = trial.is_stopped()
            if (was_stopped and trial.stop_reason() == "EndOfSentence") or not trial.try_consume_tokens(
                [token]
            ):
                break
            count += 1
            if was_stopped:
                break
        return count

    def compute_bitmask(self) -> bytes:
        """Returns the mask of the next token: a bit per token, in little-endian words of 32 bits."""
        mask = allocate_mask(1, self._tokenizer.vocab_size)
        self.fill_mask(mask, 0)
        return mask.tobytes()

    def compute_logit_bias(self) -> bytes:
        """Returns the mask of the next token: a byte per token, 200 for legal tokens and 0 for others."""
        bits = np.unpackbits(np.frombuffer(self.compute_bitmask(), np.uint8), bitorder="little")
        bias = bits[: self._tokenizer.vocab_size] * np.uint8(200)
        return bytes(bias.tobytes())

    def fill_mask(self, mask: Any, row: int) -> None:
        """Writes the mask of the next token into a row; after an error, an empty mask."""
        matcher = self._working()
        if matcher is not None:
            try:
                matcher.fill_mask(mask, row)
            except GrammarError as error:
                self._fail(error)
        if self._error:
            mask[row] = 0

    def fill_draft_masks(self, tokens: Sequence[int], mask: Any, row: int) -> None:
        """Writes the masks before and after each token of a draft, from a row on, up to the first illegal token."""
        before_end = next((at for at, token in enumerate(tokens) if token in self._ends), len(tokens))
        matcher = self._working()
        if matcher is not None:
            try:
                matcher.draft_masks(tokens[:before_end], mask, row)
            except GrammarError:
                pass  # If the first row is at fault, computing its mask stores the error.
            else:
                return
        self.fill_mask(mask, row)

    def unsafe_compute_mask_ptr(self, trg_pointer: int, trg_byte_size: int) -> None:
        """Writes the mask of the next token to an address.

        Raises:
            ValueError: The size is not that of a mask.
        """
        import ctypes

        if trg_byte_size != -(-self._tokenizer.vocab_size // 32) * 4:
            msg = "Invalid buffer size"
            raise ValueError(msg)
        ctypes.memmove(trg_pointer, self.compute_bitmask(), trg_byte_size)

    def unsafe_compute_mask_ptr_with_draft_token(
        self, trg_ptr: int, trg_bytes: int, draft_tokens: Sequence[int]
    ) -> None:
        """Writes the masks before and after each token of a draft to an address, up to the first illegal token.

        Raises:
            ValueError: The size is not that of a mask, or the address is null or not aligned.
        """
        from grammask.compat.llguidance.executor import LLExecutor

        LLExecutor().unsafe_compute_mask_ptr_with_draft_token(
            [(self, 0, list(draft_tokens))], trg_ptr, trg_bytes, len(draft_tokens) + 1
        )

    @property
    def mask_words(self) -> int:
        """The number of machine words of a mask, with 32 tokens each; an addition to llguidance's interface."""
        return -(-self._tokenizer.vocab_size // 32)

    @property
    def working_matcher(self) -> Matcher | None:
        """The matcher of grammask; None after an error."""
        return self._working()

    def get_capture(self, name: str) -> bytes | None:
        """Returns the last capture with a name, of those of :meth:`get_captures`; None if there is none.

        Raises:
            ValueError: As for :meth:`get_captures`.
        """
        return next((text for other, text in reversed(self.get_captures()) if other == name), None)

    def get_captures(self) -> list[tuple[str, bytes]]:
        """Returns the name and the bytes of each occurrence of a rule with the option ``capture`` that has ended.

        Of the derivations of an ambiguous text, one is chosen: see :class:`grammask._grammask.Parser`. The text is
        parsed again at each call. Special tokens add no bytes.

        Raises:
            ValueError: A limit was exceeded, or a captured rule is a part of a rule with a maximum or of a ``%lark``.
        """
        return [] if self._captures is None else self._captures.of(self._steps)

    def check_captures(self) -> None:
        """Checks that captures can be found; an addition to llguidance's interface.

        Raises:
            ValueError: As for :meth:`get_captures`.
        """
        if self._captures is not None:
            self._captures.check()

    def _working(self) -> Matcher | None:
        return None if self._error else self._matcher

    def _fail(self, error: Exception) -> bool:
        self._error = str(error) or type(error).__name__
        self._stop_reason = "ParserTooComplex" if isinstance(error, LimitExceeded) else "InternalError"
        return False

    def _accept(self, token: int) -> bool:
        matcher = self._working()
        if matcher is None:
            return False
        if not self._exists(token):
            return self._fail(ValueError(f"token id {token} out of range"))
        try:
            if token in self._ends and (matcher.is_finished or self._only_ends()):
                return True  # Like in llguidance, it is not a step that can be rolled back.
            is_legal = matcher.accept(token)
        except GrammarError as error:
            return self._fail(error)
        if is_legal and self._captures is not None and self._captures.may_exist:
            self._steps.append(token)
        return is_legal

    def _exists(self, token: int) -> bool:
        return 0 <= token < self._tokenizer.vocab_size

    def _only_ends(self) -> bool:
        """Whether the text is complete and only end tokens are legal."""
        matcher = self._matcher
        if matcher is None or not matcher.is_complete:
            return False
        words = matcher.mask().copy()
        bits = words.view(np.uint32)
        for token in self._ends:
            bits[token >> 5] &= ~np.uint32(1 << (token & 31))
        return not words.any()

    def _refusal(self, token: int) -> str:
        matcher = self._working()
        why = "" if matcher is None else f": {matcher.explain(token)}"
        return f"token {token} doesn't satisfy the grammar{why}"


class _Captures:
    """The captures of the rules of a grammar."""

    def __init__(self, grammar: Grammar, text: str, tokenizer: LLTokenizer) -> None:
        self._grammar = grammar
        self._tokenizer = tokenizer
        self._finder: RuleCaptures | None = None
        self._rules: list[CapturedRule] = []
        self._error: CapturesUnavailable | None = None
        lark, named = grammar_texts.lark_texts(text)
        try:
            self._rules = captured_rules(lark, named) if lark else []
        except CapturesUnavailable as error:
            self._error = error

    @property
    def may_exist(self) -> bool:
        return bool(self._rules)

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def of(self, steps: Sequence[int | bytes]) -> list[tuple[str, bytes]]:
        self.check()
        if self._finder is None:
            self._finder = RuleCaptures(self._grammar, self._rules, self._tokenizer.vocabulary)
        return self._finder.of(steps)
