"""The interface of xgrammar 0.2.8 on this engine: ``import grammask.compat.xgrammar as xgrammar``.

Masks are torch tensors if torch is installed, and numpy arrays otherwise. ``docs/compat.md`` lists the intended
differences: schemas are exact or refused, special tokens match by id only.
"""

from __future__ import annotations

import importlib
from typing import Any

from grammask.compat.xgrammar import (
    builtin_structural_tag,
    exception,
    openai_tool_call_schema,
    structural_tag,
    testing,
)
from grammask.compat.xgrammar.bitmasks import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    dtype_of_bitmasks,
    get_bitmask_shape,
    reset_token_bitmask,
)
from grammask.compat.xgrammar.builtin_structural_tag import (
    get_builtin_structural_tag,
    get_model_structural_tag,
    normalize_tool_choice,
    register_model_structural_tag,
)
from grammask.compat.xgrammar.compiler import CompiledGrammar, GrammarCompiler
from grammask.compat.xgrammar.config import (
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_max_recursion_depth,
)
from grammask.compat.xgrammar.exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from grammask.compat.xgrammar.grammar import Grammar
from grammask.compat.xgrammar.matcher import BatchGrammarMatcher, GrammarMatcher
from grammask.compat.xgrammar.structural_tag import StructuralTag, StructuralTagItem
from grammask.compat.xgrammar.tokenizer_info import TokenizerInfo, VocabType

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "builtin_structural_tag",
    "exception",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "max_recursion_depth",
    "normalize_tool_choice",
    "openai_tool_call_schema",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]

_SUBMODULES = ("contrib", "kernels")
"""Submodules that are attributes without an explicit import, but need other libraries."""


def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":
        return dtype_of_bitmasks()
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
