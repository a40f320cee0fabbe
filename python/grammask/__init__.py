"""Exact next-token masks for grammars: constrained decoding at memory speed.

A grammar says which texts are legal, a vocabulary which tokens the model has; a matcher says after each token which
tokens can come next:

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

from grammask._grammask import CompiledGrammar, Expectation, Explanation, Limits, Matcher
from grammask.compile_cache import CompileCache, default_compile_cache
from grammask.errors import (
    DeadEnd,
    Diagnostic,
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
from grammask.masks import allocate_mask, apply_mask, fill_masks, set_threads, threads
from grammask.progress import progress_bar
from grammask.streaming import PartialJson, partial_json
from grammask.templates import Template, TemplateMismatch, TemplateResult, TemplateStream
from grammask.vocabulary import Vocabulary

__all__ = [
    "CompileCache",
    "CompiledGrammar",
    "DeadEnd",
    "Diagnostic",
    "Expectation",
    "Explanation",
    "Grammar",
    "GrammarError",
    "GrammarSemanticError",
    "GrammarSyntaxError",
    "LimitExceeded",
    "Limits",
    "Matcher",
    "PartialJson",
    "SchemaNotStrict",
    "Template",
    "TemplateMismatch",
    "TemplateResult",
    "TemplateStream",
    "UnsupportedGrammar",
    "UnsupportedSchema",
    "UnsupportedType",
    "Vocabulary",
    "VocabularyError",
    "allocate_mask",
    "apply_mask",
    "default_compile_cache",
    "fill_masks",
    "partial_json",
    "progress_bar",
    "set_threads",
    "threads",
]
