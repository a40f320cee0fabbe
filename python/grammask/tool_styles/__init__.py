"""The notations in which families of models call tools: a JSON file each.

A style has the fields:

- ``describes``, ``models``, ``source``: documentation.
- ``tokens``: the marks that are special tokens of the models' tokenizers.
- ``call``: the alternative notations of a call; ``custom_call``: those of a call whose argument is a text instead of
  JSON. Each begins with a string or a mark.
- ``begin``, ``between``, ``end``: the pieces before, between and after calls. ``most_calls``: the maximum number of
  calls.
- ``leading_text``: whether text may precede the first call.
- ``preamble``: pieces that may come first, any number of times. ``answer``: an output without calls; any text if the
  field is absent.

Notations, and the other fields with pieces, are lists of pieces:

- A string stands for itself.
- ``{"mark": TEXT}`` is a special token, or its text if the vocabulary has no such token.
- ``{"name": "plain" | "json" | "attribute"}`` is the name of the tool: as it is, within a JSON string, or with XML's
  entities.
- ``{"arguments": "json" | "custom" | STYLE}`` are the arguments; STYLE is a name in
  :data:`grammask.structural_tags.parameters.PARAMETER_STYLES`.
- ``{"number": true}`` is the number of a call.
- ``{"optional": TEXT}`` is a string or nothing.
- ``{"text": true}`` is any text without the marks or strings with which calls begin.
- ``{"text_before": TEXT}`` is any text up to a mark.

:mod:`grammask.tools.style` parses styles, and raises ``ValueError`` for unknown pieces.
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
