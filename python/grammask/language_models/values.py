"""A Python value from a language model in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from grammask.arguments import check_type, listed
from grammask.grammar import Grammar
from grammask.language_models import LanguageModel, open_model
from grammask.language_models.generation import generate as generate_steps
from grammask.named_keywords import named_keywords
from grammask.preparation import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from grammask.language_models import Message
    from grammask.schemas.options import SchemaKeywords

__all__ = ["generate"]

_Value = TypeVar("_Value")


@overload
def generate(
    model: Any,
    prompt: str | Sequence[Message],
    type: type[_Value],
    *,
    max_tokens: int = 512,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    **options: Unpack[SchemaKeywords],
) -> _Value: ...
@overload
def generate(
    model: Any,
    prompt: str | Sequence[Message],
    type: Grammar,
    *,
    max_tokens: int = 512,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
) -> str: ...
@overload
def generate(
    model: Any,
    prompt: str | Sequence[Message],
    type: Any,
    *,
    max_tokens: int = 512,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    **options: Unpack[SchemaKeywords],
) -> Any: ...
@named_keywords
def generate(
    model: Any,
    prompt: str | Sequence[Message],
    type: Any,
    *,
    max_tokens: int = 512,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    **options: Unpack[SchemaKeywords],
) -> Any:
    """Lets a model write a value of a type.

    The value is complete within ``max_tokens``, and valid, whatever the model prefers. For serving many requests, use
    an engine with an integration of grammask instead.

    >>> import grammask
    >>> from typing import Literal
    >>> grammask.generate("demo", "The answer is ", Literal["yes", "no"]) in ("yes", "no")
    True

    Args:
        model: ``"gguf:PATH"``, ``"hf:NAME"``, ``"demo"`` or ``"random"``; a ``llama_cpp.Llama``; a pair of a model and
            a tokenizer of transformers; or another :class:`grammask.language_models.LanguageModel`. A name opens the
            model in each call.
        prompt: A text that the model continues, or the messages of a chat, ``[{"role": "user", "content": ...}]``,
            written with the model's chat template.
        type: A Python type, for its JSON and as of :meth:`grammask.Grammar.from_type`; a JSON Schema as a dict; or a
            :class:`grammask.Grammar`, for its text.
        max_tokens: The maximum number of tokens, end token included.
        temperature: The sampling temperature; 0 selects the most likely token.
        top_p: Samples from the smallest set of most likely tokens with at least this total probability.
        seed: The same seed gives the same value.
        options: As of :meth:`grammask.Grammar.from_json_schema`, for types and schemas.

    Returns:
        An object of the type, made by its validator: Pydantic's, or msgspec's for a struct; a JSON value for a schema;
        a ``str`` for a grammar.

    Raises:
        BudgetTooSmall: ``max_tokens`` does not suffice for any value.
        PromptTooLong: The prompt fills the context window of the model.
        GrammarError: The type or the schema cannot be enforced exactly.
        ModelNotFound: There is no such model, or a package that it needs is not installed.
        TypeError: The model has no known kind, options are given for a grammar, or another argument has another type.
        ValueError: A number is out of range, or the chat template of the model refuses the chat.
    """
    if not isinstance(prompt, str):
        for index, message in enumerate(listed("prompt", prompt, "messages, or a text")):
            check_type(f"prompt[{index}]", message, Mapping, "a message, with a role and a content")
    for name, value, kind, expected in (
        ("max_tokens", max_tokens, Integral, "an int"),
        ("temperature", temperature, Real, "a number"),
        ("top_p", top_p, Real, "a number"),
        ("seed", seed, Integral, "an int"),
    ):
        check_type(name, value, kind, expected)
    for name, number in (("max_tokens", max_tokens), ("seed", seed)):
        if number < 0:
            msg = f"{name}={number} is negative"
            raise ValueError(msg)
    grammar, value_of = _grammar_of(type, options)
    opened = _opened(model, seed)
    compiled = grammar.compile(opened.vocabulary, end="eos" if opened.vocabulary.eos else "eager")
    prepare(compiled)
    matcher = compiled.matcher()
    tokens = opened.encode(prompt) if isinstance(prompt, str) else opened.encode_chat(prompt)
    steps = generate_steps(
        matcher,
        opened,
        np.random.default_rng(seed),
        prompt=tokens,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
    )
    return value_of(b"".join(step.text for step in steps))


def _grammar_of(tp: Any, options: SchemaKeywords) -> tuple[Grammar, Callable[[bytes], Any]]:
    """Returns the grammar of a type, and the function that reads its texts."""
    if isinstance(tp, Grammar):
        if options:
            msg = f"options of schemas are given for a grammar: {', '.join(options)}"
            raise TypeError(msg)
        return tp, bytes.decode
    if isinstance(tp, dict):
        return Grammar.from_json_schema(tp, **options), json.loads
    from grammask.templates.parts import validator_of

    return Grammar.from_type(tp, **options), validator_of(tp)


def _opened(model: Any, seed: int) -> LanguageModel:
    """Returns a model by name, or in the form of another library, with the interface of this package."""
    if isinstance(model, str):
        return open_model(model, None, np.random.default_rng(seed))
    if isinstance(model, tuple) and len(model) == 2 and hasattr(model[0], "generate"):
        from grammask.language_models.huggingface import TransformersModel

        return TransformersModel(*model)
    if hasattr(model, "model_path") and hasattr(model, "eval"):
        from grammask.language_models.gguf import LlamaModel

        return LlamaModel(model)
    if all(hasattr(model, name) for name in ("vocabulary", "encode", "begin", "append", "logits")):
        opened: LanguageModel = model
        return opened
    msg = (
        f"{model!r} is no model: give a name, a llama_cpp.Llama, a pair of a model and a tokenizer of transformers, or "
        "an object with the interface grammask.language_models.LanguageModel"
    )
    raise TypeError(msg)
