"""Completion of values by the shell: names that no file has. Where none fits, shells complete the names of files."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from grammask.lark_grammars import BUNDLED
from grammask.schemas.options import SchemaOptions
from grammask.schemas.portability import ENGINES
from grammask.tool_styles import tool_styles

if TYPE_CHECKING:
    from collections.abc import Iterable

OPTION_NAMES = sorted(each.name for each in fields(SchemaOptions) if each.init and each.name != "resolver")
"""The names of ``--option``."""


def _beginning_with(incomplete: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]


def grammars(incomplete: str) -> list[str]:
    """Completes the name of a grammar that is no file."""
    if not incomplete:
        return []  # Files are more frequent.
    names = [f"bundled:{name}" for name in BUNDLED]
    return _beginning_with(incomplete, [*names, *(f"markdown:{name}" for name in BUNDLED), "html:page"])


def vocabularies(incomplete: str) -> list[str]:
    """Completes the name of a vocabulary that is no file."""
    return _beginning_with(incomplete, ["o200k", "cl100k", "hf:"])


def models(incomplete: str) -> list[str]:
    """Completes the kind of a model."""
    return _beginning_with(incomplete, ["demo", "random", "hf:", "gguf:", "openai:"])


def styles(incomplete: str) -> list[str]:
    """Completes the name of a tool style."""
    return _beginning_with(incomplete, tool_styles())


def engines(incomplete: str) -> list[str]:
    """Completes the last one of several engines."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning_with(last, ENGINES)]


def options(incomplete: str) -> list[str]:
    """Completes the name of an option of schemas."""
    return _beginning_with(incomplete, (f"{name}=" for name in OPTION_NAMES))
