"""A filter for ExLlamaV2, for ``ExLlamaV2DynamicJob(filters=[...])`` and ``generate(filters=[...])``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exllamav2.generator.filters.base import ExLlamaV2Filter

from grammask.integrations.serving.row_tracking import check_compiled
from grammask.masks import apply_mask
from grammask.named_keywords import named_keywords
from grammask.preparation import prepare

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar

__all__ = ["GrammarFilter"]


@named_keywords
class GrammarFilter(ExLlamaV2Filter):  # type: ignore[misc, unused-ignore]
    """Restricts a generator to tokens with which the output remains a viable prefix of a grammar.

    Example::

        vocabulary = Vocabulary.from_tokenizer_json(Path(config.model_dir, "tokenizer.json"))
        filter = GrammarFilter(model, tokenizer, grammar.compile(vocabulary), max_tokens=200)
        job = ExLlamaV2DynamicJob(input_ids=ids, filters=[filter], max_new_tokens=200)

    After the end of the text only end tokens are legal, so the output ends if they are stop conditions.
    """

    def __init__(
        self, model: Any, tokenizer: Any, compiled: CompiledGrammar, *, max_tokens: int | None = None
    ) -> None:
        """Makes a filter.

        Args:
            model: The model.
            tokenizer: The tokenizer of the model.
            compiled: The grammar, compiled for the model's vocabulary.
            max_tokens: The token budget: the text is complete, end token included, within this number of tokens after
                the prefix. The job must permit as many (``max_new_tokens``). None for a text that it may truncate.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar.
        """
        super().__init__(model, tokenizer)
        check_compiled(compiled)
        prepare(compiled)
        self._matcher = compiled.matcher(max_tokens=max_tokens)
        self._mask: Any = None

    def clone(self, c: Any = None) -> Any:
        """Returns a copy of the filter with its text."""
        if c is None:
            c = GrammarFilter.__new__(GrammarFilter)
        super().clone(c)
        vars(c).update(background_result=None, _matcher=self._matcher.fork(), _mask=None)
        return c

    def begin(self, prefix_str: str = "") -> None:
        """Begins a text with the prefix ``prefix_str``.

        Raises:
            ValueError: No text of the grammar begins with the prefix.
        """
        self._matcher.reset()
        self._mask = None
        if prefix_str and not self._matcher.accept_bytes(prefix_str.encode()):
            msg = f"no text of the grammar begins with the prefix {prefix_str!r}"
            raise ValueError(msg)

    def feed(self, token: Any) -> None:
        """Appends a token.

        Args:
            token: An id, or a tensor with one id.

        Raises:
            ValueError: The token is illegal.
        """
        self._mask = None
        if not self._matcher.accept(int(token)):
            msg = f"the grammar refuses token {int(token)}: {self._matcher.explain(int(token))}"
            raise ValueError(msg)

    def next(self) -> tuple[list[int], set[int]]:
        """Returns the ids of the legal tokens, ascending, and the tokenizer's end token if it is one of them.

        ExLlamaV2 calls this if another filter cannot mask logits. Cost: a list of all legal tokens.
        """
        allowed = self._matcher.allowed_ids().tolist()
        end = self.tokenizer.eos_token_id
        return allowed, {end} if end in allowed else set()

    def use_background_worker(self) -> bool:
        """Permits computing masks while the model runs."""
        return True

    def can_mask_logits(self) -> bool:
        """Selects masks instead of lists of tokens."""
        return True

    def prepare_logit_mask(self) -> bool:
        """Computes the mask of the next token.

        Raises:
            DeadEnd: No token of the vocabulary continues a text of the grammar.
            LimitExceeded: A limit of the grammar was exceeded.
        """
        self._mask = self._matcher.mask()
        return True

    def mask_logits(self, logits: Any) -> Any:
        """Sets the logits of illegal tokens to negative infinity, in place.

        Args:
            logits: Tensor of shape ``[tokens]``; columns beyond the vocabulary are illegal.
        """
        mask = self._matcher.mask() if self._mask is None else self._mask
        return apply_mask(logits, mask.copy())
