"""Classifies the values of a schema by how tags write them: strings, scalars, objects and arrays.

The encoder and the decoder share this classification, so a value is read as it was written. It covers types, listed
values, references and alternatives; other keywords that constrain values are refused with their pointers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.schemas.keywords import CONSTRAINTS, CONTENT, CONTENT_KEYWORDS, NUMBER_TEXTS, escaped, value_at
from grammask.structural_tags.parameters.schema_document import (
    WITHOUT_TYPE,
    LocatedSchema,
    SchemaDocument,
)
from grammask.structural_tags.parameters.undeclared import ABOUT_UNDECLARED, undeclared_properties

if TYPE_CHECKING:
    from grammask.structural_tags.diagnostics import DiagnosticList
    from grammask.structural_tags.parameters.undeclared import UndeclaredProperties

__all__ = [
    "ABOUT_STRINGS",
    "NOT_ABOUT_CONSTANTS",
    "NOT_ABOUT_STRINGS",
    "ArrayShape",
    "ListedStrings",
    "ObjectShape",
    "ScalarShape",
    "SchemaShapes",
    "StringShape",
    "ValueShape",
    "json_type",
    "parameters_schema",
]


@dataclass(frozen=True, eq=False)
class StringShape:
    """Strings that are not listed.

    Attributes:
        constraints: The keywords about strings, with their values.
        pointer: The pointer of the schema.
    """

    constraints: Mapping[str, Any]
    pointer: str

    @property
    def max_length(self) -> int | None:
        """The maximum number of characters, if there is one."""
        bound: int | None = self.constraints.get("maxLength")
        return bound

    @property
    def has_only_max_length(self) -> bool:
        """Whether no keyword but ``maxLength`` constrains the strings."""
        return self.constraints.keys() <= {"maxLength"}


@dataclass(frozen=True)
class ListedStrings:
    """The strings of an ``enum`` or ``const``."""

    listed: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ScalarShape:
    """Values that are written as JSON.

    Attributes:
        types: Their types.
        schema: Their schema.
        is_unconstrained: Whether the schema consists of the types.
    """

    types: tuple[str, ...]
    schema: Mapping[str, Any]
    is_unconstrained: bool


@dataclass(frozen=True, eq=False)
class ObjectShape:
    """Objects.

    Attributes:
        properties: The schemas of the declared properties, in order.
        required: The names of the required properties.
        others: The groups of undeclared properties, which come last.
        min_properties: The minimum number of properties, if there is one.
        max_properties: The maximum number of properties, if there is one.
        pointer: The pointer of the schema.
    """

    properties: Mapping[str, LocatedSchema]
    required: frozenset[str]
    others: tuple[UndeclaredProperties, ...]
    min_properties: int | None
    max_properties: int | None
    pointer: str


@dataclass(frozen=True, eq=False)
class ArrayShape:
    """Arrays.

    Attributes:
        prefix: The schemas of the first items (``prefixItems``).
        items: The schema of the other items; None if there may be none.
        min_items: The minimum number of items.
        max_items: The maximum number of items; None if there is none.
        pointer: The pointer of the schema.
    """

    prefix: tuple[LocatedSchema, ...]
    items: LocatedSchema | None
    min_items: int
    max_items: int | None
    pointer: str


ValueShape: TypeAlias = StringShape | ListedStrings | ScalarShape | ObjectShape | ArrayShape


def json_type(value: Any) -> str:
    """Returns the type of a value of JSON; numbers without a fraction are integers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "integer" if value == value // 1 else "number"
    names = {bool: "boolean", type(None): "null", str: "string", list: "array"}
    return names.get(type(value), "object")


def parameters_schema(schema: Any, *, has_free_names: bool) -> Any:
    """Returns the schema of parameters with ``"type": "object"``, if it has no alternatives or references.

    Args:
        schema: The schema as the tool has it. Without constraints it admits any object, if names are free, and the
            empty object otherwise.
        has_free_names: Whether the style can write names that no schema declares.
    """
    if schema is True:
        schema = {}
    if not isinstance(schema, Mapping) or schema.keys() & WITHOUT_TYPE:
        return schema
    if not has_free_names and not schema.keys() & (CONSTRAINTS - {"type"}):
        schema = {**schema, "properties": {}}
    return {"type": "object", **schema}


