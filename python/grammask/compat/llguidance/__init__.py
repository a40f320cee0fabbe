"""The interface of llguidance 1.9.1 on this engine: ``import grammask.compat.llguidance as llguidance``.

``docs/compat.md`` lists the intended differences: masks contain all legal tokens, an error never ends a text, and
matchers share their caches. ``numpy``, ``torch``, ``hf`` and ``tiktoken`` are submodules, as in llguidance.
"""

from __future__ import annotations

from grammask.compat.llguidance.compilers import JsonCompiler, LarkCompiler, RegexCompiler, regex_to_lark
from grammask.compat.llguidance.executor import LLExecutor
from grammask.compat.llguidance.grammar_texts import GrammarFormat, grammar_from
from grammask.compat.llguidance.interpreter import LLInterpreter
from grammask.compat.llguidance.matcher import LLMatcher, LLParserLimits
from grammask.compat.llguidance.struct_tag import StructTag
from grammask.compat.llguidance.tokenizer import LLTokenizer, TokenizerWrapper

__all__ = [
    "GrammarFormat",
    "JsonCompiler",
    "LLExecutor",
    "LLInterpreter",
    "LLMatcher",
    "LLParserLimits",
    "LLTokenizer",
    "LarkCompiler",
    "RegexCompiler",
    "StructTag",
    "TokenizerWrapper",
    "get_version",
    "grammar_from",
    "regex_to_lark",
]


def get_version() -> str:
    """Returns the version of grammask and that of the llguidance interface."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        mine = version("grammask")
    except PackageNotFoundError:
        mine = "unknown"
    return f"grammask@{mine} llguidance-interface@1.9.1"
