"""JSON schemas of Python types, for ``Grammar.from_type`` and ``Grammar.from_pydantic``.

Named types (dataclasses, typed dictionaries, named tuples, type aliases, models of Pydantic) become definitions, so
they may be recursive. Constraints in ``Annotated`` are recognised by their attributes, so neither ``annotated_types``
nor Pydantic is imported. An unknown constraint is an error.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import ipaddress
import pathlib
import re
import types
import typing
import uuid
from typing import Any, TypeVar

from grammask.errors import UnsupportedType
from grammask.schemas import constraints

__all__ = ["model_schema", "schema_of"]

_SIMPLE: dict[Any, dict[str, Any]] = {
    Any: {},
    object: {},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    decimal.Decimal: {"type": "number"},
    str: {"type": "string"},
    dt.datetime: {"type": "string", "format": "date-time"},
    dt.date: {"type": "string", "format": "date"},
    dt.time: {"type": "string", "format": "time"},
    dt.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    ipaddress.IPv4Address: {"type": "string", "format": "ipv4"},
    ipaddress.IPv6Address: {"type": "string", "format": "ipv6"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
    re.Pattern: {"type": "string", "format": "regex"},
}
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
_UNIONS = {typing.Union, types.UnionType}
_TRANSPARENT = {"ClassVar", "Final", "NotRequired", "ReadOnly", "Required"}
"""Names of forms around a type that do not change its values."""

_Schema = dict[str, Any]


def schema_of(tp: Any) -> dict[str, Any]:
    """Returns a schema (draft 2020-12) of the JSON form of a type's values.

    >>> schema_of(tuple[int, str])["prefixItems"]
    [{'type': 'integer'}, {'type': 'string'}]

    Objects of dataclasses, typed dictionaries and callables have exactly the declared names; names with a default are
    optional. The schema of a callable is that of an object of its arguments. Tuples and named tuples are arrays.

    Args:
        tp: A type, an annotation, a callable, or a model of Pydantic.

    Raises:
        UnsupportedType: A type in it has no JSON form, or an annotation has an unknown constraint.
    """
    writer = _SchemaWriter()
    schema = writer.schema(tp, _name(tp), {})
    return _with_definitions(schema, writer.definitions)


def model_schema(model: Any) -> dict[str, Any]:
    """Returns the validation schema of a model of Pydantic, or of a class with ``model_json_schema``.

    Raises:
        UnsupportedType: It has none.
    """
    method = getattr(model, "model_json_schema", None)
    if method is None:
        msg = f"{_name(model)} is no model of Pydantic; Grammar.from_type takes other types"
        raise UnsupportedType(msg)
    schema: dict[str, Any] = method(by_alias=True, mode="validation")
    return schema


def _with_definitions(schema: _Schema, definitions: dict[str, _Schema]) -> _Schema:
    """Returns the schema with its definitions. A root that is only a reference is replaced by the definition."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and len(schema) == 1:
        name = reference.removeprefix("#/$defs/")
        schema = definitions[name]
        if f"'{reference}'" not in repr(definitions):
            definitions = {key: value for key, value in definitions.items() if key != name}
    return {**schema, "$defs": definitions} if definitions else schema


class _DeclaredProperty(typing.NamedTuple):
    """A declared name of an object."""

    name: str
    hint: Any
    is_required: bool


