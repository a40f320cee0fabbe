"""JSON schemas of Python types, for ``Grammar.from_type`` and ``Grammar.from_pydantic``.

Named types (dataclasses, typed dictionaries, named tuples, type aliases, models of Pydantic) become definitions, so
they may be recursive. Plain types are read without Pydantic, and constraints in ``Annotated`` are recognised by their
attributes. Types and annotations of Pydantic are read from the core schema that Pydantic makes of them. An unknown
constraint is an error.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import inspect
import ipaddress
import pathlib
import types
import typing
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from grammask.errors import UnsupportedType
from grammask.schemas import constraints
from grammask.schemas.annotations import (
    TRANSPARENT,
    alias_value,
    is_hashable,
    name_of,
    resolved_hints,
    special_name,
)
from grammask.schemas.containers import (
    Member,
    fixed_array,
    items_schema,
    mapping_schema,
    object_schema,
    set_schema,
)
from grammask.schemas.core_schemas import CoreSchemaReader
from grammask.schemas.definitions import Definitions
from grammask.schemas.record_classes import DeclaredMember, RecordClass, record_class
from grammask.schemas.scalar_values import (
    MAX_INTEGER_DIGITS,
    NATURAL_INTEGER_DIGITS,
    enumeration,
    key_schema,
    matching,
    scalar,
    unenforceable,
)
from grammask.schemas.text_forms import addresses

if TYPE_CHECKING:
    from grammask.schemas.options import Numbers

__all__ = ["model_schema", "schema_of", "validated_schema"]

_NODES: dict[Any, dict[str, Any]] = {
    None: {"type": "none"},
    type(None): {"type": "none"},
    bool: {"type": "bool"},
    int: {"type": "int"},
    float: {"type": "float"},
    decimal.Decimal: {"type": "decimal"},
    fractions.Fraction: {"type": "fraction"},
    str: {"type": "str"},
    bytes: {"type": "bytes"},
    dt.datetime: {"type": "datetime"},
    dt.date: {"type": "date"},
    dt.time: {"type": "time"},
    dt.timedelta: {"type": "timedelta"},
    uuid.UUID: {"type": "uuid"},
}
"""Scalar types as nodes of core schemas."""
_PATTERNS: dict[Any, typing.Callable[[], dict[str, Any]]] = {
    ipaddress.IPv4Address: lambda: matching(addresses.IPV4),
    ipaddress.IPv6Address: lambda: matching(addresses.IPV6),
    ipaddress.IPv4Interface: lambda: matching(addresses.IPV4_INTERFACE),
    ipaddress.IPv6Interface: lambda: matching(addresses.IPV6_INTERFACE),
    ipaddress.IPv4Network: lambda: matching(addresses.ipv4_network_pattern()),
    ipaddress.IPv6Network: lambda: matching(addresses.ipv6_network_pattern()),
    pathlib.Path: lambda: {"type": "string"},
    pathlib.PurePath: lambda: {"type": "string"},
    pathlib.PosixPath: lambda: {"type": "string"},
    pathlib.PurePosixPath: lambda: {"type": "string"},
}
"""Types whose values are strings without constraints on their length."""
_ARRAYS = {
    list,
    collections.deque,
    collections.abc.Collection,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.MutableSequence,
    collections.abc.Sequence,
}
_SETS = {set, frozenset, collections.abc.Set, collections.abc.MutableSet}
_MAPPINGS = {
    dict,
    collections.OrderedDict,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
    collections.defaultdict,
}
OLDEST_PYDANTIC = (2, 10)
"""The oldest minor version of Pydantic whose validators are known to read every text."""

_PYDANTIC_ATTRIBUTES = ("__pydantic_core_schema__", "__get_pydantic_core_schema__", "__pydantic_config__")
"""Attributes of classes that Pydantic reads in a way of their own."""
_UNIONS = {typing.Union, types.UnionType}
_Schema = dict[str, Any]


def schema_of(tp: Any, *, numbers: Numbers = "natural") -> dict[str, Any]:
    """Returns a schema (draft 2020-12) of the JSON form of a type's values.

    >>> schema_of(tuple[bool, str])["prefixItems"]
    [{'type': 'boolean'}, {'type': 'string'}]

    Objects of dataclasses, typed dictionaries and callables have exactly the declared names; names with a default are
    optional. The schema of a callable is that of an object of its arguments. Tuples and named tuples are arrays.

    Args:
        tp: A type, an annotation, a callable, or a model of Pydantic.
        numbers: As of :class:`grammask.SchemaOptions`, for numbers that are names of members.

    Raises:
        UnsupportedType: A type in it has no JSON form, or an annotation has an unknown constraint.
    """
    writer = _SchemaWriter(NATURAL_INTEGER_DIGITS if numbers == "natural" else MAX_INTEGER_DIGITS)
    return writer.definitions.root(writer.schema(tp, name_of(tp), {}))


def validated_schema(model: Any, *, numbers: Numbers = "natural") -> dict[str, Any]:
    """Returns the schema of what a model of Pydantic reads and writes; of other classes with a schema, that schema.

    Args:
        model: The class.
        numbers: As of :func:`schema_of`.

    Raises:
        UnsupportedType: It is no such class, or a type in it has no JSON form.
    """
    is_of_pydantic = hasattr(model, "__pydantic_core_schema__")
    return schema_of(model, numbers=numbers) if is_of_pydantic else model_schema(model)


def model_schema(model: Any) -> dict[str, Any]:
    """Returns the validation schema of a model of Pydantic, or of a class with ``model_json_schema``.

    Raises:
        UnsupportedType: It has none.
    """
    method = getattr(model, "model_json_schema", None)
    if method is None:
        msg = f"{name_of(model)} is no model of Pydantic; Grammar.from_type takes other types"
        raise UnsupportedType(msg)
    schema: dict[str, Any] = method(by_alias=True, mode="validation")
    return schema


class _SchemaWriter:
    """Writes schemas and collects the definitions of named types."""

    def __init__(self, max_key_digits: int) -> None:
        self.definitions = Definitions()
        self._max_key_digits = max_key_digits
        self._core_schemas = CoreSchemaReader(self.definitions, max_key_digits)
        # Whether the type that is being written is inside of a struct of msgspec.
        self._is_msgspec = False

    def schema(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        """Returns the schema of a type.

        Args:
            tp: The type.
            path: Its location, for errors.
            variables: The values of type variables.
        """
        if isinstance(tp, TypeVar):
            return self._variable(tp, path, variables)
        if isinstance(tp, dataclasses.InitVar):
            return self.schema(tp.type, path, variables)
        if hasattr(tp, "__metadata__"):
            return self._annotated(tp, path, variables)
        if tp is Any or tp is object:
            return self.definitions.anything()
        if is_hashable(tp) and tp in _PATTERNS:
            return _PATTERNS[tp]()
        origin = typing.get_origin(tp)
        arguments = typing.get_args(tp)
        if origin in _UNIONS:
            return self._union(arguments, path, variables)
        if special_name(origin) in TRANSPARENT:
            return self.schema(arguments[0], path, variables)
        if hasattr(tp, "__supertype__"):
            return self.schema(tp.__supertype__, path, variables)
        if special_name(origin or tp) == "TypeAliasType" or type(origin or tp).__name__ == "TypeAliasType":
            return self._alias(tp, path, variables)
        if tp is tuple:
            return items_schema(self.definitions.anything(), None, None)
        constrained = self._constrained(tp, {}, path, variables)
        return constrained if constrained is not None else self._class_or_callable(tp, path, variables)

    def _annotated(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        if constraints.need_pydantic(tp.__metadata__) or _is_of_pydantic(tp.__origin__):
            schema = self._of_pydantic(tp, path)
            texts = constraints.texts(tp.__metadata__)
            return {**schema, **texts} if "$ref" not in schema else schema
        limits, keywords = constraints.read(tp.__metadata__, path)
        constrained = self._constrained(tp.__origin__, limits, path, variables) if limits else None
        if limits and constrained is None:
            msg = f"{path}: the constraints {', '.join(limits)} have no JSON Schema form that grammask knows here"
            raise UnsupportedType(msg)
        schema = self.schema(tp.__origin__, path, variables) if constrained is None else constrained
        for each in keywords:
            if each.keys() & schema.keys() - set(constraints.TEXTS):
                # Both values of a repeated keyword apply.
                schema = {"allOf": [schema, each]}
            else:
                schema = {**schema, **each}
        return schema

    def _constrained(
        self, tp: Any, limits: dict[str, Any], path: str, variables: dict[Any, Any]
    ) -> _Schema | None:
        """Returns the schema of a scalar type, a collection or a mapping within limits; None for other types."""
        node = _node(tp)
        if node is not None:
            return scalar({**node, **limits}, {}, is_msgspec=self._is_msgspec)
        origin = typing.get_origin(tp) or tp
        return self._container(origin, typing.get_args(tp), limits, path, variables)

    def _variable(self, variable: TypeVar, path: str, variables: dict[Any, Any]) -> _Schema:
        if variable in variables:
            return self.schema(variables[variable], path, {})
        if variable.__constraints__:
            return self._union(variable.__constraints__, path, variables)
        return self.schema(Any if variable.__bound__ is None else variable.__bound__, path, variables)

    def _union(self, members: tuple[Any, ...], path: str, variables: dict[Any, Any]) -> _Schema:
        return {"anyOf": [self.schema(member, path, variables) for member in members]}

    def _alias(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        alias = typing.get_origin(tp) or tp
        if str(alias.__module__).partition(".")[0] == "pydantic":
            return self._of_pydantic(tp, path)
        inner = dict(zip(getattr(alias, "__type_params__", ()), typing.get_args(tp), strict=False))
        return self._defined(
            tp, alias.__name__, lambda: self.schema(alias_value(alias), path, {**variables, **inner})
        )

    def _container(
        self,
        kind: Any,
        arguments: tuple[Any, ...],
        limits: dict[str, Any],
        path: str,
        variables: dict[Any, Any],
    ) -> _Schema | None:
        """Returns the schema of a built-in collection or mapping; None for other types."""
        if not is_hashable(kind):
            return None
        low, high = limits.get("min_length"), limits.get("max_length")
        if kind is tuple:
            return (
                None
                if limits and arguments[1:] != (...,)
                else self._tuple(arguments, low, high, path, variables)
            )
        if kind in _ARRAYS:
            items = self.schema(arguments[0] if arguments else Any, f"{path}[]", variables)
            return items_schema(items, low, high)
        if kind in _SETS:
            return self._set(arguments, limits, path, variables)
        if kind in _MAPPINGS:
            keys, values = arguments if len(arguments) == 2 else (Any, Any)
            names = self._keys(keys, path, variables)
            return mapping_schema(names, self.schema(values, f"{path}{{}}", variables), limits, path)
        return None

    def _set(
        self, arguments: tuple[Any, ...], limits: dict[str, Any], path: str, variables: dict[Any, Any]
    ) -> _Schema:
        items = arguments[0] if arguments else Any
        if items in (Any, object):
            items = str | int | float | bool | None
        schema = set_schema(self.schema(items, f"{path}[]", variables), limits, path)
        inner = typing.get_origin(items) or items
        if inner not in (*_ARRAYS, *_MAPPINGS, set) and getattr(inner, "__hash__", None) is not None:
            return schema
        return unenforceable(schema, f"{path}: items of a set are hashable")

    def _tuple(
        self,
        arguments: tuple[Any, ...],
        low: int | None,
        high: int | None,
        path: str,
        variables: dict[Any, Any],
    ) -> _Schema:
        if len(arguments) == 2 and arguments[1] is ...:
            return items_schema(self.schema(arguments[0], f"{path}[]", variables), low, high)
        if arguments == ((),):  # The arguments of `tuple[()]` in Python 3.10.
            arguments = ()
        items = [self.schema(item, f"{path}[{index}]", variables) for index, item in enumerate(arguments)]
        return fixed_array(items, len(items))

    def _keys(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        """Returns the schema of the names of an object with keys of a type."""
        if isinstance(tp, TypeVar):
            return self._keys(variables.get(tp, Any), path, {})
        if typing.get_origin(tp) in _UNIONS:
            return {"anyOf": [self._keys(member, path, variables) for member in typing.get_args(tp)]}
        if tp is Any or tp is object:
            return {"type": "string"}
        limits: dict[str, Any] = {}
        inner = tp
        if hasattr(tp, "__metadata__") and constraints.need_pydantic(tp.__metadata__):
            return self._core_schemas.keys(_core_schema(tp, path), path, {})
        if hasattr(tp, "__metadata__"):
            limits, keywords = constraints.read(tp.__metadata__, path)
            inner = tp.__origin__ if not keywords else tp
        node = _node(inner)
        if isinstance(inner, type) and issubclass(inner, enum.Enum):
            kind = "int" if issubclass(inner, int) else None
            node = {"type": "enum", "cls": inner, "members": list(inner), "sub_type": kind}
        if node is not None:
            return key_schema({**node, **limits}, {}, path, self._max_key_digits)
        schema = self.schema(tp, f"{path} (key)", variables)
        if schema.get("type") != "string":
            msg = f"{path}: keys of JSON objects are strings, not {name_of(tp)}"
            raise UnsupportedType(msg)
        return schema

    def _class_or_callable(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        """Returns the schema of a class or a callable."""
        kind = typing.get_origin(tp) or tp
        parameters = getattr(kind, "__parameters__", ()) or getattr(kind, "__type_params__", ())
        arguments = [
            variables.get(item, item) if isinstance(item, TypeVar) else item for item in typing.get_args(tp)
        ]
        inner = dict(zip(parameters, arguments, strict=False))
        if isinstance(kind, type):
            if issubclass(kind, enum.Enum):
                return self._defined(tp, kind.__name__, lambda: enumeration(list(kind), path))
            if _is_of_pydantic(kind):
                return self._of_pydantic(tp, path)
            if hasattr(kind, "model_json_schema"):
                return self._described(kind)
            record = record_class(kind)
            if record is not None:
                return self._defined(tp, name_of(tp), lambda: self._record(record, name_of(kind), inner))
            simple = next((base for base in kind.__mro__[1:] if base in (str, int, float)), None)
            if simple is not None and kind is not bool:
                return self.schema(simple, path, variables)
        elif callable(kind) and _has_parameters(kind):
            return self._callable(kind)
        return self._of_pydantic(tp, path)

    def _of_pydantic(self, tp: Any, path: str) -> _Schema:
        """Returns the schema of a type that only Pydantic knows."""
        return self._core_schemas.schema(_core_schema(tp, path), path)

    def _defined(self, tp: Any, name: str, write: typing.Callable[[], _Schema]) -> _Schema:
        """Returns a reference to the definition of a named type, which is written at its first use."""
        # Metadata in the type may be unhashable.
        key = (self._is_msgspec, tp if is_hashable(tp) else repr(tp))
        return self.definitions.reference(key, name, write)

    def _described(self, model: Any) -> _Schema:
        """Returns a reference to the schema that a class has of itself, and adds the definitions of that schema."""
        schema = model.model_json_schema(by_alias=True, mode="validation", ref_template="#/$defs/{model}")
        for name, definition in schema.pop("$defs", {}).items():
            if self.definitions.schemas.setdefault(name, definition) != definition:
                msg = f"{name_of(model)}: two different types are called {name}"
                raise UnsupportedType(msg)
        reference = schema.get("$ref")
        return (
            schema
            if reference is not None
            else self._defined(model, f"{model.__module__}.{name_of(model)}", lambda: schema)
        )

    def _record(self, record: RecordClass, path: str, variables: dict[Any, Any]) -> _Schema:
        was_msgspec = self._is_msgspec
        self._is_msgspec = was_msgspec or record.is_msgspec
        try:
            if record.is_array:
                tags = [] if record.tag is None else [enumeration([record.tag[1]], path)]
                items = tags + [
                    self.schema(each.hint, f"{path}.{each.name}", variables) for each in record.members
                ]
                schema = fixed_array(items, len(tags) + sum(each.is_required for each in record.members))
            else:
                schema = object_schema(self._members(record.members, path, variables, record.tag))
        finally:
            self._is_msgspec = was_msgspec
        for check in record.checks:
            schema = unenforceable(schema, f"{path}: the function {check} may refuse a value")
        return schema

    def _members(
        self,
        declared: list[DeclaredMember],
        path: str,
        variables: dict[Any, Any],
        tag: tuple[str, Any] | None = None,
    ) -> list[Member]:
        members = []
        if tag is not None:
            members.append(Member(schema=enumeration([tag[1]], path), is_required=True, names=(tag[0],)))
        for each in declared:
            schema = self.schema(each.hint, f"{path}.{each.name}", variables)
            name = constraints.alias(each.hint) or each.name
            members.append(Member(schema=schema, is_required=each.is_required, names=(name,)))
        return members

    def _callable(self, function: Any) -> _Schema:
        """Returns the schema of an object of a callable's arguments."""
        path = name_of(function)
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError) as error:
            msg = f"{path} does not say what parameters it has"
            raise UnsupportedType(msg) from error
        hints = resolved_hints(getattr(function, "func", function))
        declared = []
        others: _Schema | bool = False
        for parameter in parameters:
            hint = hints.get(parameter.name, Any)
            if parameter.kind is parameter.VAR_KEYWORD:
                others = self.schema(hint, f"{path}(**{parameter.name})", {})
            elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                msg = f"{path}: the parameter {parameter.name} cannot be given by name"
                raise UnsupportedType(msg)
            else:
                declared.append(DeclaredMember(parameter.name, hint, parameter.default is parameter.empty))
        return object_schema(self._members(declared, path, {}), others=others)


