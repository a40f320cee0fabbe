"""The reader of llguidance's dialect of Lark, for context-free grammars.

``scanning`` splits a text into tokens, ``syntax`` makes statements of them with the ``parameters`` of rules, and
``translation`` builds the grammar. ``stops`` checks the texts after a ``stop=``, and ``lazy_lexemes`` finds the lexemes
that a lazy one competes with. ``rule_kinds`` has the kinds of rules by their attributes, ``captured_rules`` has the
rules that concern captures, ``schema_options`` the options of ``%json``, and ``imported_terminals`` the terminals of
``%import common``. The meaning of the dialect is in ``docs/gbnf.md``.
"""

from grammask.llguidance_grammars.captured_rules import CapturedRule, CapturesUnavailable, captured_rules
from grammask.llguidance_grammars.schema_options import schema_options, without_options
from grammask.llguidance_grammars.source import LlguidanceLarkSource
from grammask.llguidance_grammars.translation import llguidance_grammar

__all__ = [
    "CapturedRule",
    "CapturesUnavailable",
    "LlguidanceLarkSource",
    "captured_rules",
    "llguidance_grammar",
    "schema_options",
    "without_options",
]
