"""JSON schemas: their options and documents, schemas of Python types, and OpenAI's strict subset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.schemas.strict_subset import strict_violations

if TYPE_CHECKING:
    from grammask.schemas.python_types import schema_of

__all__ = ["schema_of", "strict_violations"]


def __getattr__(name: str) -> Any:
    # Imported when it is first used: it takes 30 ms, and most programs have schemas and no types.
    if name == "schema_of":
        from grammask.schemas.python_types import schema_of

        return schema_of
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
