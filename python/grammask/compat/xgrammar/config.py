"""xgrammar's settings of the process."""

from grammask.compat.xgrammar.compiler import get_serialization_version
from grammask.compat.xgrammar.recursion_depth import (
    get_max_recursion_depth,
    max_recursion_depth,
    set_max_recursion_depth,
)

__all__ = [
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "set_max_recursion_depth",
]