def _core_schema(tp: Any, path: str) -> dict[str, Any]:
    """Returns the core schema that Pydantic makes of a type.

    Raises:
        UnsupportedType: It makes none, is not installed, or is older than `OLDEST_PYDANTIC`.
    """
    try:
        from pydantic import VERSION, TypeAdapter, errors
    except ImportError as error:
        msg = f"{path}: {name_of(tp)} has no JSON form that grammask knows"
        raise UnsupportedType(msg) from error
    if tuple(int(part) for part in VERSION.split(".")[:2]) < OLDEST_PYDANTIC:
        oldest = ".".join(str(part) for part in OLDEST_PYDANTIC)
        msg = f"{path}: {name_of(tp)} needs Pydantic {oldest} or later, and this is {VERSION}"
        raise UnsupportedType(msg)
    if isinstance(tp, dict):
        # Pydantic takes it for a core schema.
        msg = f"{path} is a dictionary and no type; Grammar.from_json_schema reads schemas"
        raise UnsupportedType(msg)
    try:
        core_schema = TypeAdapter(tp).core_schema
        core_schema["type"]  # Raises if the schema was deferred because a name is unknown.
    except (errors.PydanticUserError, errors.PydanticUndefinedAnnotation, SyntaxError) as error:
        msg = f"{path}: {name_of(tp)} has no JSON form that grammask knows: {str(error).splitlines()[0]}"
        raise UnsupportedType(msg) from error
    return typing.cast("dict[str, Any]", core_schema)


def _is_of_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and any(hasattr(kind, name) for name in _PYDANTIC_ATTRIBUTES)


def _node(tp: Any) -> dict[str, Any] | None:
    """Returns the node of a scalar type; None for other types."""
    if not is_hashable(tp):
        return None
    if tp in _NODES:
        return _NODES[tp]
    origin = typing.get_origin(tp)
    if origin is typing.Literal or special_name(origin) == "Literal":
        return {"type": "literal", "expected": list(typing.get_args(tp))}
    if hasattr(tp, "__supertype__"):
        return _node(tp.__supertype__)
    return None


def _has_parameters(value: Any) -> bool:
    """Whether this is a function, a method or a wrapper of one, and not a form of ``typing``."""
    return inspect.isroutine(value) or hasattr(value, "__wrapped__") or hasattr(value, "func")
