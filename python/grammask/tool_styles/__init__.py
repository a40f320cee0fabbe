"""How families of models write calls of tools: a JSON file each, and their reader.

A style has:

- ``describes``, ``models``, ``source``: for people.
- ``tokens``: the marks that are special tokens of the models' own tokenizers.
- ``call``: ways to write one call; ``custom_call``: those with a text that is no JSON as arguments.
- ``begin``, ``between``, ``end``: what is around and between calls. ``most_calls``: how many there can be.
- ``leading_text``: whether text can come before the first call.
- ``preamble``: what can come first, any number of times. ``answer``: an output without calls; any text if absent.

Each of these is a list of pieces: a string stands for itself; ``{"mark": ...}`` for a special token, or for its text
where the vocabulary has no such token; ``{"name": "plain" | "json" | "attribute"}`` for the tool's name, where
``attribute`` has XML's entities; ``{"arguments": "json" | "custom" | STYLE}``, where STYLE is one of
:mod:`grammask.structural_tags.parameters` or :mod:`grammask.structural_tags.nested_parameters`;
``{"number": true}``; ``{"optional": ...}`` for a string or nothing; ``{"text": true}`` for any text without the marks
that begin calls; ``{"text_before": ...}`` for any text before a mark.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["tool_style", "tool_styles"]


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
    if name not in tool_styles():
        msg = f"there is no tool style {name!r}; there are {', '.join(tool_styles())}"
        raise ValueError(msg)
    style: dict[str, Any] = json.loads(_text(name))
    return style