class _SchemaWriter:
    """Writes schemas and collects the definitions of named types."""

    def __init__(self) -> None:
        self.definitions: dict[str, _Schema] = {}
        self._names: dict[Any, str] = {}

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
            schema = self.schema(tp.__origin__, path, variables)
            return constraints.apply(schema, tp.__metadata__, path)
        if _is_hashable(tp) and tp in _SIMPLE:
            return dict(_SIMPLE[tp])
        origin = typing.get_origin(tp)
        arguments = typing.get_args(tp)
        if origin is typing.Literal or _special_name(origin) == "Literal":
            return _enumeration(list(arguments), path)
        if origin in _UNIONS:
            return self._union(arguments, path, variables)
        if _special_name(origin) in _TRANSPARENT:
            return self.schema(arguments[0], path, variables)
        if hasattr(tp, "__supertype__"):
            return self.schema(tp.__supertype__, path, variables)
        if _special_name(origin or tp) == "TypeAliasType" or type(origin or tp).__name__ == "TypeAliasType":
            return self._alias(tp, path, variables)
        if tp is tuple:
            return {"type": "array"}
        container = self._container(origin or tp, arguments, path, variables)
        return container if container is not None else self._class_or_callable(tp, path, variables)

    def _variable(self, variable: TypeVar, path: str, variables: dict[Any, Any]) -> _Schema:
        if variable in variables:
            return self.schema(variables[variable], path, {})
        if variable.__constraints__:
            return self._union(variable.__constraints__, path, variables)
        return self.schema(variable.__bound__, path, variables) if variable.__bound__ is not None else {}

    def _union(self, members: tuple[Any, ...], path: str, variables: dict[Any, Any]) -> _Schema:
        return {"anyOf": [self.schema(member, path, variables) for member in members]}

    def _alias(self, tp: Any, path: str, variables: dict[Any, Any]) -> _Schema:
        alias = typing.get_origin(tp) or tp
        inner = dict(zip(getattr(alias, "__type_params__", ()), typing.get_args(tp), strict=False))
        return self._defined(
            tp, alias.__name__, lambda: self.schema(alias.__value__, path, {**variables, **inner})
        )

    def _container(
        self, kind: Any, arguments: tuple[Any, ...], path: str, variables: dict[Any, Any]
    ) -> _Schema | None:
        """Returns the schema of a built-in collection or mapping; None for other types."""
        if not _is_hashable(kind):
            return None
        if kind is tuple:
            return self._tuple(arguments, path, variables)
        if kind in _ARRAYS or kind in _SETS:
            schema: _Schema = {"type": "array"}
            if arguments:
                schema["items"] = self.schema(arguments[0], f"{path}[]", variables)
            if kind in _SETS:
                schema["uniqueItems"] = True
            return schema
        if kind in _MAPPINGS:
            return self._mapping(arguments, path, variables)
        return None

    def _tuple(self, arguments: tuple[Any, ...], path: str, variables: dict[Any, Any]) -> _Schema:
        if len(arguments) == 2 and arguments[1] is ...:
            return {"type": "array", "items": self.schema(arguments[0], f"{path}[]", variables)}
        if arguments == ((),):  # The arguments of `tuple[()]` in Python 3.10.
            arguments = ()
        items = [self.schema(item, f"{path}[{index}]", variables) for index, item in enumerate(arguments)]
        return _fixed_array(items, len(items))

    def _mapping(self, arguments: tuple[Any, ...], path: str, variables: dict[Any, Any]) -> _Schema:
        schema: _Schema = {"type": "object"}
        if not arguments:
            return schema
        names = self.schema(arguments[0], f"{path} (key)", variables)
        values = [item for item in (*names.get("enum", ()), names.get("const")) if item is not None]
        is_text = names.get("type") == "string" or (values and all(isinstance(item, str) for item in values))
        if names and not is_text:
            msg = f"{path}: keys of JSON objects are strings, not {_name(arguments[0])}"
            raise UnsupportedType(msg)
        if names not in ({}, {"type": "string"}):
            schema["propertyNames"] = names
        schema["additionalProperties"] = self.schema(arguments[1], f"{path}{{}}", variables)
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
                return self._defined(tp, kind.__name__, lambda: _enumeration(list(kind), path))
            if hasattr(kind, "model_json_schema"):
                return self._model(kind)
            if dataclasses.is_dataclass(kind):
                return self._defined(tp, _name(tp), lambda: self._dataclass(kind, inner))
            if _is_typed_dict(kind):
                return self._defined(tp, _name(tp), lambda: self._typed_dict(kind, inner))
            if issubclass(kind, tuple) and hasattr(kind, "_fields"):
                return self._defined(tp, _name(tp), lambda: self._named_tuple(kind, inner))
            simple = next((base for base in kind.__mro__[1:] if base in (str, int, float)), None)
            if simple is not None and kind is not bool:
                return dict(_SIMPLE[simple])
        elif callable(kind) and _has_parameters(kind):
            return self._callable(kind)
        msg = f"{path}: {_name(tp)} has no JSON form that grammask knows"
        raise UnsupportedType(msg)

    def _defined(self, tp: Any, name: str, write: typing.Callable[[], _Schema]) -> _Schema:
        """Returns a reference to the definition of a named type, which is written at its first use."""
        # Metadata in the type may be unhashable.
        key = tp if _is_hashable(tp) else repr(tp)
        unique = self._names.get(key)
        if unique is None:
            # These characters need no encoding in a reference.
            unique = name = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
            count = 2
            while unique in self.definitions:
                unique = f"{name}-{count}"
                count += 1
            self._names[key] = unique
            self.definitions[unique] = {}
            self.definitions[unique] = write()
        return {"$ref": f"#/$defs/{unique}"}

    def _model(self, model: Any) -> _Schema:
        """Returns a reference to the schema of a model of Pydantic, and adds the definitions of that schema."""
        schema = model.model_json_schema(by_alias=True, mode="validation", ref_template="#/$defs/{model}")
        for name, definition in schema.pop("$defs", {}).items():
            if self.definitions.setdefault(name, definition) != definition:
                msg = f"{_name(model)}: two different types are called {name}"
                raise UnsupportedType(msg)
        reference = schema.get("$ref")
        return (
            schema
            if reference is not None
            else self._defined(model, f"{model.__module__}.{_name(model)}", lambda: schema)
        )

    def _dataclass(self, kind: Any, variables: dict[Any, Any]) -> _Schema:
        hints = _hints(kind)
        properties = []
        for field in dataclasses.fields(kind):
            if not field.init:
                continue
            has_default = (
                field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            )
            properties.append(_DeclaredProperty(field.name, hints[field.name], not has_default))
        return self._object(properties, _name(kind), variables)

    def _typed_dict(self, kind: Any, variables: dict[Any, Any]) -> _Schema:
        properties = []
        for name, hint in _hints(kind).items():
            is_required = name in kind.__required_keys__
            # If annotations are strings, only the resolved hints have the marks.
            marks = {_special_name(typing.get_origin(form)) for form in _forms_around(hint)}
            if "Required" in marks or "NotRequired" in marks:
                is_required = "Required" in marks
            properties.append(_DeclaredProperty(name, hint, is_required))
        return self._object(properties, _name(kind), variables)

    def _named_tuple(self, kind: Any, variables: dict[Any, Any]) -> _Schema:
        hints = _hints(kind)
        items = [
            self.schema(hints.get(name, Any), f"{_name(kind)}.{name}", variables) for name in kind._fields
        ]
        return _fixed_array(items, len(items) - len(kind._field_defaults))

    def _callable(self, function: Any) -> _Schema:
        """Returns the schema of an object of a callable's arguments."""
        path = _name(function)
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError) as error:
            msg = f"{path} does not say what parameters it has"
            raise UnsupportedType(msg) from error
        hints = _hints(getattr(function, "func", function))
        properties = []
        others: _Schema | bool = False
        for parameter in parameters:
            hint = hints.get(parameter.name, Any)
            if parameter.kind is parameter.VAR_KEYWORD:
                others = self.schema(hint, f"{path}(**{parameter.name})", {})
            elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                msg = f"{path}: the parameter {parameter.name} cannot be given by name"
                raise UnsupportedType(msg)
            else:
                properties.append(
                    _DeclaredProperty(parameter.name, hint, parameter.default is parameter.empty)
                )
        schema = self._object(properties, path, {})
        schema["additionalProperties"] = others
        return schema

    def _object(self, properties: list[_DeclaredProperty], path: str, variables: dict[Any, Any]) -> _Schema:
        schema: _Schema = {
            "type": "object",
            "properties": {
                constraints.alias(each.hint) or each.name: self.schema(
                    each.hint, f"{path}.{each.name}", variables
                )
                for each in properties
            },
            "required": [
                constraints.alias(each.hint) or each.name for each in properties if each.is_required
            ],
            "additionalProperties": False,
        }
        return schema


