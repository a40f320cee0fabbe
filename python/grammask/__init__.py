"""Exact next-token masks for grammars, for constrained decoding of language models.

A grammar defines the legal texts, and a vocabulary the tokens of the model. A matcher follows a text and computes after
each token the set of legal next tokens:

>>> import grammask
>>> vocabulary = grammask.Vocabulary([b"1", b"12", b"+", b"x", None], eos=4)
>>> grammar = grammask.Grammar.from_kbnf('start ::= number | start "+" number; number ::= #"[0-9]+";')
>>> matcher = grammar.compile(vocabulary).matcher()
>>> matcher.accept(1)
True
>>> mask = grammask.allocate_mask(1, vocabulary.size)
>>> matcher.fill_mask(mask)
>>> matcher.allowed_ids().tolist()
[0, 1, 2, 4]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grammask._grammask import (
    CompiledGrammar,
    Completion,
    Expectation,
    Explanation,
    Limits,
    Matcher,
    TextExplanation,
)
from grammask.compile_cache import CompileCache, default_compile_cache
from grammask.errors import (
    BudgetTooSmall,
    DeadEnd,
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    SchemaNotStrict,
    UnsupportedGrammar,
    UnsupportedSchema,
    UnsupportedType,
    VocabularyError,
)
from grammask.grammar import Grammar
from grammask.masks import allocate_mask, apply_mask, fill_masks, set_threads, step_batch, threads
from grammask.progress import progress_bar
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from grammask import compat as compat
    from grammask import formatron as formatron
    from grammask import integrations as integrations
    from grammask import kbnf as kbnf
    from grammask import streamlining as streamlining
    from grammask import templates as templates
    from grammask import texts as texts
    from grammask import tools as tools
    from grammask.ambiguity import Ambiguity, AmbiguityReport
    from grammask.diagnostic import Diagnostic
    from grammask.language_models.values import generate
    from grammask.partial_objects import PartialJson, partial_json
    from grammask.readers.keyword_effects import KeywordEffect, keyword_effects
    from grammask.schemas.options import SchemaOptions
    from grammask.templates import Template, TemplateMismatch, TemplateResult, TemplateStream
    from grammask.trace import Trace, TraceStep

__all__ = [
    "Ambiguity",
    "AmbiguityReport",
    "BudgetTooSmall",
    "CompileCache",
    "CompiledGrammar",
    "Completion",
    "DeadEnd",
    "Diagnostic",
    "Expectation",
    "Explanation",
    "Grammar",
    "GrammarError",
    "GrammarSemanticError",
    "GrammarSyntaxError",
    "KeywordEffect",
    "LimitExceeded",
    "Limits",
    "Matcher",
    "PartialJson",
    "SchemaNotStrict",
    "SchemaOptions",
    "Template",
    "TemplateMismatch",
    "TemplateResult",
    "TemplateStream",
    "TextExplanation",
    "Trace",
    "TraceStep",
    "UnsupportedGrammar",
    "UnsupportedSchema",
    "UnsupportedType",
    "Vocabulary",
    "VocabularyError",
    "allocate_mask",
    "apply_mask",
    "default_compile_cache",
    "fill_masks",
    "generate",
    "keyword_effects",
    "partial_json",
    "progress_bar",
    "set_threads",
    "step_batch",
    "threads",
]

_IMPORTED_WHEN_USED = {
    **dict.fromkeys(("PartialJson", "partial_json"), "grammask.partial_objects"),
    "Diagnostic": "grammask.diagnostic",
    "SchemaOptions": "grammask.schemas.options",
    **dict.fromkeys(("KeywordEffect", "keyword_effects"), "grammask.readers.keyword_effects"),
    "generate": "grammask.language_models.values",
    **dict.fromkeys(("Trace", "TraceStep"), "grammask.trace"),
    **dict.fromkeys(("Ambiguity", "AmbiguityReport"), "grammask.ambiguity"),
    **dict.fromkeys(
        ("Template", "TemplateMismatch", "TemplateResult", "TemplateStream"), "grammask.templates"
    ),
}
"""Names whose modules are imported when they are first used, to keep the import of the package fast."""

_MODULES_IMPORTED_WHEN_USED = frozenset(
    {"compat", "formatron", "integrations", "kbnf", "streamlining", "templates", "texts", "tools"}
)
"""Modules that are attributes of the package without an import of their own: ``grammask.kbnf.Engine``."""


def __getattr__(name: str) -> Any:
    """Import the module of a lazy attribute."""
    if name in _MODULES_IMPORTED_WHEN_USED:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version(__name__)
    if name not in _IMPORTED_WHEN_USED:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_IMPORTED_WHEN_USED[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, imported or not."""
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*__all__, *_MODULES_IMPORTED_WHEN_USED, *special, "__version__"})
