"""Drafts from the grammar for ``generate`` of Hugging Face transformers, in its assisted decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.integrations.drafts import MAX_FORCED, Drafter
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from grammask.integrations.transformers import GrammarLogitsProcessor

__all__ = ["GrammarDrafts"]


@named_keywords
class GrammarDrafts:
    """Lets ``generate`` verify drafts from the grammar of a processor, one text at a time.

    Example::

        processor = GrammarLogitsProcessor(compiled, max_new_tokens=200)
        drafts = GrammarDrafts(processor, tokenizer)
        model.generate(**inputs, **processor.arguments, custom_generate=drafts)

    The text has the same distribution as without drafts, and is the same in greedy decoding, up to rounding in the
    model.

    Args:
        processor: The processor that is passed to ``generate``, with a grammar.
        tokenizer: The tokenizer of the model, for the canonical tokens of forced text. Without it, only tokens that
            are the only legal ones are forced.
        limit: Maximum number of tokens of a draft.

    Attributes:
        drafter: Counts the proposed and the accepted tokens.
    """

    def __init__(
        self, processor: GrammarLogitsProcessor, tokenizer: Any = None, *, limit: int = MAX_FORCED
    ) -> None:
        self._processor = processor
        self.drafter = Drafter(
            None if tokenizer is None else lambda text: tokenizer.encode(text, add_special_tokens=False),
            limit=limit,
        )

    def __call__(self, model: Any, input_ids: Any, **arguments: Any) -> Any:
        """Runs the decoding loop of a call of ``generate``, which calls it with its prepared inputs.

        Raises:
            ValueError: There are several rows; assisted decoding has one.
        """
        from transformers.generation.candidate_generator import CandidateGenerator

        drafts = self

        class Candidates(CandidateGenerator):  # type: ignore[misc, unused-ignore]
            """The drafts in the form of transformers."""

            def get_candidates(self, input_ids: Any, **_: Any) -> tuple[Any, None]:
                return drafts.extend(input_ids), None

            def update_candidate_strategy(self, input_ids: Any, scores: Any, num_matches: int) -> None:  # noqa: ARG002
                drafts.drafter.accepted += int(num_matches)

        # The method that makes the generator of candidates is looked up on the model.
        model._get_candidate_generator = lambda **_: Candidates()  # noqa: SLF001
        try:
            return model._assisted_decoding(input_ids, **arguments)  # noqa: SLF001
        finally:
            del model._get_candidate_generator  # noqa: SLF001

    def extend(self, input_ids: Any) -> Any:
        """Returns ids of shape ``[1, length]`` with a draft after them."""
        import torch

        matcher = self._processor.matcher_after(input_ids)
        if matcher is None:
            return input_ids
        draft = self.drafter.propose(matcher, input_ids[0].tolist())
        return torch.cat(
            [input_ids, torch.tensor([draft], dtype=input_ids.dtype, device=input_ids.device)], dim=1
        )
