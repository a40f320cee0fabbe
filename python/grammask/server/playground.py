"""The page at ``/``, and the probabilities of the model before and after the mask, which it requests.

The page computes masks itself, with the engine in WebAssembly; only the model is here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from grammask._grammask import Limits
from grammask.compile_cache import default_compile_cache
from grammask.errors import GrammarError
from grammask.grammar import Grammar
from grammask.masks import allocate_mask
from grammask.server.requests import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from grammask._grammask import Matcher
    from grammask.language_models import LanguageModel
    from grammask.vocabulary import Vocabulary

_Value = TypeVar("_Value")

_MAX_CANDIDATES = 25
"""Maximum number of the most likely tokens, before the mask and after it each."""
_MAX_STEPS = 200
"""Maximum number of steps with a mass, which are the last ones; each costs a pass of the model."""
_MAX_BUDGET = 100_000
_LIMITS = Limits(seconds=5.0)
_LEXERS: dict[Any, Literal["basic", "contextual"] | None] = {
    "": None,
    "basic": "basic",
    "contextual": "contextual",
}
_KEY_ORDERS: dict[Any, Literal["declared", "any"]] = {"": "declared", "declared": "declared", "any": "any"}


def page() -> bytes:
    """Returns the playground, or a smaller page where it is not built, which takes a compiler for WebAssembly."""
    files = resources.files(__package__)
    built = files.joinpath("playground.html")
    return (built if built.is_file() else files.joinpath("page.html")).read_bytes()


@dataclass(frozen=True, slots=True)
class ProbabilityQuery:
    """A text under a grammar.

    Attributes:
        grammar: The grammar.
        prompt: The text before.
        tokens: The ids of the text.
        budget: The token budget of the next token, of which alone the probabilities are asked for; None without one.
    """

    grammar: Grammar
    prompt: str
    tokens: Sequence[int]
    budget: int | None = None

    @classmethod
    def of_json(cls, query: Any) -> ProbabilityQuery:
        """Reads ``notation``, ``grammar``, ``lexer``, ``key_order``, ``prompt``, ``tokens`` and ``max_tokens``.

        Raises:
            BadRequest: A field is missing or has another type.
            GrammarError: The errors of the grammar.
        """
        if not isinstance(query, dict):
            raise BadRequest("the body is no JSON object")
        text, prompt, tokens = query.get("grammar"), query.get("prompt", ""), query.get("tokens")
        if not isinstance(text, str):
            raise BadRequest("grammar is no string", "grammar")
        if not isinstance(prompt, str):
            raise BadRequest("prompt is no string", "prompt")
        if not isinstance(tokens, list) or any(type(token) is not int for token in tokens):
            raise BadRequest("tokens is no list of ids", "tokens")
        budget = query.get("max_tokens")
        if budget is not None and (type(budget) is not int or not 0 < budget <= _MAX_BUDGET):
            raise BadRequest(f"max_tokens is no number from 1 to {_MAX_BUDGET}", "max_tokens")
        return cls(_grammar(query, text), prompt, tokens, budget)


def matcher(model: LanguageModel, query: ProbabilityQuery) -> Matcher:
    """Returns a matcher of the grammar of a query.

    Raises:
        GrammarError: The grammar cannot be compiled, or a limit is exceeded.
    """
    return query.grammar.compile(model.vocabulary, limits=_LIMITS, cache=default_compile_cache).matcher()


def probabilities(model: LanguageModel, query: ProbabilityQuery, matcher: Matcher) -> dict[str, Any]:
    """Returns the probabilities of the next token, and those that the mask left at the steps before.

    Args:
        model: The model.
        query: The text under a grammar.
        matcher: A matcher of the grammar.

    Returns:
        ``steps``, one for each of the last tokens and one for the next: ``mass``, the probability of the allowed
        tokens, and ``preferred``, the text of the most likely token if the grammar refuses it. ``candidates``, the
        most likely tokens with their probability ``before`` and ``after`` the mask and their bytes in base64 as
        ``text``.

    Raises:
        BadRequest: The grammar refuses a token, or the model has no such token.
        GrammarError: A limit is exceeded.
    """
    vocabulary = model.vocabulary
    first = max(0, len(query.tokens) - (_MAX_STEPS if query.budget is None else 0))
    for position, token in enumerate(query.tokens[:first]):
        _accept(matcher, vocabulary, token, position)
    model.begin([*model.encode(query.prompt), *query.tokens[:first]])
    steps: list[dict[str, Any]] = []
    for position, token in enumerate(query.tokens[first:], first):
        steps.append(_step(vocabulary, _distributions(model, matcher)))
        _accept(matcher, vocabulary, token, position)
        model.append(token)
    if matcher.is_finished:
        return {"steps": steps, "candidates": []}
    matcher.budget = query.budget
    last = _distributions(model, matcher)
    steps.append(_step(vocabulary, last))
    return {"steps": steps, "candidates": _candidates(vocabulary, last)}


def _grammar(query: dict[str, Any], text: str) -> Grammar:
    lexer = _named(query, "lexer", _LEXERS)
    key_order = _named(query, "key_order", _KEY_ORDERS)
    readers: dict[Any, Callable[[], Grammar]] = {
        "kbnf": lambda: Grammar.from_kbnf(text, lexer=lexer, limits=_LIMITS),
        "gbnf": lambda: Grammar.from_gbnf(text, lexer=lexer, limits=_LIMITS),
        "regex": lambda: Grammar.from_regex(text.rstrip("\n"), syntax="rust", limits=_LIMITS),
        "schema": lambda: Grammar.from_json_schema(text, key_order=key_order, limits=_LIMITS),
        "choices": lambda: Grammar.from_choices(list(filter(None, text.split("\n"))), limits=_LIMITS),
        "bundled": lambda: Grammar.bundled(text, limits=_LIMITS),
    }
    read = _named(query, "notation", readers)
    try:
        return read()
    except GrammarError:
        raise
    except ValueError as error:  # No such language.
        raise BadRequest(str(error), "grammar") from None


def _named(query: dict[str, Any], field: str, values: dict[Any, _Value]) -> _Value:
    """Returns the value that a field names; a missing field is the empty name."""
    name = query.get(field, "")
    if not isinstance(name, str) or name not in values:
        raise BadRequest(f"{field} is none of {', '.join(filter(None, values))}", field)
    return values[name]


def _accept(matcher: Matcher, vocabulary: Vocabulary, token: int, position: int) -> None:
    if not 0 <= token < vocabulary.size:
        raise BadRequest(f"the model has no token {token}", "tokens")
    if not matcher.accept(token):
        raise BadRequest(f"the grammar refuses token {position}", "tokens")


@dataclass(frozen=True, slots=True)
class _Distributions:
    """Probabilities of all tokens before and after the mask, and the probability of the allowed ones."""

    before: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]
    mass: float


def _distributions(model: LanguageModel, matcher: Matcher) -> _Distributions:
    logits = model.logits().astype(np.float64)
    before = np.exp(logits - logits.max())
    before /= before.sum()
    mask = allocate_mask(1, logits.size)
    matcher.fill_mask(mask)
    is_allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: logits.size].astype(bool)
    # The allowed tokens can be so unlikely that all of them round to 0.
    after = np.where(is_allowed, np.exp(logits - logits[is_allowed].max()), 0.0)
    return _Distributions(before, after / after.sum(), min(1.0, float(before[is_allowed].sum())))


def _step(vocabulary: Vocabulary, distributions: _Distributions) -> dict[str, Any]:
    best = int(distributions.before.argmax())
    preferred = _label(vocabulary, best) if distributions.after[best] == 0 else None
    return {"mass": distributions.mass, "preferred": preferred}


def _candidates(vocabulary: Vocabulary, distributions: _Distributions) -> list[dict[str, Any]]:
    before, after = distributions.before, distributions.after
    count = min(_MAX_CANDIDATES, before.size)
    likely = {
        int(id)
        for each in (before, after)
        for id in np.argpartition(-each, count - 1)[:count]
        if each[id] > 0
    }
    texts = {id: vocabulary.token(id) for id in likely}
    return [
        {
            "id": id,
            "text": None if (text := texts[id]) is None else base64.b64encode(text).decode(),
            "before": float(before[id]),
            "after": float(after[id]),
        }
        for id in sorted(likely, key=lambda each: (-before[each], each))
    ]


def _label(vocabulary: Vocabulary, id: int) -> str:
    text = vocabulary.token(id)
    return vocabulary.name_of(id) or f"#{id}" if text is None else text.decode("utf-8", "replace")
