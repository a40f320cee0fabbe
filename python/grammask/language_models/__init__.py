"""Language models that the command line, the server and the demo generate with, behind one small interface.

``open_model`` opens them by name: ``demo`` and ``random`` need nothing, ``hf:NAME`` runs on transformers, ``gguf:PATH``
on llama.cpp. Serving engines have integrations of their own (``grammask.integrations``); these are for trying out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from grammask.vocabulary import Vocabulary

    Message: TypeAlias = Mapping[str, Any]
    """A message of a chat, as OpenAI's API has it: ``{"role": ..., "content": ...}``."""

__all__ = ["LanguageModel", "ModelNotFound", "open_model"]


class ModelNotFound(Exception):
    """There is no such model, or what runs it is not installed; the text says which."""


class LanguageModel(Protocol):
    """A model that reads one text at a time, token by token."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens; as wide as its logits."""

    def encode(self, prompt: str) -> list[int]:
        """Returns the ids that a prompt begins a text with."""

    def encode_chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Returns the ids of a chat up to where the assistant's answer begins."""

    def begin(self, tokens: Sequence[int]) -> None:
        """Forgets what it has read, and reads these tokens."""

    def append(self, token: int) -> None:
        """Reads one more token."""

    def logits(self) -> npt.NDArray[np.float32]:
        """Returns a logit for each id of the vocabulary as the next one: a new float32 array of shape ``[size]``."""


def open_model(name: str, vocabulary: Vocabulary | None, rng: np.random.Generator) -> LanguageModel:
    """Open a model by its name.

    Args:
        name: ``demo``, ``random``, ``hf:NAME`` (a folder, or a model of the hub, which is downloaded if it is not here)
            or ``gguf:PATH``.
        vocabulary: What ``demo`` and ``random`` speak, o200k_base if None; the others bring their own.
        rng: What ``random`` draws from.

    Raises:
        ModelNotFound: There is none of that name, or what runs it is not installed.
        ValueError: A vocabulary was given for a model that brings its own.
    """
    kind, _, place = name.partition(":")
    if kind in ("hf", "gguf") and place:
        if vocabulary is not None:
            raise ValueError(f"{name} brings its own vocabulary")
        if kind == "hf":
            from grammask.language_models.huggingface import TransformersModel

            return TransformersModel(place)
        from grammask.language_models.gguf import LlamaModel

        return LlamaModel(place)
    from grammask.language_models.demo import DemoModel
    from grammask.language_models.noise import RandomModel
    from grammask.vocabulary import Vocabulary

    if name == "demo":
        return DemoModel(vocabulary or Vocabulary.default())
    if name == "random":
        return RandomModel(vocabulary or Vocabulary.default(), rng)
    raise ModelNotFound(f"{name}: there are demo, random, hf:NAME and gguf:PATH")
