"""Causal language models of the library transformers, one text at a time with a cache of keys and values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.language_models import ModelNotFound
from grammask.language_models.chat_encoding import encode_rendered
from grammask.language_models.greedy_tokenizer import plain_chat
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt


class TransformersModel:
    """A ``PreTrainedModel`` and its fast tokenizer, on the device of the model."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        import torch

        self._torch: Any = torch
        self._tokenizer: Any = tokenizer
        self._model: Any = model
        ends = self._model.generation_config.eos_token_id
        self.vocabulary = Vocabulary.from_huggingface(
            self._tokenizer,
            eos=None if ends is None else ([ends] if isinstance(ends, int) else ends),
            size=self._model.get_output_embeddings().weight.shape[0],
        )
        self._pending: list[int] = []
        self._cache: Any = None
        # The name before transformers 5.24; the output has the same one.
        parameters = inspect.signature(model.forward).parameters
        self._cache_field = "cache" if "cache" in parameters else "past_key_values"
        self._logits: npt.NDArray[np.float32] = np.zeros(0, np.float32)

    @classmethod
    def open(cls, name: str) -> TransformersModel:
        """Loads a folder or a model of the hub, in the dtype of its weights, on the first CUDA device if there is one.

        Raises:
            ModelNotFound: There is no such model, or torch or transformers is not installed.
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise ModelNotFound(f"hf:{name} needs the packages torch and transformers ({error})") from None
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(name)
            model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto").eval()
        except (OSError, ValueError) as error:
            raise ModelNotFound(f"hf:{name}: {error}") from None
        return cls(model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer)

    @property
    def context_length(self) -> int | None:
        """The maximum number of positions of the model; None if its configuration states none."""
        return getattr(self._model.config, "max_position_embeddings", None)

    def encode(self, prompt: str) -> list[int]:
        """Encodes the prompt with the tokenizer, with the tokens that begin texts."""
        return list(self._tokenizer.encode(prompt))

    def encode_chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        """Encodes the chat with the template of the tokenizer, or as plain text if there is none.

        Only the template writes control tokens: their spellings in the chat are text.

        Raises:
            ValueError: The template does not admit such a chat.
        """
        if self._tokenizer.chat_template is None:
            return list(self._tokenizer.encode(plain_chat(messages), split_special_tokens=True))
        from jinja2 import TemplateError

        def render(messages: list[Any], tools: list[Any]) -> str:
            try:
                return str(
                    self._tokenizer.apply_chat_template(
                        messages, tools=tools or None, add_generation_prompt=True, tokenize=False
                    )
                )
            except TemplateError as error:
                raise ValueError(f"the chat template of the model: {error}") from None

        added = self._tokenizer.added_tokens_decoder
        return encode_rendered(
            messages,
            tools,
            control={token.content: id for id, token in added.items() if token.special},
            render=render,
            encode=lambda text: list(self._tokenizer.encode(text, add_special_tokens=False)),
            encode_text=self.encode_text,
        )

    def begin(self, tokens: Sequence[int]) -> None:
        """Starts a text with these tokens; without tokens, with the token that begins texts."""
        self._cache = None
        first = self._tokenizer.bos_token_id
        self._pending = list(tokens) or [self.vocabulary.eos[0] if first is None else first]

    def append(self, token: int) -> None:
        """Appends a token to the text."""
        self._pending.append(token)

    def logits(self) -> npt.NDArray[np.float32]:
        """Runs the model on the tokens that it has not read, and returns the logits."""
        if self._pending:
            self._run(1)
        copy: npt.NDArray[np.float32] = self._logits.copy()
        return copy

    def _run(self, count: int) -> npt.NDArray[np.float32]:
        """Runs the model on the tokens that it has not read, and returns the logits after the last ``count``."""
        ids = self._torch.tensor([self._pending], device=self._model.device)
        with self._torch.inference_mode():
            output = self._model(input_ids=ids, use_cache=True, **{self._cache_field: self._cache})
        self._cache = getattr(output, self._cache_field)
        rows: npt.NDArray[np.float32] = output.logits[0, -count:].float().cpu().numpy()
        self._logits = rows[-1]
        self._pending = []
        return rows

    def encode_text(self, text: str) -> list[int]:
        """Encodes a text inside a longer one."""
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def logits_along(self, draft: Sequence[int]) -> npt.NDArray[np.float32]:
        """Runs the model on the tokens that it has not read and a draft, which is appended."""
        unread = len(self._pending)
        before = [] if unread else [self._logits]
        self._pending += draft
        rows = self._run(len(draft) + (unread > 0))
        return np.stack([*before, *rows])

    def remove_last(self, count: int) -> None:
        """Removes the last tokens of the text."""
        self._cache.crop(-count)
