"""Answers the queries of the page at ``/``: the viable prefix of a text, and the legal tokens after it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask._grammask import Limits
from grammask.compile_cache import default_compile_cache
from grammask.errors import GrammarError
from grammask.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask._grammask import Matcher
    from grammask.vocabulary import Vocabulary

_MAX_SHOWN_TOKENS = 60
"""Maximum number of legal tokens in an answer."""

_LIMITS = Limits(seconds=5.0)

_NOTATIONS: dict[str, Callable[[str], Grammar]] = {
    "gbnf": lambda text: Grammar.from_gbnf(text, limits=_LIMITS),
    "kbnf": lambda text: Grammar.from_kbnf(text, limits=_LIMITS),
    "regex": lambda text: Grammar.from_regex(text, limits=_LIMITS),
    "schema": lambda text: Grammar.from_json_schema(text, limits=_LIMITS),
}


def inspect_text(vocabulary: Vocabulary, query: Any) -> dict[str, Any]:
    """Answers ``{"notation": "kbnf", "gbnf", "schema" or "regex", "grammar": text, "text": text}``.

    Returns:
        ``error`` if the grammar is invalid. Otherwise ``fits``, the length of the longest viable prefix in bytes, and,
        for the state after it, ``complete``, ``expected``, ``allowed`` (the number of legal tokens), ``shown`` (some of
        them as ``[id, text]``), ``forced`` and ``microseconds``, the time for the mask.
    """
    try:
        notation, source, text = query["notation"], query["grammar"], query["text"].encode()
        grammar = _NOTATIONS[notation](source)
        compiled = grammar.compile(vocabulary, limits=_LIMITS, cache=default_compile_cache)
        fits = compiled.first_error(text)
        matcher = compiled.matcher()
        end = len(text) if fits is None else min(fits, len(text))
        while not matcher.accept_bytes(text[:end]):
            end -= 1
        return {"fits": end, **_next(vocabulary, matcher)}
    except GrammarError as error:
        return {"error": str(error)}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return {"error": f"the request is wrong: {error}"}


def _next(vocabulary: Vocabulary, matcher: Matcher) -> dict[str, Any]:
    begin = time.perf_counter()
    allowed = matcher.allowed_ids()
    seconds = time.perf_counter() - begin
    shown = allowed[np.linspace(0, len(allowed) - 1, min(_MAX_SHOWN_TOKENS, len(allowed))).astype(np.intp)]
    expected = dict.fromkeys(f"{item.terminal} in {item.rule}" for item in matcher.expected())
    return {
        "complete": matcher.is_complete or matcher.is_finished,
        "expected": list(expected)[:12],
        "allowed": len(allowed),
        "shown": [[int(id), _label(vocabulary, int(id))] for id in shown],
        "forced": matcher.forced_bytes().decode("utf-8", "replace"),
        "microseconds": round(seconds * 1e6, 1),
    }


def _label(vocabulary: Vocabulary, id: int) -> str:
    text = vocabulary.token(id)
    return vocabulary.name_of(id) or f"#{id}" if text is None else text.decode("utf-8", "replace")
