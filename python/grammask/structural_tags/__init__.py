"""Structural tags: descriptions of outputs in JSON, as XGrammar defines them, that mix free text, tags and schemas.

``formats`` translates each format to a part of a grammar, ``parameters`` has the styles in which arguments of tools are
written, ``diagnostics`` collects errors with their JSON pointers. See ``docs/structural_tags.md``.
"""

from grammask.structural_tags.diagnostics import DiagnosticList, StructuralTagError, json_object
from grammask.structural_tags.formats import structural_tag_part

__all__ = ["DiagnosticList", "StructuralTagError", "json_object", "structural_tag_part"]
