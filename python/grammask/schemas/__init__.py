"""What makes JSON schemas of other things, and schemas into texts, options and documents for the engine.

``schema_of`` makes a schema of a Python type; ``strict_violations`` finds what OpenAI's strict subset does not have.
"""

from grammask.schemas.python_types import schema_of
from grammask.schemas.strict_subset import strict_violations

__all__ = ["schema_of", "strict_violations"]
