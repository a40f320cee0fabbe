"""llguidance's older interface of a matcher: masks with a report as JSON, and forced tokens after each token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.compat.llguidance import grammar_texts
from grammask.compat.llguidance.matcher import LLMatcher
from grammask.compat.rule_temperatures import RuleTemperatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.compat.llguidance.matcher import LLParserLimits
    from grammask.compat.llguidance.tokenizer import LLTokenizer
    from grammask.compat.rule_temperatures import TemperatureReader

__all__ = ["LLInterpreter"]


class LLInterpreter:
    """One text being generated: ``compute_mask``, a sampled token, ``commit_token``, and so on until the stop.

    Args:
        tokenizer: The tokens of the model.
        grammar: Lark, or a string from ``grammar_from``.
        enable_backtrack: Ignored: tokens are never removed.
        enable_ff_tokens: Whether ``commit_token`` appends the forced tokens after a token.
        log_level: Ignored.
        limits: Limits of reading and compiling.

    Raises:
        ValueError: The grammar is invalid, or cannot be enforced exactly.
    """

    def __init__(
        self,
        tokenizer: LLTokenizer,
        grammar: str,
        enable_backtrack: bool = True,  # noqa: FBT001, FBT002 - llguidance's signature
        enable_ff_tokens: bool = True,  # noqa: FBT001, FBT002
        log_level: int = 1,
        limits: LLParserLimits | None = None,
    ) -> None:
        del enable_backtrack
        self.log_level = log_level
        self._tokenizer = tokenizer
        self._matcher = LLMatcher(tokenizer, grammar, limits=limits)
        self._raise_error()
        self._matcher.check_captures()
        self._has_forced_tokens = enable_ff_tokens
        self._tokens: list[int] = []
        self._reported = 0
        """Number of tokens in the reports so far."""
        self._has_reported = False
        self._is_started = False
        self._has_stopped = False
        read = grammar_texts.read(grammar, None if limits is None else limits.limits)
        self._temperatures: TemperatureReader | None = RuleTemperatures(read, tokenizer.vocabulary).reader()

    def deep_copy(self) -> LLInterpreter:
        """Returns an independent interpreter with the same text."""
        other = object.__new__(LLInterpreter)
        vars(other).update(vars(self))
        other._matcher = self._matcher.deep_copy()
        other._tokens = [*self._tokens]
        other._temperatures = None if self._temperatures is None else self._temperatures.forked()
        return other

    def process_prompt(self, prompt: Sequence[int]) -> list[int]:
        """Starts, and returns the prompt with the forced tokens at the beginning of the text.

        The last tokens of the prompt are unchanged: unlike in llguidance, forced text does not merge with them.

        Raises:
            ValueError: The interpreter was started.
        """
        self.start_without_prompt()
        return [*prompt, *self._append_forced()]

    def start_without_prompt(self) -> None:
        """Starts at the beginning of the text.

        Raises:
            ValueError: The interpreter was started.
        """
        if self._is_started:
            msg = "the interpreter was started"
            raise ValueError(msg)
        self._is_started = True

    def validate_tokens_raw(self, tokens: Sequence[int]) -> int:
        """Returns the number of leading tokens that are legal; changes nothing."""
        return self._matcher.validate_tokens(tokens)

    def compute_mask(self) -> tuple[bytes | None, str]:
        """Returns the mask of the next token, a byte per token that is 200 for legal ones, and a report as JSON.

        The mask is None after the stop. The report has the members ``progress`` (the text since the last report; at the
        stop also the captures and all text), ``stop`` and ``temperature`` (that of the rule of the next token, or 0).

        Raises:
            ValueError: The stop was reported, or no token is legal and the text is not complete.
        """
        report = self._report()
        if self._has_stopped:
            return None, report
        mask = self._matcher.compute_logit_bias()
        self._raise_error()
        return mask, report

    def compute_mask_into(self, trg: bytearray) -> str:
        """Writes the mask of the next token into a buffer, a bit per token; returns the report of ``compute_mask``.

        Raises:
            ValueError: The buffer is too small, or as for :meth:`compute_mask`.
        """
        size = 4 * self._matcher.mask_words
        if len(trg) < size:
            msg = "Invalid buffer size"
            raise ValueError(msg)
        mask, report = self._bits()
        trg[:size] = mask
        return report

    def unsafe_compute_mask_ptr(self, trg_pointer: int, trg_byte_size: int) -> str:
        """Writes the mask of the next token to an address, a bit per token; returns the report of ``compute_mask``.

        Raises:
            ValueError: The size is not that of a mask, or as for :meth:`compute_mask`.
        """
        import ctypes

        if trg_byte_size != 4 * self._matcher.mask_words:
            msg = "Invalid buffer size"
            raise ValueError(msg)
        mask, report = self._bits()
        ctypes.memmove(trg_pointer, mask, trg_byte_size)
        return report

    def fill_mask(self, mask: Any, row: int) -> None:
        """Writes the mask of the next token into a row; llguidance has functions instead of this method.

        Raises:
            ValueError: As for :meth:`compute_mask`, or the mask has another shape.
        """
        bits, _ = self._bits()
        np.asarray(mask)[row, : self._matcher.mask_words] = np.frombuffer(bits, np.int32)

    def commit_token(self, sampled_token: int | None) -> tuple[int, list[int]]:
        """Appends a token and, with ``enable_ff_tokens``, the forced tokens after it.

        Returns:
            The number of tokens to remove, which is 0, and the tokens to append; none after the stop.

        Raises:
            ValueError: The token is illegal, or None while a token is expected.
        """
        if self._has_stopped or (sampled_token is None and self.has_pending_stop()):
            return 0, []
        if sampled_token is None:
            msg = "a token is expected"
            raise ValueError(msg)
        self._is_started = True
        self._matcher.consume_token(sampled_token)
        self._raise_error()
        self._tokens.append(sampled_token)
        forced = self._append_forced() if self._has_forced_tokens else []
        return 0, [sampled_token, *forced]

    def has_pending_stop(self) -> bool:
        """Whether the next ``compute_mask`` reports the stop: whether nothing can continue the text."""
        return self._matcher.is_stopped()

    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        return self._matcher.is_accepting()

    def stop_reason(self) -> str:
        """Returns the reason of the stop, as one of llguidance's names."""
        return self._matcher.stop_reason()

    def _append_forced(self) -> list[int]:
        forced = [] if self._matcher.is_stopped() else self._matcher.compute_ff_tokens()
        if forced:
            self._matcher.consume_tokens(forced)
            self._raise_error()
            self._tokens += forced
        return forced

    def _bits(self) -> tuple[bytes, str]:
        """Returns the mask as bits, which are zero at the stop, and the report."""
        report = self._report()
        if self._has_stopped:
            return bytes(4 * self._matcher.mask_words), report
        mask = self._matcher.compute_bitmask()
        self._raise_error()
        return mask, report

    def _report(self) -> str:
        if self._has_stopped:
            msg = "compute_mask() called after stop"
            raise ValueError(msg)
        self._raise_error()
        self._is_started = True
        new = self._tokens[self._reported :]
        progress = [
            {
                "object": "text",
                **self._shown(new),
                "log_prob": 0.0,
                "num_tokens": len(new),
                "is_generated": self._has_reported,
                "stats": {},
            }
        ]
        self._reported, self._has_reported = len(self._tokens), True
        self._has_stopped = self._matcher.is_stopped()
        if self._has_stopped:
            progress += [
                {"object": "capture", "name": name, **_as_json(text), "log_prob": 0.0}
                for name, text in self._matcher.get_captures()
            ]
            reason = {"stop_reason": self.stop_reason()}
            progress.append({"object": "final_text", **self._shown(self._tokens), **reason})
        temperature = None if self._temperatures is None else self._temperatures.temperature(self._tokens)
        return json.dumps(
            {"progress": progress, "stop": self._has_stopped, "temperature": temperature or 0.0}
        )

    def _shown(self, tokens: Sequence[int]) -> dict[str, str]:
        return _as_json(b"".join(self._tokenizer.vocabulary.token(token) or b"" for token in tokens))

    def _raise_error(self) -> None:
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())


def _as_json(text: bytes) -> dict[str, str]:
    return {"str": text.decode(errors="replace"), "hex": text.hex()}
