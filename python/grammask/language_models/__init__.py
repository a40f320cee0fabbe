"""Language models for the command line, the server and the demo, with one interface.

``open_model`` opens them by name: ``demo`` and ``random`` need no other package, ``hf:NAME`` needs transformers,
``gguf:PATH`` needs llama-cpp-python. They serve to try grammars; ``grammask.integrations`` has the adapters for serving
engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from grammask.vocabulary import Vocabulary

    Message: TypeAlias = Mapping[str, Any]
    """A message of a chat in the form of OpenAI's API: ``{"role": ..., "content": ...}``."""

__all__ = [
    "ContextWindow",
    "DraftVerifier",
    "LanguageModel",
    "ModelNotFound",
    "PromptTooLong",
    "free_context",
    "open_model",
]


class ModelNotFound(Exception):
    """The model does not exist, or a package that it needs is not installed."""


class PromptTooLong(ValueError):
    """The prompt leaves no place for a token in the context window of the model."""


class LanguageModel(Protocol):
    """A model for one text at a time, which is extended token by token."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model, with the width of its logits."""

    def encode(self, prompt: str) -> list[int]:
        """Returns the ids of a prompt at the beginning of a text."""

    def encode_chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Returns the ids of a chat up to the beginning of the assistant's answer.

        Raises:
            ValueError: The model's template does not admit such a chat.
        """

    def begin(self, tokens: Sequence[int]) -> None:
        """Starts a text with these tokens."""

    def append(self, token: int) -> None:
        """Appends a token to the text."""

    def logits(self) -> npt.NDArray[np.float32]:
        """Returns the logits of the next token: a new float32 array of shape ``[size]``."""


@runtime_checkable
class DraftVerifier(Protocol):
    """A language model that reads several tokens in one pass, and can take tokens back."""

    def encode_text(self, text: str) -> list[int]:
        """Returns the ids of a text inside a longer one, without special tokens."""

    def logits_along(self, draft: Sequence[int]) -> npt.NDArray[np.float32]:
        """Appends a draft; returns the logits before its first token and after each, shape ``[tokens + 1, size]``."""

    def remove_last(self, count: int) -> None:
        """Removes the last tokens of the text."""


@runtime_checkable
class ContextWindow(Protocol):
    """A language model that reads a limited number of tokens."""

    @property
    def context_length(self) -> int | None:
        """The maximum number of tokens of a prompt and its text; None if there is none."""


def free_context(model: LanguageModel, prompt: Sequence[int]) -> int | None:
    """Returns the number of tokens that can follow a prompt; None if there is no limit.

    Raises:
        PromptTooLong: There is no place for a token.
    """
    length = model.context_length if isinstance(model, ContextWindow) else None
    if length is None:
        return None
    if len(prompt) >= length:
        msg = f"the prompt has {len(prompt)} tokens, and the context window of the model has {length}"
        raise PromptTooLong(msg)
    return length - len(prompt)


def open_model(name: str, vocabulary: Vocabulary | None, rng: np.random.Generator) -> LanguageModel:
    """Opens a model by its name.

    Args:
        name: ``demo``, ``random``, ``hf:NAME`` (a folder, or a model of the hub, which is downloaded if necessary) or
            ``gguf:PATH``.
        vocabulary: The vocabulary of ``demo`` and ``random``, o200k_base if None; other models have their own.
        rng: The source of the logits of ``random``.

    Raises:
        ModelNotFound: There is no model of that name, or a package that it needs is not installed.
        ValueError: A vocabulary was given for a model that has its own.
    """
    kind, _, place = name.partition(":")
    if kind in ("hf", "gguf") and place:
        if vocabulary is not None:
            raise ValueError(f"{name} brings its own vocabulary")
        if kind == "hf":
            from grammask.language_models.huggingface import TransformersModel

            return TransformersModel.open(place)
        from grammask.language_models.gguf import LlamaModel

        return LlamaModel.open(place)
    from grammask.language_models.demo import DemoModel
    from grammask.language_models.random_model import RandomModel
    from grammask.vocabulary import Vocabulary

    if name == "demo":
        return DemoModel(vocabulary or Vocabulary.default())
    if name == "random":
        return RandomModel(vocabulary or Vocabulary.default(), rng)
    import difflib  # Only for messages.

    near = difflib.get_close_matches(name, ("demo", "random"), n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise ModelNotFound(
        f"{name}: there are demo, random, hf:NAME and gguf:PATH; `grammask generate` also has openai:URL#NAME{meant}"
    )
