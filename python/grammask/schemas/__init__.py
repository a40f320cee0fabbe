"""JSON schemas: their options and documents, schemas of Python types, and OpenAI's strict subset."""

from grammask.schemas.python_types import schema_of
from grammask.schemas.strict_subset import strict_violations

__all__ = ["schema_of", "strict_violations"]