def _fixed_array(items: list[_Schema], required: int) -> _Schema:
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "prefixItems": items, "items": False, "minItems": required}


def _enumeration(values: list[Any], path: str) -> _Schema:
    """Returns the schema of some values; members of enumerations are replaced by their values."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    for value in plain:
        if not isinstance(value, (str, int, float, bool, type(None))):
            msg = f"{path}: the value {value!r} has no JSON form that grammask knows"
            raise UnsupportedType(msg)
    if not plain:
        msg = f"{path}: there are no values"
        raise UnsupportedType(msg)
    return {"const": plain[0]} if len(plain) == 1 else {"enum": plain}


def _hints(kind: Any) -> dict[str, Any]:
    """Returns the resolved annotations of a class or function."""
    try:
        local = {kind.__name__: kind} if hasattr(kind, "__name__") else {}
        return typing.get_type_hints(kind, localns=local, include_extras=True)
    except NameError as error:
        msg = f"{_name(kind)}: an annotation names {error.name!r}, which is not known in its module"
        raise UnsupportedType(msg) from error
    except (TypeError, AttributeError) as error:
        msg = f"{_name(kind)}: its annotations cannot be read: {error}"
        raise UnsupportedType(msg) from error


def _forms_around(hint: Any) -> typing.Iterator[Any]:
    """Yields an annotation, and the types inside of its `Annotated`, `Required` and similar forms."""
    while True:
        yield hint
        if hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif _special_name(typing.get_origin(hint)) in _TRANSPARENT:
            hint = typing.get_args(hint)[0]
        else:
            return


def _special_name(form: Any) -> str | None:
    """Returns the name of a special form such as ``Required``, of ``typing`` or ``typing_extensions``."""
    return getattr(form, "_name", None) or getattr(form, "__name__", None) if form is not None else None


def _has_parameters(value: Any) -> bool:
    """Whether this is a function, a method or a wrapper of one, and not a form of ``typing``."""
    return inspect.isroutine(value) or hasattr(value, "__wrapped__") or hasattr(value, "func")


def _is_typed_dict(kind: Any) -> bool:
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _name(tp: Any) -> str:
    if typing.get_origin(tp) is not None:
        arguments = ", ".join(_name(item) for item in typing.get_args(tp))
        return f"{_name(typing.get_origin(tp))}[{arguments}]"
    return getattr(tp, "__name__", None) or getattr(tp, "_name", None) or repr(tp)