_SCALARS = ("null", "boolean", "integer", "number")
_TYPES = ("string", *_SCALARS, "object", "array")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", NUMBER_TEXTS}
_OF_TYPE = {
    "string": {"minLength", "maxLength", "pattern", "format", CONTENT, *CONTENT_KEYWORDS},
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "object": {
        "additionalProperties", "dependencies", "dependentRequired", "dependentSchemas", "maxProperties",
        "minProperties", "patternProperties", "properties", "propertyNames", "required", "unevaluatedProperties",
    },
    "array": {
        "additionalItems", "contains", "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems",
        "unevaluatedItems", "uniqueItems",
    },
}  # fmt: skip
"""Keywords that constrain only values of one type."""
NOT_ABOUT_STRINGS = frozenset().union(*(_OF_TYPE[kind] for kind in _OF_TYPE if kind != "string"))
"""Keywords that do not constrain strings."""
ABOUT_STRINGS = frozenset(_OF_TYPE["string"])
"""Keywords that constrain strings only."""
NOT_ABOUT_CONSTANTS = ABOUT_STRINGS | NOT_ABOUT_STRINGS
"""Keywords that do not constrain true, false and null."""
_SUPPORTED = {
    "string": _OF_TYPE["string"],
    "object": {"properties", "required", *ABOUT_UNDECLARED},
    "array": {"items", "maxItems", "minItems", "prefixItems"},
}
_COUNTS = {"minProperties", "maxProperties"}
_UNIONS = ("allOf", "anyOf", "oneOf")


