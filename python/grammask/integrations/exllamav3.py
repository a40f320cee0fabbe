"""A filter for ExLlamaV3, for ``Job(filters=[...])``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from exllamav3.generator.filter.filter import Filter

from grammask.integrations.serving.row_tracking import check_compiled
from grammask.named_keywords import named_keywords
from grammask.preparation import prepare

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarFilter"]


@named_keywords
class GrammarFilter(Filter):  # type: ignore[misc, unused-ignore]
    """Restricts a job to tokens with which its output remains a viable prefix of a grammar.

    Example::

        vocabulary = Vocabulary.from_huggingface(tokenizer.tokenizer, eos=tokenizer.config.eos_token_id_list)
        filter = GrammarFilter(tokenizer, grammar.compile(vocabulary), max_tokens=200)
        job = Job(input_ids=ids, filters=[filter], max_new_tokens=200)

    With ``end="eos"`` an end token completes the filter. With ``end="eager"`` the token after which the text is
    complete does; pass ``eos_after_completed=True`` then, or the output continues without constraint.
    """

    def __init__(
        self,
        tokenizer: Any,
        compiled: CompiledGrammar,
        trigger_token: int | None = None,
        prefix_str: str | None = None,
        eos_after_completed: bool = False,  # noqa: FBT001, FBT002
        *,
        max_tokens: int | None = None,
    ) -> None:
        """Makes a filter.

        Args:
            tokenizer: The tokenizer of the model.
            compiled: The grammar, compiled for the model's vocabulary.
            trigger_token: The token after which the grammar begins; None for the beginning of the output.
            prefix_str: A prefix of the text that is given instead of sampled.
            eos_after_completed: Whether the end of the text ends the output.
            max_tokens: The token budget: the text is complete, end token included, within this number of tokens after
                the trigger and the prefix. The job must permit as many (``max_new_tokens``). None for a text that the
                job may truncate.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar.
            ValueError: No text of the grammar begins with ``prefix_str``.
        """
        super().__init__(tokenizer, trigger_token, prefix_str, eos_after_completed)
        check_compiled(compiled)
        prepare(compiled)
        self._matcher: Matcher = compiled.matcher(max_tokens=max_tokens)
        self._mask = torch.zeros((1, -(-compiled.vocabulary_size // 32)), dtype=torch.int32, device="cpu")
        self.reset()

    def reset(self) -> None:
        """Returns to the beginning of the text, after the prefix.

        Raises:
            ValueError: No text of the grammar begins with the prefix.
        """
        self._matcher.reset()
        if self.prefix_str and not self._matcher.accept_bytes(self.prefix_str.encode()):
            msg = f"no text of the grammar begins with the prefix {self.prefix_str!r}"
            raise ValueError(msg)

    def accept_token(self, token: int) -> None:
        """Appends a token.

        Raises:
            ValueError: The token is illegal.
        """
        if not self._matcher.accept(token):
            msg = f"the grammar refuses token {token}: {self._matcher.explain(token)}"
            raise ValueError(msg)

    def rollback_tokens(self, num_tokens: int) -> bool:
        """Removes the last tokens."""
        self._matcher.rollback(num_tokens)
        return True

    def get_next_logit_mask(self) -> torch.Tensor:
        """Returns the mask of the next token: int32, shape ``[1, words]``, on the CPU, valid until the next call.

        Raises:
            DeadEnd: No token of the vocabulary continues a text of the grammar.
            LimitExceeded: A limit of the grammar was exceeded.
        """
        self._matcher.fill_mask(self._mask)
        return self._mask

    def is_completed(self) -> bool:
        """Whether the text has ended."""
        return self._matcher.is_finished
