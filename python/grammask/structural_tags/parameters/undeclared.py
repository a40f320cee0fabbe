"""The properties of an object that its schema admits without declaring them, in groups with one schema each.

``patternProperties``, ``additionalProperties`` and ``unevaluatedProperties`` give the schemas of values, and
``propertyNames`` a schema of all names. A name that two patterns match would have two schemas, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask.errors import GrammarError, GrammarSemanticError
from grammask.readers.json_schema import string_schema_part
from grammask.schemas.keywords import escaped
from grammask.structural_tags.parameters.schema_document import LocatedSchema

if TYPE_CHECKING:
    from grammask.structural_tags.diagnostics import DiagnosticList
    from grammask.structural_tags.parameters.schema_document import SchemaDocument

__all__ = ["ABOUT_UNDECLARED", "UndeclaredProperties", "has_string", "undeclared_properties"]

ABOUT_UNDECLARED = {"additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"}
"""The keywords about undeclared properties."""


@dataclass(frozen=True, eq=False)
class UndeclaredProperties:
    """A group of properties.

    Attributes:
        names: The schemas that their names satisfy, all of them; none if any name will do.
        value: The schema of their values.
        resources: The schemas that those of names refer to, by URI.
    """

    names: tuple[Any, ...]
    value: LocatedSchema
    resources: Mapping[str, Any] = field(default_factory=dict)

    def names_like(self, pattern: str | None, declared: list[str]) -> dict[str, Any]:
        """Returns the schema of the names that also match a pattern, if there is one, and are not declared."""
        others: list[Any] = [] if pattern is None else [{"pattern": f"^(?:{pattern})$"}]
        others += [{"not": {"enum": declared}}] if declared else []
        return {"type": "string", "allOf": [*self.names, *others, True]}

    def has(self, name: str) -> bool:
        """Whether the name is one of an undeclared property of this group."""
        return has_string([*self.names, {"const": name}], self.resources)


def undeclared_properties(
    document: SchemaDocument,
    schema: Mapping[str, Any],
    pointer: str,
    diagnostics: DiagnosticList,
    *,
    is_open: bool,
) -> tuple[UndeclaredProperties, ...]:
    """Returns the groups of a schema.

    Args:
        document: The schema around it.
        schema: The schema of the object.
        pointer: Its pointer.
        diagnostics: Receives errors.
        is_open: Whether other properties are admitted where no keyword says so.
    """
    patterns = schema.get("patternProperties", {})
    if not isinstance(patterns, Mapping):
        diagnostics.invalid(f"{pointer}/patternProperties", "`patternProperties` is an object")
        return ()
    names: tuple[Any, ...] = ()
    if "propertyNames" in schema:
        names = (document.apart(schema["propertyNames"], f"{pointer}/propertyNames"),)
    keyword = "additionalProperties" if "additionalProperties" in schema else "unevaluatedProperties"
    others = schema.get(keyword, is_open)
    matching = [{"pattern": pattern} for pattern in patterns]
    groups = [
        UndeclaredProperties(
            (*names, match),
            LocatedSchema(value, f"{pointer}/patternProperties/{escaped(pattern)}"),
            document.resources,
        )
        for match, (pattern, value) in zip(matching, patterns.items(), strict=True)
        if value is not False
    ]
    if others is not False:
        without = ({"not": {"anyOf": matching}},) if matching else ()
        groups.append(
            UndeclaredProperties(
                (*names, *without), LocatedSchema(others, f"{pointer}/{keyword}"), document.resources
            )
        )
    try:
        for index, match in enumerate(matching):
            for other in matching[:index]:
                if has_string([*names, match, other], document.resources):
                    diagnostics.unsupported(
                        f"{pointer}/patternProperties",
                        f"names that match both {match['pattern']!r} and {other['pattern']!r}",
                    )
        for name in schema.get("properties", {}) if names or matching else ():
            if names and not has_string([*names, {"const": name}], document.resources):
                diagnostics.unsupported(
                    f"{pointer}/propertyNames", f"the declared name {name!r} violates `propertyNames`"
                )
            elif matching and has_string([{"anyOf": matching}, {"const": name}], document.resources):
                diagnostics.unsupported(
                    f"{pointer}/patternProperties", f"the declared name {name!r} matches one of the patterns"
                )
    except GrammarError as error:
        diagnostics.embedded(pointer, error)
    return tuple(groups)


def has_string(schemas: list[Any], resources: Mapping[str, Any]) -> bool:
    """Whether some string satisfies all schemas, which may refer to others by URI.

    Raises:
        GrammarError: A schema is bad or cannot be enforced.
    """
    try:
        string_schema_part({"type": "string", "allOf": schemas}, documents=resources or None)
    except GrammarSemanticError:
        return False
    return True
