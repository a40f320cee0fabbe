"""Whether the interpreter reads a text of Python."""

from __future__ import annotations

import ast
import warnings


def is_read_by_python(text: str) -> bool:
    """Returns whether ``ast.parse`` reads the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True
