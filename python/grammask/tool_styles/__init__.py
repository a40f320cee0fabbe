"""The notations of families of models for reasoning, calls of tools, results and built-in tools: a JSON file each.

:data:`STYLE_FIELDS` lists the fields of a style, ``docs/tools.md`` describes its pieces.
:mod:`grammask.tools.style` parses styles, and raises ``ValueError`` for unknown fields and pieces.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from grammask.arguments import is_one_of

__all__ = ["STYLE_FIELDS", "style_name", "tool_style", "tool_styles"]

STYLE_FIELDS: dict[str, Any] = {
    "describes": "What the format looks like; documentation.",
    "models": "The models that use it; documentation.",
    "source": "Where the format is described; documentation.",
    "tokens": "The marks that are special tokens of the models' tokenizers.",
    "leading_text": "Whether text may precede the first call; or the pieces that contain this text.",
    "answer": "The pieces of an output without calls; any text if the field is absent.",
    "empty_text": "A text that stands for no text before the calls; it is optional, and the writer writes it.",
    "begin": "The pieces before the first call.",
    "call": "The alternative notations of a call. Each begins with a string or a mark.",
    "custom_call": "Those of a call whose argument is a text instead of JSON.",
    "between": "The pieces between two calls.",
    "end": "The pieces after the last call.",
    "most_calls": "The maximum number of calls.",
    "reasoning": {
        "begin": "The pieces before the reasoning.",
        "end": "The pieces after it. The first one is a string or a mark, which the reasoning does not contain.",
        "default": "`optional` if every output may begin with reasoning, `none` (the default) if the caller decides.",
        "repeats": "Whether there may be several sections.",
        "skipped": "The pieces that may stand for the section in the mode `optional`, without repetition.",
    },
    "results": {
        "role": "The role of the message that contains the results.",
        "begin": "The pieces before the first result.",
        "result": "The pieces of a result.",
        "between": "The pieces between two results.",
        "end": "The pieces after the last result.",
    },
    "builtin": {
        "call": "The alternative notations of a call of the built-in tool.",
        "parameters": "The schema of its arguments; absent if it receives a text.",
    },
}
"""The fields of a style with their meanings. ``builtin`` has such an object for each kind of tool."""


@cache
def tool_styles() -> tuple[str, ...]:
    """Returns the names of all styles, sorted."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


@cache
def _text(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8")


def tool_style(name: str) -> dict[str, Any]:
    """Returns a style as a new dictionary.

    Args:
        name: The name of the style, or of a model or checkpoint that uses it (:func:`style_name`).

    Raises:
        ValueError: There is no such style, or several fit the model.
    """
    style: dict[str, Any] = json.loads(_text(style_name(name)))
    return style


def style_name(name: str) -> str:
    """Returns the name of a style, by its name or that of a model.

    A model of a style fits the name of a checkpoint that has its words in their order; the one with the most words, and
    of these the one that begins first, counts. The name of a family fits if all its models have one style.

    >>> from grammask.tool_styles import style_name
    >>> style_name("Qwen/Qwen3-Coder-30B-A3B-Instruct"), style_name("gpt-oss")
    ('qwen3_coder', 'harmony')

    Raises:
        ValueError: There is no such style, or several fit the model.
    """
    if is_one_of(name, tool_styles()):
        return name
    given: object = name
    if not isinstance(given, str):
        msg = f"there is no tool style {given!r}"
        raise ValueError(msg)
    return _style_of_model(name)


@lru_cache(maxsize=256)
def _style_of_model(name: str) -> str:
    words = _words(name.rstrip("/").rpartition("/")[2])
    if "_".join(words) in tool_styles():
        return "_".join(words)
    of_models = [(_words(model), style) for style in tool_styles() for model in _models(style)]
    fitting = [
        (len(model), -words.index(model[0]), style)
        for model, style in of_models
        if _has_in_order(words, model)
    ]
    if fitting:
        best = max(fitting)[:2]
        styles = {style for *rank, style in fitting if tuple(rank) == best}
    else:
        family = " ".join(words)
        styles = {style for model, style in of_models if family and " ".join(model).startswith(family)}
    if len(styles) == 1:
        return styles.pop()
    if not styles:
        near = difflib.get_close_matches("_".join(words), tool_styles(), n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(tool_styles())}"
        msg = f"there is no tool style {name!r}, and no style of a model with this name; {advice}"
        raise ValueError(msg)
    choices = "; ".join(f"{style!r} ({', '.join(_models(style))})" for style in sorted(styles))
    msg = f"several tool styles fit {name!r}: {choices}"
    raise ValueError(msg)


def _models(style: str) -> list[str]:
    models: list[str] = json.loads(_text(style))["models"]
    return models


def _words(name: str) -> list[str]:
    """Returns the words and versions of a name, without a zero at the end of a version and notes about releases."""
    words = re.findall(r"[a-z0-9]+(?:\.[0-9]+)*", name.lower().removesuffix(" and later"))
    return [re.sub(r"(?<=[0-9])\.0$", "", word) for word in words]


def _has_in_order(words: list[str], part: list[str]) -> bool:
    remaining = iter(words)
    return all(word in remaining for word in part)
