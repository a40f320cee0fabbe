"""Answers in CommonMark whose fenced blocks are valid in the language that they name.

``languages`` has the names of the bundled languages, ``fences`` the lines of a block and the code inside it, and
``answers`` whole answers.
"""

from __future__ import annotations

from grammask.markdown.answers import OtherBlocks, markdown_answer_part
from grammask.markdown.languages import bundled_language

__all__ = ["OtherBlocks", "bundled_language", "markdown_answer_part"]