class SchemaShapes(SchemaDocument):
    """A schema with the shapes of its values and of those of the schemas inside it.

    Attributes:
        diagnostics: Receives the schemas that tags cannot write exactly.
        admits_any: Whether values without constraints and objects with undeclared names can be written.
        is_flat: Whether tags write one object, whose values are strings or JSON. The whole schema is then one of
            objects, which may have bounds on the number of properties.
    """

    def __init__(
        self,
        root: Any,
        pointer: str,
        diagnostics: DiagnosticList,
        *,
        admits_any: bool,
        is_flat: bool = False,
        constraints: frozenset[str] = CONSTRAINTS,
    ) -> None:
        """Starts without shapes.

        Args:
            root: The whole schema.
            pointer: The pointer of the schema.
            diagnostics: Receives errors.
            admits_any: Whether the style can write any value.
            is_flat: Whether the style writes one object with tags.
            constraints: The keywords that constrain values.
        """
        super().__init__(root, pointer, constraints)
        self.diagnostics = diagnostics
        self.admits_any = admits_any
        self.is_flat = is_flat
        self._memo: dict[int, tuple[Any, list[ValueShape]]] = {}
        """By the identity of the schema; the entry keeps the schema alive, so that the identity stays unique."""

    def of(self, located: LocatedSchema) -> list[ValueShape]:
        """Returns the shapes of the values that a schema admits; the same shapes for the same schema object."""
        if id(located.schema) not in self._memo:
            self._memo[id(located.schema)] = (located.schema, self._alternatives(located))
        return self._memo[id(located.schema)][1]

    def arguments(self, *, has_objects_only: bool) -> list[ObjectShape]:
        """Returns the shapes of the whole schema; none, with an error, if it admits other values than objects.

        Args:
            has_objects_only: Whether these are left out.
        """
        shapes = self.of(self.root)
        objects = [shape for shape in shapes if isinstance(shape, ObjectShape)]
        if objects and (has_objects_only or len(objects) == len(shapes)):
            return objects
        self.diagnostics.unsupported(
            f"{self.root.pointer}/type", "parameters are the properties of an object"
        )
        return []

    def _alternatives(self, root: LocatedSchema) -> list[ValueShape]:
        found = [
            (shape, branches)
            for located, branches in self.union(root, _UNIONS)
            for shape in self._shapes(located)
        ]
        for (one, here), (other, there) in combinations(found, 2):
            for pointer in here.keys() & there.keys():
                if here[pointer] != there[pointer] and not self._are_disjoint(one, other):
                    self.diagnostics.unsupported(pointer, "`oneOf` of schemas that may share values")
        return [shape for shape, _ in found]

    def _shapes(self, located: LocatedSchema) -> list[ValueShape]:
        """Returns the shapes of a schema that is no union of others."""
        schema, pointer = {} if located.schema is True else located.schema, located.pointer
        if not isinstance(schema, Mapping):
            if schema is not False:
                self.diagnostics.invalid(pointer, "a schema is an object, true or false")
            return []
        keywords = self.keywords(schema)
        combined = sorted(keywords & {"$ref", *_UNIONS})
        if not combined:
            return self._direct_shapes(schema, keywords, pointer)
        self._refuse(schema, combined[0], keywords, pointer)
        # Decoders read the properties that are declared next to the alternatives.
        return self._object(schema, pointer) if "properties" in schema else []

    def _refuse(self, schema: Mapping[str, Any], keyword: str, keywords: set[str], pointer: str) -> None:
        """Refuses a reference or alternatives."""
        place = f"{pointer}/{escaped(keyword)}"
        if len(keywords) > 1:
            self.diagnostics.unsupported(place, f"`{keyword}` together with {sorted(keywords - {keyword})}")
        elif keyword == "$ref":
            try:
                value_at(self.root.schema, schema["$ref"])
            except LookupError as error:
                self.diagnostics.invalid(place, str(error))
            except ValueError as error:
                self.diagnostics.unsupported(place, str(error))
        elif keyword == "allOf" and isinstance(schema[keyword], list) and schema[keyword]:
            self.diagnostics.unsupported(place, "`allOf` of several schemas")
        else:
            self.diagnostics.invalid(place, f"`{keyword}` is a list of schemas")

    def _direct_shapes(self, schema: Mapping[str, Any], keywords: set[str], pointer: str) -> list[ValueShape]:
        """Returns the shapes of a schema without references and alternatives."""
        if keywords & {"enum", "const"}:
            return self._listed(schema, keywords, pointer)
        if not keywords and not self.admits_any:
            self.diagnostics.unsupported(
                pointer, "unconstrained schemas are not supported: this style writes no types"
            )
            return []
        types = self._types(schema, pointer)
        about_other_types = {keyword for kind in _OF_TYPE for keyword in _OF_TYPE[kind]}
        supported = {"type"} | _NUMBERS | (_COUNTS if self.is_flat else set())
        for kind in types:
            supported |= _SUPPORTED.get(kind, set())
            about_other_types -= _OF_TYPE.get(kind, set())
        for keyword in sorted(keywords - supported - about_other_types):
            self.diagnostics.unsupported(
                f"{pointer}/{escaped(keyword)}",
                f"`{keyword}` is not supported for parameters that are written with tags",
            )
        found: list[ValueShape] = []
        if "string" in types:
            for name in ("minLength", "maxLength"):
                self._bound(schema, name, pointer)
            constraints = {name: schema[name] for name in schema if name in _OF_TYPE["string"] & keywords}
            found.append(StringShape(constraints, pointer))
        scalars = tuple(kind for kind in types if kind in _SCALARS)
        if scalars:
            bounds = {keyword: schema[keyword] for keyword in schema if keyword in _NUMBERS}
            found.append(ScalarShape(scalars, {"type": list(scalars), **bounds}, is_unconstrained=not bounds))
        if "object" in types:
            found += self._object(schema, pointer)
        if "array" in types:
            found += self._array(schema, pointer)
        return found

    def _types(self, schema: Mapping[str, Any], pointer: str) -> list[str]:
        given = schema.get("type", ["object"] if self.is_flat else [*_TYPES])
        types = [given] if isinstance(given, str) else given
        if isinstance(types, list) and all(kind in _TYPES for kind in types):
            return types
        self.diagnostics.invalid(f"{pointer}/type", "`type` is a type or a list of types")
        return []

    def _listed(self, schema: Mapping[str, Any], keywords: set[str], pointer: str) -> list[ValueShape]:
        for keyword in sorted(keywords - {"type", "enum", "const", NUMBER_TEXTS}):
            self.diagnostics.unsupported(
                f"{pointer}/{escaped(keyword)}", f"`{keyword}` together with listed values"
            )
        listed = schema.get("enum", [schema.get("const")])
        if not isinstance(listed, list) or {"enum", "const"} <= keywords:
            self.diagnostics.unsupported(f"{pointer}/enum", "`enum` is a list of values, without `const`")
            return []
        types = self._types(schema, pointer)
        kinds = {*types, "integer"} if "number" in types else {*types}
        allowed = [value for value in listed if json_type(value) in kinds]
        found: list[ValueShape] = []
        words = tuple(dict.fromkeys(value for value in allowed if isinstance(value, str)))
        if words:
            found.append(ListedStrings(words))
        others = [value for value in allowed if not isinstance(value, str)]
        if self.admits_any and others and not self.is_flat:
            # Tags name types, so the decoder needs no schema for values that are JSON.
            found.append(ScalarShape(tuple(types), {"enum": others}, is_unconstrained=False))
            return found
        scalars = [value for value in others if not isinstance(value, Mapping | list)]
        if scalars:
            found.append(ScalarShape(tuple(types), {"enum": scalars}, is_unconstrained=False))
        for value in others:
            if isinstance(value, Mapping | list):
                found += self.of(LocatedSchema(_schema_of(value), pointer))
        return found

    def _object(self, schema: Mapping[str, Any], pointer: str) -> list[ValueShape]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        if not (
            isinstance(properties, Mapping)
            and isinstance(required, list)
            and all(isinstance(name, str) for name in required)
        ):
            self.diagnostics.invalid(pointer, "`properties` is an object, `required` a list of names")
            return []
        for name in required:
            if name not in properties:
                self.diagnostics.unsupported(
                    f"{pointer}/required", f"the property {name!r} is required and not declared"
                )
        others = undeclared_properties(
            self, schema, pointer, self.diagnostics, is_open="properties" not in schema
        )
        if others and not self.admits_any:
            self.diagnostics.unsupported(
                pointer, "this style needs fixed object property names, all declared in `properties`"
            )
            others = ()
        schemas = {
            name: LocatedSchema(inner, f"{pointer}/properties/{escaped(name)}")
            for name, inner in properties.items()
        }
        least = self._bound(schema, "minProperties", pointer)
        most = self._bound(schema, "maxProperties", pointer, is_maximum=True)
        return [ObjectShape(schemas, frozenset(required), others, least, most, pointer)]

    def _array(self, schema: Mapping[str, Any], pointer: str) -> list[ValueShape]:
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", True)
        min_items = self._bound(schema, "minItems", pointer) or 0
        max_items = self._bound(schema, "maxItems", pointer, is_maximum=True)
        if not isinstance(prefix, list) or not isinstance(items, Mapping | bool):
            self.diagnostics.unsupported(
                f"{pointer}/items", "`items` is a schema, `prefixItems` a list of schemas"
            )
            return []
        first = tuple(
            LocatedSchema(inner, f"{pointer}/prefixItems/{index}") for index, inner in enumerate(prefix)
        )
        has_others = items is not False and (max_items is None or max_items > len(prefix))
        others = LocatedSchema(items, f"{pointer}/items") if has_others else None
        return [ArrayShape(first, others, min_items, max_items, pointer)]

    def _bound(
        self, schema: Mapping[str, Any], name: str, pointer: str, *, is_maximum: bool = False
    ) -> int | None:
        bound = schema.get(name)
        if bound is None:
            return None
        if isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0:
            if bound < 1 << 31:
                return bound
            if is_maximum:
                return None  # No text is that long: these items need at least 4 GiB.
        self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a number from 0 to 2147483647")
        return None

    def _are_disjoint(self, one: ValueShape, other: ValueShape) -> bool:
        """Whether no value has both shapes, judged by their classes or by a property that both require."""
        match one, other:
            case ListedStrings(listed), ListedStrings(others):
                return not set(listed) & set(others)
            case ScalarShape(), ScalarShape():
                types = [
                    {"number" if kind == "integer" else kind for kind in shape.types}
                    for shape in (one, other)
                ]
                return not types[0] & types[1]
            case ObjectShape(), ObjectShape():
                return any(
                    _share_no_listed_string(self.of(one.properties[name]), self.of(other.properties[name]))
                    for name in one.required & other.required
                    if name in one.properties and name in other.properties
                )
        return {type(one), type(other)} not in ({StringShape}, {StringShape, ListedStrings}, {ArrayShape})


def _share_no_listed_string(some: list[ValueShape], others: list[ValueShape]) -> bool:
    """Whether two properties admit only listed strings, none of them in common."""
    listed = [
        {value for shape in shapes if isinstance(shape, ListedStrings) for value in shape.listed}
        for shapes in (some, others)
    ]
    return not listed[0] & listed[1] and all(isinstance(shape, ListedStrings) for shape in (*some, *others))


def _schema_of(value: Any) -> Any:
    """Returns a schema that only the given object or array satisfies."""
    if isinstance(value, Mapping):
        members = {name: _constant(inner) for name, inner in value.items()}
        return {"type": "object", "properties": members, "required": [*value], "additionalProperties": False}
    items = [_constant(inner) for inner in value]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _constant(value: Any) -> Any:
    return {"const": value}
