"""The definitions of a schema that is being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.schemas.keywords import NUMBER_TEXTS
from grammask.schemas.text_forms.decimals import double_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Definitions"]

_Schema = dict[str, Any]
_ANY = "Any"
_ANY_NUMBER = rf"^(?:{double_pattern()}|-?[1-9][0-9]{{0,4299}})$"
"""What ``json.dumps`` writes: integers that Python reads, and finite doubles."""


class Definitions:
    """Schemas by name. Equal types share a definition; different types of the same name have different ones."""

    def __init__(self) -> None:
        self.schemas: dict[str, _Schema] = {}
        self._names: dict[Hashable, str] = {}

    def reference(self, key: Hashable, name: str, write: Callable[[], _Schema]) -> _Schema:
        """Returns a reference to the definition of a type.

        Args:
            key: Equal for equal types.
            name: The name of the definition, if it is not taken.
            write: Writes the schema; called at the first use. It may refer to itself.
        """
        unique = self._names.get(key)
        if unique is None:
            unique, count = name, 1
            while unique in self.schemas:
                count += 1
                unique = f"{name}-{count}"
            self._names[key] = unique
            self.schemas[unique] = {}
            self.schemas[unique] = write()
        return {"$ref": f"#/$defs/{unique}"}

    def anything(self) -> _Schema:
        """Returns a reference to the schema of all values, with numbers that Python reads."""

        def write() -> _Schema:
            inner = {"$ref": f"#/$defs/{self._names[_ANY, None]}"}
            return {NUMBER_TEXTS: _ANY_NUMBER, "items": inner, "additionalProperties": inner}

        return self.reference((_ANY, None), _ANY, write)

    def root(self, schema: _Schema) -> _Schema:
        """Returns a schema with the definitions. A root that is only a reference is replaced by the definition."""
        reference = schema.get("$ref")
        definitions = self.schemas
        if isinstance(reference, str) and len(schema) == 1:
            name = reference.removeprefix("#/$defs/")
            schema = definitions[name]
            if f"'{reference}'" not in repr(definitions):
                definitions = {key: value for key, value in definitions.items() if key != name}
        return {**schema, "$defs": definitions} if definitions else schema
