"""Grammars in llguidance's dialect of Lark, as far as they are context-free.

``scanning`` makes tokens, ``syntax`` a tree with the ``parameters`` of rules, ``translation`` the grammar, ``stops``
looks at what follows a ``stop=``, ``imported_terminals`` holds the terminals of ``%import common``, ``refusals`` what
is wrong. What the dialect means here is in ``docs/llguidance_lark.md``.
"""

from grammask.llguidance_grammars.source import LlguidanceLarkSource

__all__ = ["LlguidanceLarkSource"]
