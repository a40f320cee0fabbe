"""What a schema allows, sorted by how values are written in styles that nest tags: texts, scalars, members and items.

Grammars and readers of such styles both ask here, so what is written one way is read the same way. Only what says of
itself which kinds of values it allows is understood: types, lists of values, references, and alternatives. Everything
else that constrains values is refused with its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from grammask.schemas.keywords import CONSTRAINTS, escaped

if TYPE_CHECKING:
    from grammask.structural_tags.places import Refusals

__all__ = [
    "ABOUT_OTHERS_THAN_STRINGS",
    "Items",
    "Members",
    "Place",
    "Scalar",
    "Shape",
    "Shapes",
    "Text",
    "Words",
]


@dataclass(frozen=True)
class Place:
    """A schema and where it stands."""

    schema: Any
    pointer: str


@dataclass(frozen=True, eq=False)
class Text:
    """Strings that are not listed.

    Attributes:
        constraints: What the schema says of them, if anything.
        pointer: Where the schema stands.
    """

    constraints: Mapping[str, Any]
    pointer: str

    @property
    def most(self) -> int | None:
        """The most characters, if there is a bound."""
        bound: int | None = self.constraints.get("maxLength")
        return bound

    @property
    def is_only_bounded(self) -> bool:
        """Whether the number of characters says all."""
        return self.constraints.keys() <= {"maxLength"}


@dataclass(frozen=True)
class Words:
    """Strings that are listed."""

    listed: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scalar:
    """Values that are written as JSON, with the schema for them.

    Attributes:
        types: Their types.
        schema: The schema for them.
        is_plain: Whether the types say all.
    """

    types: tuple[str, ...]
    schema: Mapping[str, Any]
    is_plain: bool


@dataclass(frozen=True, eq=False)
class Members:
    """Objects: the declared properties in their order, then others, if there may be some."""

    properties: Mapping[str, Place]
    required: frozenset[str]
    others: Place | None
    pointer: str


@dataclass(frozen=True, eq=False)
class Items:
    """Arrays: the first items, and those after them, if there may be some."""

    first: tuple[Place, ...]
    rest: Place | None
    least: int
    most: int | None
    pointer: str


Shape: TypeAlias = Text | Words | Scalar | Members | Items

_SCALARS = ("null", "boolean", "integer", "number")
_TYPES = ("string", *_SCALARS, "object", "array")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_OF_TYPE = {
    "string": {"minLength", "maxLength", "pattern", "format"},
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
"""Keywords that say nothing about values of other types."""
ABOUT_OTHERS_THAN_STRINGS = frozenset().union(*(_OF_TYPE[kind] for kind in _OF_TYPE if kind != "string"))
"""Keywords that say nothing about strings."""
_UNDERSTOOD = {
    "string": _OF_TYPE["string"],
    "object": {"additionalProperties", "properties", "required"},
    "array": {"items", "maxItems", "minItems", "prefixItems"},
}
_ANYTHING: dict[str, Any] = {}


class Shapes:
    """Finds the shapes of the values of schemas.

    Attributes:
        refusals: What cannot be written exactly.
        has_anything: Whether values without constraints can be written, and objects with names that no schema declares.
    """

    def __init__(self, root: Any, pointer: str, refusals: Refusals, *, has_anything: bool) -> None:
        """Begin.

        Args:
            root: The whole schema, in which references are looked up.
            pointer: Where it stands.
            refusals: Where refusals go.
            has_anything: Whether a style can write any value.
        """
        self.refusals = refusals
        self.has_anything = has_anything
        self._root = Place(root, pointer)
        self._known: dict[int, tuple[Any, list[Shape]]] = {}
        """By the identities of schemas, which are kept here so that they have them for themselves."""

    def of(self, place: Place) -> list[Shape]:
        """Returns the shapes of the values that a schema allows; equal schemas have the same ones, nested or not."""
        if id(place.schema) not in self._known:
            self._known[id(place.schema)] = (place.schema, self._found(place))
        return self._known[id(place.schema)][1]

    def _found(self, root: Place) -> list[Shape]:
        found: list[tuple[Shape, dict[str, int]]] = []
        seen: set[int] = set()
        # With the branches of each `oneOf` that lead here, by where it stands.
        stack: list[tuple[Place, dict[str, int]]] = [(root, {})]
        while stack:
            place, branches = stack.pop()
            schema, pointer = place.schema, place.pointer
            if schema is True:
                schema = _ANYTHING
            if not isinstance(schema, Mapping):
                if schema is not False:
                    self.refusals.invalid(pointer, "a schema is an object, true or false")
                continue
            keywords = {keyword for keyword in schema if keyword in CONSTRAINTS}
            combined = sorted(keywords & {"$ref", "anyOf", "oneOf", "allOf"})
            if not combined:
                found += [(shape, branches) for shape in self._plain(schema, keywords, pointer)]
                continue
            keyword = combined[0]
            inside = f"{pointer}/{escaped(keyword)}"
            if len(keywords) > 1:
                self.refusals.unsupported(inside, f"`{keyword}` beside {sorted(keywords - {keyword})}")
            elif keyword == "$ref":
                inner = self._referred(schema[keyword], inside)
                if inner is not None and id(inner.schema) not in seen:
                    seen.add(id(inner.schema))
                    stack.append((inner, branches))
            elif not isinstance(schema[keyword], list) or not schema[keyword]:
                self.refusals.invalid(inside, f"`{keyword}` is a list of schemas")
            elif keyword == "allOf" and len(schema[keyword]) > 1:
                self.refusals.unsupported(inside, "`allOf` of several schemas")
            else:
                stack += [
                    (
                        Place(inner, f"{inside}/{index}"),
                        {**branches, inside: index} if keyword == "oneOf" else branches,
                    )
                    for index, inner in reversed(list(enumerate(schema[keyword])))
                ]
        for (one, here), (other, there) in combinations(found, 2):
            for pointer in here.keys() & there.keys():
                if here[pointer] != there[pointer] and not self._are_disjoint(one, other):
                    self.refusals.unsupported(pointer, "`oneOf` of schemas that may share values")
        return [shape for shape, _ in found]

    def _referred(self, reference: Any, pointer: str) -> Place | None:
        if not isinstance(reference, str) or not reference.startswith("#"):
            self.refusals.unsupported(pointer, f"the reference {reference!r} leads out of the schema")
            return None
        node = self._root.schema
        for part in unquote(reference[1:]).split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                self.refusals.invalid(pointer, f"the reference {reference!r} leads nowhere")
                return None
        if reference != "#" and not reference.startswith("#/"):
            self.refusals.unsupported(pointer, f"the reference {reference!r} is no JSON pointer")
            return None
        return Place(node, self._root.pointer + unquote(reference[1:]))

    def _plain(self, schema: Mapping[str, Any], keywords: set[str], pointer: str) -> list[Shape]:
        """The shapes of a schema without references and alternatives."""
        if keywords & {"enum", "const"}:
            return self._listed(schema, keywords, pointer)
        if not keywords and not self.has_anything:
            self.refusals.unsupported(pointer, "a value of any type: this style writes no types")
            return []
        types = self._types(schema, pointer)
        of_others = {keyword for kind in _OF_TYPE for keyword in _OF_TYPE[kind]}
        understood = {"type"} | _NUMBERS
        for kind in types:
            understood |= _UNDERSTOOD.get(kind, set())
            of_others -= _OF_TYPE.get(kind, set())
        for keyword in sorted(keywords - understood - of_others):
            self.refusals.unsupported(
                f"{pointer}/{escaped(keyword)}",
                f"`{keyword}` is not supported for parameters that are written as nested tags",
            )
        found: list[Shape] = []
        if "string" in types:
            for name in ("minLength", "maxLength"):
                self._bound(schema, name, pointer)
            constraints = {name: schema[name] for name in schema if name in _OF_TYPE["string"]}
            found.append(Text(constraints, pointer))
        scalars = tuple(kind for kind in types if kind in _SCALARS)
        if scalars:
            bounds = {keyword: schema[keyword] for keyword in schema if keyword in _NUMBERS}
            found.append(Scalar(scalars, {"type": list(scalars), **bounds}, is_plain=not bounds))
        if "object" in types:
            found += self._members(schema, pointer)
        if "array" in types:
            found += self._items(schema, pointer)
        return found

    def _types(self, schema: Mapping[str, Any], pointer: str) -> list[str]:
        given = schema.get("type", [*_TYPES])
        types = [given] if isinstance(given, str) else given
        if isinstance(types, list) and all(kind in _TYPES for kind in types):
            return types
        self.refusals.invalid(f"{pointer}/type", "`type` is a type or a list of types")
        return []

    def _listed(self, schema: Mapping[str, Any], keywords: set[str], pointer: str) -> list[Shape]:
        for keyword in sorted(keywords - {"type", "enum", "const"}):
            self.refusals.unsupported(f"{pointer}/{escaped(keyword)}", f"`{keyword}` beside listed values")
        listed = schema.get("enum", [schema.get("const")])
        if not isinstance(listed, list) or {"enum", "const"} <= keywords:
            self.refusals.unsupported(
                f"{pointer}/enum", "`enum` is a list of values, without `const` beside it"
            )
            return []
        types = self._types(schema, pointer)
        allowed = [value for value in listed if any(_is_of_type(value, kind) for kind in types)]
        found: list[Shape] = []
        words = tuple(dict.fromkeys(value for value in allowed if isinstance(value, str)))
        if words:
            found.append(Words(words))
        others = [value for value in allowed if not isinstance(value, str)]
        if self.has_anything and others:
            # Types are written, so what is JSON can be told from everything else, and readers take any.
            found.append(Scalar(tuple(types), {"enum": others}, is_plain=False))
            return found
        scalars = [value for value in others if not isinstance(value, Mapping | list)]
        if scalars:
            found.append(Scalar(tuple(types), {"enum": scalars}, is_plain=False))
        for value in others:
            if isinstance(value, Mapping | list):
                found += self.of(Place(_schema_of(value), pointer))
        return found

    def _members(self, schema: Mapping[str, Any], pointer: str) -> list[Shape]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        others = schema.get("additionalProperties", "properties" not in schema)
        if not (
            isinstance(properties, Mapping)
            and isinstance(required, list)
            and all(isinstance(name, str) for name in required)
        ):
            self.refusals.invalid(pointer, "`properties` is an object, `required` a list of names")
            return []
        for name in required:
            if name not in properties:
                self.refusals.unsupported(
                    f"{pointer}/required", f"the property {name!r} is required and not declared"
                )
        if others is not False and not self.has_anything:
            self.refusals.unsupported(
                pointer, "an object with names that are not declared: this style declares all in `properties`"
            )
            others = False
        places = {
            name: Place(inner, f"{pointer}/properties/{escaped(name)}") for name, inner in properties.items()
        }
        rest = None if others is False else Place(others, f"{pointer}/additionalProperties")
        return [Members(places, frozenset(required), rest, pointer)]

    def _items(self, schema: Mapping[str, Any], pointer: str) -> list[Shape]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        least, most = self._bound(schema, "minItems", pointer), self._bound(schema, "maxItems", pointer)
        if not isinstance(first, list) or not isinstance(rest, Mapping | bool):
            self.refusals.unsupported(
                f"{pointer}/items", "`items` is a schema, `prefixItems` a list of schemas"
            )
            return []
        places = tuple(Place(inner, f"{pointer}/prefixItems/{index}") for index, inner in enumerate(first))
        has_rest = rest is not False and (most is None or most > len(first))
        return [
            Items(places, Place(rest, f"{pointer}/items") if has_rest else None, least or 0, most, pointer)
        ]

    def _bound(self, schema: Mapping[str, Any], name: str, pointer: str) -> int | None:
        bound = schema.get(name)
        if bound is None or (isinstance(bound, int) and not isinstance(bound, bool) and 0 <= bound < 1 << 31):
            return bound
        self.refusals.invalid(f"{pointer}/{name}", f"`{name}` is a number from 0 to 2147483647")
        return None

    def _are_disjoint(self, one: Shape, other: Shape) -> bool:
        """Whether no value has both shapes, as far as their kinds tell, or a property that they both require."""
        match one, other:
            case Words(listed), Words(others):
                return not set(listed) & set(others)
            case Scalar(), Scalar():
                kinds = [
                    {"number" if kind == "integer" else kind for kind in shape.types}
                    for shape in (one, other)
                ]
                return not kinds[0] & kinds[1]
            case Members(), Members():
                return any(
                    _tell_apart(self.of(one.properties[name]), self.of(other.properties[name]))
                    for name in one.required & other.required
                    if name in one.properties and name in other.properties
                )
        return {type(one), type(other)} not in ({Text}, {Text, Words}, {Items})


def _tell_apart(some: list[Shape], others: list[Shape]) -> bool:
    """Whether two properties list values of which they share none."""
    listed = [
        {value for shape in shapes if isinstance(shape, Words) for value in shape.listed}
        for shapes in (some, others)
    ]
    return not listed[0] & listed[1] and all(isinstance(shape, Words) for shape in (*some, *others))


def _is_of_type(value: Any, kind: str) -> bool:
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case str():
            return kind == "string"
        case Mapping():
            return kind == "object"
        case list():
            return kind == "array"
        case float():
            return kind == "number" or (kind == "integer" and value.is_integer())
        case _:
            return kind in ("number", "integer")


def _schema_of(value: Any) -> Any:
    """A schema that only an object or array satisfies."""
    if isinstance(value, Mapping):
        members = {name: _constant(inner) for name, inner in value.items()}
        return {"type": "object", "properties": members, "required": [*value], "additionalProperties": False}
    items = [_constant(inner) for inner in value]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _constant(value: Any) -> Any:
    return {"const": value}
