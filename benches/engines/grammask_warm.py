"""Adapter for grammask in a process that loads compiled grammars with their learned masks from files.

``cold_caches.py`` writes the files, with the masks along the instances of each schema.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from grammask import CompiledGrammar

from engines.grammask import COMPARES_END, LANGUAGES, ignored_ids, start, stats, version, vocabulary
from engines.grammask import compile as compile_without_file

if TYPE_CHECKING:
    from grammask import Vocabulary

__all__ = [
    "COMPARES_END",
    "LANGUAGES",
    "SETTINGS",
    "compile",
    "ignored_ids",
    "start",
    "stats",
    "version",
    "vocabulary",
]

SETTINGS = "white space is flexible and numbers have all notations; grammars and masks are loaded from files"
FOLDER = Path(__file__).parents[2] / "target" / "warm_grammars"


def file_of(schema: str) -> Path:
    """Return the file of a schema."""
    return FOLDER / hashlib.sha256(schema.encode()).hexdigest()[:32]


def compile(language: str, grammar: str, vocabulary: Vocabulary) -> CompiledGrammar:
    """Load the compiled grammar of a JSON Schema; one without a file, such as that of the warm-up, is compiled."""
    file = file_of(grammar)
    if not file.exists():
        return compile_without_file(language, grammar, vocabulary)
    return CompiledGrammar.load(file, vocabulary)
