"""Formatters as logits processors of Hugging Face transformers.

The text of a row is derived from its tokens, so beams may be reordered and generations restarted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from grammask import kbnf
from grammask.formatron.config import EngineGenerationConfig
from grammask.formatron.formatter import FormatterBase, FormatterBuilder
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FormattersLogitsProcessor",
    "create_engine_vocabulary",
    "create_formatter_logits_processor",
    "create_formatter_logits_processor_list",
]


def create_engine_vocabulary(
    tokenizer: Any, vocab_processors: Sequence[Callable[..., Any]] | None = None
) -> kbnf.Vocabulary:
    """Makes a vocabulary from a tokenizer by its decoder; special tokens have no text.

    Args:
        tokenizer: A tokenizer of transformers.
        vocab_processors: Processors that fill a table of replacements, as in Formatron; the table is then applied to
            the tokens as the tokenizer writes them. Without processors, the tokenizer's decoder determines the bytes.
    """
    spellings = {id: spelling for spelling, id in tokenizer.get_vocab().items()}
    if vocab_processors is None:
        texts = dict(enumerate(Vocabulary.from_huggingface(tokenizer).tokens()))
    else:
        table: dict[bytes, bytes] = {}
        for process in vocab_processors:
            process(table)
        longest_first = sorted(table, key=len, reverse=True)
        special = set(getattr(tokenizer, "all_special_ids", ()))
        texts = {
            id: _replaced(spelling.encode(), table, longest_first)
            for id, spelling in spellings.items()
            if id not in special
        }
    return kbnf.Vocabulary({id: kbnf.Token(text) for id, text in texts.items() if text}, spellings)


def _replaced(spelling: bytes, table: dict[bytes, bytes], longest_first: list[bytes]) -> bytes:
    replaced = bytearray()
    index = 0
    while index < len(spelling):
        key = next((known for known in longest_first if known and spelling.startswith(known, index)), None)
        replaced += spelling[index : index + 1] if key is None else table[key]
        index += 1 if key is None else len(key)
    return bytes(replaced)


def create_formatter_logits_processor(
    tokenizer: Any,
    formatter_builders: Sequence[FormatterBuilder | None] | FormatterBuilder,
    configs: Sequence[EngineGenerationConfig] | None = None,
    vocab_processors: Sequence[Callable[..., Any]] | None = None,
) -> FormattersLogitsProcessor:
    """Makes a logits processor with a format for each row of a batch; a row with None is not constrained."""
    vocabulary = create_engine_vocabulary(tokenizer, vocab_processors)
    builders = (
        [formatter_builders] if isinstance(formatter_builders, FormatterBuilder) else formatter_builders
    )
    formatters = [
        None if builder is None else builder.build(vocabulary, tokenizer.decode) for builder in builders
    ]
    return FormattersLogitsProcessor(formatters, tokenizer.eos_token_id, configs)


def create_formatter_logits_processor_list(
    tokenizer: Any,
    formatter_builders: Sequence[FormatterBuilder | None] | FormatterBuilder,
    configs: Sequence[EngineGenerationConfig] | None = None,
    vocab_processors: Sequence[Callable[..., Any]] | None = None,
) -> Any:
    """Makes a ``LogitsProcessorList`` with the processor of :func:`create_formatter_logits_processor`."""
    processor = create_formatter_logits_processor(tokenizer, formatter_builders, configs, vocab_processors)
    return importlib.import_module("transformers").LogitsProcessorList([processor])


class FormattersLogitsProcessor:
    """Restricts each row of a batch to its format. After the end of a format only the end token is legal."""

    def __init__(
        self,
        formatters: Sequence[FormatterBase | None],
        eos_token_id: int,
        configs: Sequence[EngineGenerationConfig] | None = None,
    ) -> None:
        self._formatters = formatters
        self._eos_token_id = eos_token_id
        self.configs = [EngineGenerationConfig() for _ in formatters] if configs is None else configs
        if len(self.configs) != len(formatters):
            msg = f"there are {len(formatters)} formatters and {len(self.configs)} configurations"
            raise ValueError(msg)
        self._prompt_length: int | None = None
        self._read: list[list[int]] = [[] for _ in formatters]

    def reset(self) -> None:
        """Starts a new generation."""
        self._prompt_length = None
        for row, formatter in enumerate(self._formatters):
            self._read[row] = []
            if formatter is not None:
                formatter.reset()

    @property
    def formatters_captures(self) -> list[dict[str, Any] | None]:
        """The captures of each row; None for rows without a format."""
        return [None if formatter is None else formatter.captures for formatter in self._formatters]

    def is_completed(self) -> list[bool | None]:
        """Whether each row has ended; None for rows without a format."""
        return [None if formatter is None else formatter.is_completed() for formatter in self._formatters]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Masks the scores of a step, shape ``[rows, ids]``, in place, and returns them."""
        if len(input_ids) != len(self._formatters):
            msg = f"there are {len(self._formatters)} formatters for {len(input_ids)} rows"
            raise ValueError(msg)
        if self._prompt_length is None:
            self._prompt_length = input_ids.shape[1]
            for row, formatter in enumerate(self._formatters):
                if formatter is not None and self.configs[row].reset_at_beginning:
                    formatter.reset()
                    self._read[row] = []
        for row, formatter in enumerate(self._formatters):
            if formatter is None:
                continue
            begin = 0 if self.configs[row].read_prompt else self._prompt_length
            self._advance_to(row, formatter, input_ids[row, begin:].tolist())
            if formatter.is_completed():
                scores[row, :] = float("-inf")
                scores[row, self._eos_token_id] = 0.0
                continue
            formatter.compute_allowed_tokens()
            scores[row, :] = formatter.mask_logits(scores[row, :])
        return scores

    def _advance_to(self, row: int, formatter: FormatterBase, tokens: list[int]) -> None:
        """Advances a formatter to the tokens of its row."""
        read = self._read[row]
        if tokens[: len(read)] != read:
            formatter.reset()
            read.clear()
        for token in tokens[len(read) :]:
            if not formatter.is_completed():
                formatter.accept_token(token)
            read.append(token)
