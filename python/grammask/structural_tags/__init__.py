"""Structural tags: descriptions of outputs in JSON, as XGrammar defines them, that mix free text, tags and schemas.

``formats`` makes a part of a grammar of each format, ``parameters`` of arguments that are written as XML,
``places`` collects what is wrong. See ``docs/structural_tags.md``.
"""

from grammask.structural_tags.formats import structural_tag_part
from grammask.structural_tags.places import Refusals, StructuralTagError, json_object

__all__ = ["Refusals", "StructuralTagError", "json_object", "structural_tag_part"]
