"""The notations of families of models for reasoning, calls of tools, results and built-in tools: a JSON file each.

:data:`STYLE_FIELDS` lists the fields of a style, ``docs/tools.md`` describes its pieces.
:mod:`grammask.tools.style` parses styles, and raises ``ValueError`` for unknown fields and pieces.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from grammask.arguments import is_one_of

__all__ = ["STYLE_FIELDS", "tool_style", "tool_styles"]

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

    Raises:
        ValueError: There is no such style.
    """
    if not is_one_of(name, tool_styles()):
        msg = f"there is no tool style {name!r}; there are {', '.join(tool_styles())}"
        raise ValueError(msg)
    style: dict[str, Any] = json.loads(_text(name))
    return style
