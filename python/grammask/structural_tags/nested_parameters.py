"""Arguments of tools as nested tags: one for each property and item, also inside of objects and arrays.

Strings are written as they are, up to the end of their tag or to the mark that begins each tag; numbers, booleans and
null as JSON. Each object and array of the schema is a rule, so schemas that refer to themselves are grammars that do.
Values that no finite text writes, such as an object that requires itself, are left out.

Sources: ``converter_ext/cohere.cc`` and ``converter_ext/minimax_m3.cc`` of XGrammar 0.2.8 write these styles; Cohere's
``cohere-melody`` and vLLM's ``parser/minimax_m3.py`` read them.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.errors import GrammarError
from grammask.readers.json_schema import json_schema_part, string_schema_part
from grammask.readers.regex import regex_part
from grammask.schemas.json_text import json_text
from grammask.schemas.keywords import CONSTRAINTS
from grammask.structural_tags.shapes import Items, Members, Place, Scalar, Shape, Shapes, Text, Words

if TYPE_CHECKING:
    from grammask.composition import Part
    from grammask.structural_tags.places import Refusals

__all__ = ["NESTED_STYLES", "NestedStyle", "nested_parameters_part", "object_schema", "with_entities"]

_EMPTY = composition.literal("")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


@dataclass(frozen=True)
class NestedStyle:
    """How properties and items are written.

    Attributes:
        begin: What is before the value of a property, with ``{key}`` for its name and ``{type}`` for how it is written.
        item: The same for an item of an array.
        end: What is after a value, with ``{key}`` for the name, which is ``item`` for items.
        text_end: What ends a string: what ``end`` begins with, at least.
        has_entities: Whether names are written with XML's entities.
        is_padded: Whether white space may be around values of all types but strings, and in empty containers. There is
            some around and between items, else, and around and between properties anyway.
    """

    begin: str
    item: str
    end: str
    text_end: str
    has_entities: bool
    is_padded: bool

    @property
    def tells_types(self) -> bool:
        """Whether tags say how their values are written."""
        return "{type}" in self.begin

    def key(self, name: str) -> str:
        """A name as it is written."""
        return with_entities(name) if self.has_entities else name

    def ends(self, name: str) -> str:
        """What is after the value of a property, or of an item, which has the name ``item``."""
        return self.end.replace("{key}", self.key(name))


NESTED_STYLES = {
    "cohere_xml": NestedStyle(
        begin='<cofl:value name="{key}" type="{type}">',
        item='<cofl:value type="{type}">',
        end="</cofl:value>",
        text_end="</cofl:value>",
        has_entities=True,
        is_padded=True,
    ),
    "minimax_m3_xml": NestedStyle(
        begin="]<]minimax[>[<{key}>",
        item="]<]minimax[>[<item>",
        end="]<]minimax[>[</{key}>",
        text_end="]<]minimax[>[",
        has_entities=False,
        is_padded=False,
    ),
}

_OTHER_NAME = r'(?:[^\x00"&<>]|&amp;|&lt;|&gt;|&quot;)+'
"""Names that no schema declares, with entities."""


def with_entities(text: str) -> str:
    """Returns a text as it is written in an attribute of a tag."""
    return "".join(_ENTITIES.get(letter, letter) for letter in text)


def nested_parameters_part(
    schema: Any,
    style: NestedStyle,
    pointer: str,
    refusals: Refusals,
    options: Mapping[str, Any],
) -> Part:
    """Returns the part that matches the properties of an object, in the order of the schema.

    Args:
        schema: The schema of the object.
        style: How properties are written.
        pointer: Where the schema stands.
        refusals: Where refusals go.
        options: The options for reading the schemas of values.
    """
    try:
        return _Writer(object_schema(schema, style), style, pointer, refusals, options).parameters()
    except (TypeError, ValueError) as error:  # What JSON has not, and texts that have no bytes.
        refusals.invalid(pointer, str(error))
        return _EMPTY


def object_schema(schema: Any, style: NestedStyle) -> Any:
    """The schema of parameters, which are the properties of an object if it does not say so; none if it names none.

    Where names are free, an object that declares nothing may have any.
    """
    if schema is True:
        schema = {}
    if not isinstance(schema, Mapping) or schema.keys() & {
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
    }:
        return schema
    if not style.tells_types and not schema.keys() & (CONSTRAINTS - {"type"}):
        schema = {**schema, "properties": {}}
    return {"type": "object", **schema}


class _Writer:
    def __init__(
        self,
        schema: Any,
        style: NestedStyle,
        pointer: str,
        refusals: Refusals,
        options: Mapping[str, Any],
    ) -> None:
        self.style = style
        self.root = Place(schema, pointer)
        self.refusals = refusals
        self.options = options
        self.shapes = Shapes(schema, pointer, refusals, has_anything=style.tells_types)
        most = options.get("max_whitespace", 32)
        self.excludes: list[str] = list(options.get("excludes", ()))
        self.is_any_order = options.get("key_order") == "any"
        self.space = regex_part(rf"[ \n\r\t]{{0,{most}}}")
        # Rules are known by what they are made from.
        made_from = pickle.dumps((style, json_text(schema), sorted(options.items())), protocol=5)
        self.key = hashlib.sha256(made_from).hexdigest()
        self.finite: set[Shape] = set()
        """The containers of which some value is a finite text."""

    def parameters(self) -> Part:
        known = len(self.refusals.diagnostics)
        objects = self.shapes.of(self.root)
        if not objects or not all(isinstance(shape, Members) for shape in objects):
            self.refusals.unsupported(
                f"{self.root.pointer}/type", "parameters are the properties of an object"
            )
            return _EMPTY
        containers = self.containers(objects)
        if len(self.refusals.diagnostics) > known:
            return _EMPTY
        self.find_finite(containers)
        found = [shape for shape in objects if isinstance(shape, Members) and shape in self.finite]
        if not found:
            self.refusals.unsupported(self.root.pointer, "no value is finite: each contains another one")
            return _EMPTY
        self.names = {shape: f"nested_{number}_{self.key}" for number, shape in enumerate(containers)}
        parts = {self.names[shape]: self.body(shape) for shape in containers if shape in self.finite}
        start = f"nested_{self.key}"
        parts[start] = composition.choice(composition.reference(self.names[shape]) for shape in found)
        return composition.rules(parts, start)

    def containers(self, objects: list[Shape]) -> list[Members | Items]:
        """All objects and arrays in the schema; refuses what this style cannot write or tell apart."""
        found: dict[Members | Items, None] = {}
        pending = list(reversed(objects))
        while pending:
            shape = pending.pop()
            if not isinstance(shape, Members | Items) or shape in found:
                continue
            found[shape] = None
            if isinstance(shape, Members):
                for name in shape.properties:
                    self.check_name(name, shape.pointer)
            for place in reversed(list(_inside(shape))):
                inner = self.shapes.of(place)
                self.check_values(inner, place.pointer)
                pending += reversed(inner)
        return list(found)

    def check_name(self, name: str, pointer: str) -> None:
        if not self.style.has_entities and (not name.strip() or name.startswith("/") or ">" in name):
            self.refusals.unsupported(pointer, f"the name {name!r} cannot be the name of a tag")

    def check_values(self, shapes: list[Shape], pointer: str) -> None:
        for shape in shapes:
            for word in shape.listed if isinstance(shape, Words) else ():
                if self.style.text_end in word:
                    self.refusals.unsupported(
                        pointer, f"the value {word!r} contains the end of its parameter"
                    )
        if self.style.tells_types:
            return
        if sum(isinstance(shape, Members | Items) for shape in shapes) > 1:
            self.refusals.unsupported(
                pointer, "several kinds of objects and arrays: this style does not tell which one is written"
            )
        if not all(isinstance(shape, Text | Words) for shape in shapes):
            for shape in shapes:
                if isinstance(shape, Text) and not shape.is_only_bounded:
                    self.refusals.unsupported(
                        shape.pointer,
                        f"{', '.join(sorted(shape.constraints))} for strings beside other values: "
                        "this style does not tell which one is written",
                    )

    def find_finite(self, containers: list[Members | Items]) -> None:
        """The least fixpoint: what needs only values that are finite is finite."""
        count = -1
        while count < len(self.finite):
            count = len(self.finite)
            for shape in containers:
                if shape not in self.finite and self.can_be_finite(shape):
                    self.finite.add(shape)

    def can_be_finite(self, shape: Members | Items) -> bool:
        if isinstance(shape, Members):
            return all(
                name in shape.properties and self.is_allowed(name) and self.has_value(shape.properties[name])
                for name in shape.required
            )
        needed = [*shape.first[: shape.least]]
        if shape.least > len(needed):
            if shape.rest is None:
                return False
            needed.append(shape.rest)
        return (shape.most is None or shape.least <= shape.most) and all(map(self.has_value, needed))

    def has_value(self, place: Place) -> bool:
        return any(self.is_finite(shape) for shape in self.shapes.of(place))

    def is_finite(self, shape: Shape) -> bool:
        if isinstance(shape, Words):
            return bool(self.allowed(shape))
        return not isinstance(shape, Members | Items) or shape in self.finite

    def is_allowed(self, name: str) -> bool:
        """Whether a name has no excluded word, as it is written."""
        return not any(word in self.style.key(name) for word in self.excludes)

    def allowed(self, words: Words) -> list[str]:
        """The listed strings without excluded words."""
        return [text for text in words.listed if not any(word in text for word in self.excludes)]

    # Parts ------------------------------------------------------------------------------------------------------

    def body(self, shape: Members | Items) -> Part:
        return self.members(shape) if isinstance(shape, Members) else self.items(shape)

    def members(self, shape: Members) -> Part:
        before, after = self.style.begin.split("{key}")
        # Each from its name on, and the least and most number of times that it comes.
        found: list[tuple[Part, int, int | None]] = []
        for name, place in shape.properties.items():
            if self.is_allowed(name) and self.has_value(place):
                begin = composition.literal(self.style.key(name))
                one = self.element(begin, after, place, name)
                found.append((one, int(name in shape.required), 1))
        if shape.others is not None and self.has_value(shape.others):
            declared = [self.style.key(name) for name in shape.properties]
            name_part = composition.matching(_OTHER_NAME, without=declared, excludes=self.excludes)
            found.append((self.element(name_part, after, shape.others, ""), 0, None))
        if self.is_any_order and len(found) > 1:
            return self.members_in_any_order(found, composition.literal(before))
        parts: list[Part] = []
        for one, least, most in found:
            whole = composition.sequence([composition.literal(before), one, self.space])
            parts.append(whole if least else composition.repeat(whole, 0, most))
        if self.style.is_padded or shape.required:
            return composition.sequence([self.space, *parts])
        # White space is only where something is written. Nothing is required, so each part is a repetition of one.
        some = [
            composition.sequence([self.space, *part.parts, *parts[index + 1 :]])
            for index, part in enumerate(parts)
        ]
        return composition.choice([_EMPTY, *some])

    def members_in_any_order(self, found: list[tuple[Part, int, int | None]], before: Part) -> Part:
        required = [index for index, (_, least, _) in enumerate(found) if least]
        repeatable = [index for index, (_, _, most) in enumerate(found) if most is None]
        members = composition.selection(
            [one for one, _, _ in found],
            required=required,
            repeatable=repeatable,
            separator=composition.sequence([self.space, before]),
        )
        written = composition.sequence([self.space, before, members, self.space])
        if required:
            return written
        return composition.choice([self.space if self.style.is_padded else _EMPTY, written])

    def items(self, shape: Items) -> Part:
        between = _EMPTY if self.style.is_padded else self.space
        least = shape.least if self.style.is_padded else max(shape.least, 1)
        items: list[Part] = []
        for place in shape.first[: shape.most]:
            if not self.has_value(place):
                break
            items.append(self.item(place, between))
        more = _EMPTY
        if len(items) == len(shape.first) and shape.rest is not None and self.has_value(shape.rest):
            most = None if shape.most is None else shape.most - len(items)
            more = composition.repeat(self.item(shape.rest, between), max(least - len(items), 0), most)
        can_be_more = more is not _EMPTY
        for index, item in reversed(list(enumerate(items))):
            more = composition.sequence([item, more])
            if index >= least:
                more = composition.choice([_EMPTY, more])
        if self.style.is_padded:
            return composition.sequence([self.space, more, self.space])
        written = [composition.sequence([self.space, more])] if items or can_be_more else []
        return composition.choice([*([_EMPTY] if shape.least == 0 else []), *written])

    def item(self, place: Place, between: Part) -> Part:
        return composition.sequence([self.element(_EMPTY, self.style.item, place, "item"), between])

    def element(self, begin: Part, after: str, place: Place, name: str) -> Part:
        """A value in its tag.

        Args:
            begin: The beginning of the tag, up to its name.
            after: The rest of it.
            place: The schema of the value.
            name: The name of the tag.
        """
        end = composition.literal(self.style.ends(name))
        shapes = [shape for shape in self.shapes.of(place) if self.is_finite(shape)]
        if not self.style.tells_types:
            values = composition.choice(self.value(shape, place.pointer) for shape in shapes)
            return composition.sequence([begin, composition.literal(after), values, end])
        return composition.sequence(
            [
                begin,
                composition.choice(
                    composition.sequence(
                        [
                            composition.literal(after.replace("{type}", _type(shape))),
                            self.value(shape, place.pointer),
                        ]
                    )
                    for shape in shapes
                ),
                end,
            ]
        )

    def value(self, shape: Shape, pointer: str) -> Part:
        match shape:
            case Text() if shape.is_only_bounded:
                return composition.free_text(
                    before=self.style.text_end, without=self.excludes, max_characters=shape.most
                )
            case Text():
                schema = {"type": "string", **shape.constraints}
                excludes = [*self.excludes, self.style.text_end]
                try:
                    return string_schema_part(schema, excludes=excludes, limits=self.options.get("limits"))
                except GrammarError as error:
                    self.refusals.of_part(shape.pointer, error)
                    return _EMPTY
            case Words():
                return composition.choice(composition.literal(word) for word in self.allowed(shape))
            case Scalar():
                try:
                    value = json_schema_part(shape.schema, **self.options)
                except GrammarError as error:
                    self.refusals.of_part(pointer, error)
                    return _EMPTY
                return (
                    composition.sequence([self.space, value, self.space]) if self.style.is_padded else value
                )
            case _:
                return composition.reference(self.names[shape])


def _type(shape: Shape) -> str:
    """What Cohere's tags call a shape."""
    match shape:
        case Text() | Words():
            return "raw"
        case Scalar():
            return "json"
        case Members():
            return "dict"
        case Items():
            return "list"


def _inside(container: Members | Items) -> Iterator[Place]:
    """The schemas of what an object or array holds."""
    if isinstance(container, Members):
        yield from container.properties.values()
        rest = container.others
    else:
        yield from container.first
        rest = container.rest
    if rest is not None:
        yield rest
