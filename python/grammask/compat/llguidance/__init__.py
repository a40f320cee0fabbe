"""The interface of llguidance 1.9.1 on this engine: ``import grammask.compat.llguidance as llguidance``.

What is different on purpose is in ``docs/compat.md``: masks hold all legal tokens, an error is never an end of text,
and matchers share what they learn. ``numpy``, ``torch``, ``hf`` and ``tiktoken`` are submodules, as there.
"""

from __future__ import annotations

from grammask.compat.llguidance.executor import LLExecutor
from grammask.compat.llguidance.grammar_texts import GrammarFormat, grammar_from
from grammask.compat.llguidance.matcher import LLMatcher, LLParserLimits
from grammask.compat.llguidance.struct_tag import StructTag
from grammask.compat.llguidance.tokenizer import LLTokenizer, TokenizerWrapper

__all__ = [
    "GrammarFormat",
    "LLExecutor",
    "LLMatcher",
    "LLParserLimits",
    "LLTokenizer",
    "StructTag",
    "TokenizerWrapper",
    "get_version",
    "grammar_from",
]


def get_version() -> str:
    """The version of grammask, and of llguidance whose interface this is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        mine = version("grammask")
    except PackageNotFoundError:
        mine = "unknown"
    return f"grammask@{mine} llguidance-interface@1.9.1"
