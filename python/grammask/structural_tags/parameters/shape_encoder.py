"""Encodes arguments whose objects and arrays are nested, by the shapes of their schemas (``value_shapes``).

Each object and array of the schema is a rule of the grammar, so recursive schemas are recursive rules. Alternatives
without a finite text, such as an object that requires itself, are dropped. Subclasses write the notation.
"""

from __future__ import annotations

import hashlib
import pickle
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from grammask import composition
from grammask.errors import GrammarError
from grammask.schemas.json_text import json_text
from grammask.schemas.keywords import CONTENT, CONTENT_KEYWORDS
from grammask.structural_tags.parameters.style import EMPTY
from grammask.structural_tags.parameters.value_shapes import (
    ArrayShape,
    ListedStrings,
    ObjectShape,
    SchemaShapes,
    StringShape,
    ValueShape,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask.composition import Part
    from grammask.structural_tags.parameters.schema_document import LocatedSchema
    from grammask.structural_tags.parameters.style import EncodingContext

__all__ = ["ShapeEncoder", "ShapeStyle"]


class ShapeStyle(Protocol):
    """The properties of a style that the checks of schemas need."""

    @property
    def has_type(self) -> bool:
        """Whether the notation tells the types of values."""

    @property
    def text_end(self) -> str:
        """The text that strings cannot contain."""

    def key(self, name: str) -> str:
        """Returns a name as it is written."""


class ShapeEncoder(ABC):
    """Encodes the schema of one object: a rule for each object and array."""

    admits_array_root = False
    """Whether the notation can write an array as a whole, if the schema admits one kind of arrays and nothing else."""

    def __init__(self, style: ShapeStyle, schema: Any, context: EncodingContext) -> None:
        """Classifies the values of the schema.

        Args:
            style: The style of the arguments.
            schema: The schema.
            context: The context.
        """
        self._style = style
        self.diagnostics = context.diagnostics
        self.space = context.space
        self.shapes = SchemaShapes(
            schema,
            context.pointer,
            context.diagnostics,
            admits_any=style.has_type,
            constraints=context.constraints,
        )
        self.root, self.context = self.shapes.root, context.within(self.shapes)
        # Names of rules contain a hash of their source, so that encoders of other schemas have other names.
        source = pickle.dumps((style, json_text(schema), sorted(context.options.items())), protocol=5)
        self.key = hashlib.sha256(source).hexdigest()
        self.finite: set[ValueShape] = set()
        """The objects and arrays of which some value has a finite text."""

    @classmethod
    def encoded(cls, style: Any, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the members of an object; reports schemas that cannot be read."""
        try:
            return cls(style, schema, context).parameters()
        except (TypeError, ValueError) as error:  # Values that JSON lacks, and strings that UTF-8 lacks.
            context.diagnostics.invalid(context.pointer, str(error))
            return EMPTY

    def parameters(self) -> Part:
        """Returns the part that matches the arguments."""
        error_count = len(self.diagnostics.entries)
        is_array = self.admits_array_root and not self.context.has_objects_only
        roots: Sequence[ValueShape] = self.shapes.of(self.root)
        if not is_array or [*map(type, roots)] != [ArrayShape]:
            roots = self.shapes.arguments(has_objects_only=self.context.has_objects_only)
        containers = self._checked_containers(roots)
        if len(self.diagnostics.entries) > error_count:
            return EMPTY
        self._find_finite(containers)
        starts = [
            shape for shape in roots if isinstance(shape, ObjectShape | ArrayShape) and shape in self.finite
        ]
        if not starts:
            self.diagnostics.unsupported(self.root.pointer, "no value is finite: each contains another one")
            return EMPTY
        # What follows the full stop makes a name unique, and is not shown.
        places = {shape: shape.pointer.replace(".", "%2E") for shape in containers}
        self.names = {
            shape: f"{places[shape]}.{number}_{self.key}" for number, shape in enumerate(containers)
        }
        parts = {self.names[shape]: self._body(shape) for shape in containers if shape in self.finite}
        start = f".start_{self.key}"
        parts[start] = composition.choice(composition.reference(self.names[shape]) for shape in starts)
        return composition.rules(parts, start)

    # Checks -----------------------------------------------------------------------------------------------------

    def _checked_containers(self, roots: Sequence[ValueShape]) -> list[ObjectShape | ArrayShape]:
        """Returns all objects and arrays of the schema; refuses values that this style cannot write or distinguish."""
        containers: dict[ObjectShape | ArrayShape, None] = {}
        pending = list(reversed(roots))
        while pending:
            shape = pending.pop()
            if not isinstance(shape, ObjectShape | ArrayShape) or shape in containers:
                continue
            containers[shape] = None
            if isinstance(shape, ObjectShape):
                for name in shape.properties:
                    self.check_name(name, shape.pointer)
            for located in reversed(list(_inner_schemas(shape))):
                inner = self.shapes.of(located)
                self.check_values(inner, located.pointer)
                pending += reversed(inner)
        return list(containers)

    @abstractmethod
    def check_name(self, name: str, pointer: str) -> None:
        """Refuses a name that the style cannot write."""

    def check_values(self, shapes: list[ValueShape], pointer: str) -> None:
        """Refuses values that the style cannot write or distinguish."""
        for shape in shapes:
            for text in shape.listed if isinstance(shape, ListedStrings) else ():
                if self._style.text_end in text:
                    self.diagnostics.unsupported(
                        pointer, f"the value {text!r} contains the end of its parameter"
                    )
        if self._style.has_type:
            return
        if sum(isinstance(shape, ObjectShape | ArrayShape) for shape in shapes) > 1:
            self.diagnostics.unsupported(
                pointer, "several kinds of objects and arrays: this style does not tell which one is written"
            )
        if not all(isinstance(shape, StringShape | ListedStrings) for shape in shapes):
            for shape in shapes:
                if isinstance(shape, StringShape) and not shape.has_only_max_length:
                    self.diagnostics.unsupported(
                        shape.pointer,
                        f"{', '.join(sorted(shape.constraints))} for strings where other values are allowed: "
                        "this style does not tell which one is written",
                    )

    # Finite values ----------------------------------------------------------------------------------------------

    def _find_finite(self, containers: list[ObjectShape | ArrayShape]) -> None:
        """Computes the least fixpoint: a container is finite if all values that it needs are."""
        count = -1
        while count < len(self.finite):
            count = len(self.finite)
            for shape in containers:
                if shape not in self.finite and self._needs_only_finite(shape):
                    self.finite.add(shape)

    def _needs_only_finite(self, shape: ObjectShape | ArrayShape) -> bool:
        if isinstance(shape, ObjectShape):
            return all(
                name in shape.properties and self.is_allowed(name) and self.has_value(shape.properties[name])
                for name in shape.required
            )
        needed = [*shape.prefix[: shape.min_items]]
        if shape.min_items > len(needed):
            if shape.items is None:
                return False
            needed.append(shape.items)
        has_consistent_bounds = shape.max_items is None or shape.min_items <= shape.max_items
        return has_consistent_bounds and all(map(self.has_value, needed))

    def has_value(self, located: LocatedSchema) -> bool:
        """Whether some value of a schema has a finite text."""
        return any(self.is_finite(shape) for shape in self.shapes.of(located))

    def is_finite(self, shape: ValueShape) -> bool:
        """Whether some value of a shape has a finite text."""
        if isinstance(shape, ListedStrings):
            return bool(self.allowed(shape))
        return not isinstance(shape, ObjectShape | ArrayShape) or shape in self.finite

    def is_allowed(self, name: str) -> bool:
        """Whether a name, as it is written, contains no excluded word."""
        return not self.context.has_excluded_word(self._style.key(name))

    def allowed(self, shape: ListedStrings) -> list[str]:
        """Returns the listed strings without excluded words."""
        return [text for text in shape.listed if not self.context.has_excluded_word(text)]

    # Parts ------------------------------------------------------------------------------------------------------

    def _body(self, shape: ObjectShape | ArrayShape) -> Part:
        return self.object(shape) if isinstance(shape, ObjectShape) else self.array(shape)

    @abstractmethod
    def object(self, shape: ObjectShape) -> Part:
        """Returns the part that matches the objects of a shape."""

    @abstractmethod
    def array(self, shape: ArrayShape) -> Part:
        """Returns the part that matches the arrays of a shape."""

    def text(self, shape: StringShape, end: str | None) -> Part:
        """Returns the part that matches the strings of a shape, without escapes, that do not contain ``end``."""
        if shape.has_only_max_length:
            return composition.free_text(
                before=end, without=self.context.excludes, max_characters=shape.max_length
            )
        constraints = {"type": "string", **shape.constraints}
        try:
            code = None
            if shape.constraints.keys() <= CONTENT_KEYWORDS | {CONTENT}:
                written = self.shapes.with_content_apart(constraints, shape.pointer)
                code = self.context.content_part(written, end)
            return code or self.context.string_part(constraints, end)
        except GrammarError as error:
            self.context.embedded(shape.pointer, error)
            return EMPTY

    def reference(self, shape: ObjectShape | ArrayShape) -> Part:
        """Returns the part that matches the rule of an object or array."""
        return composition.reference(self.names[shape])


def _inner_schemas(container: ObjectShape | ArrayShape) -> Iterator[LocatedSchema]:
    """Yields the schemas of the properties or items of an object or array."""
    if isinstance(container, ObjectShape):
        yield from container.properties.values()
        yield from (group.value for group in container.others)
    else:
        yield from container.prefix
        if container.items is not None:
            yield container.items
