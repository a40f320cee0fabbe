"""Sources of grammars as bytes, for files of compiled grammars.

Reading does not unpickle: a file can only make values of the built-in types below, parts, options of schemas, and the
classes in ``_MODULES``. The encoding is a list of records in JSON. A record has a kind, and refers to earlier
records by number, so no function recurses, and the last record is the source. Limits are not part of it.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.composition import Part
from grammask.errors import GrammarError
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.sources import EngineGrammar, Source

__all__ = ["encode_source", "open_source", "source_classes"]

_MODULES = {
    "ChoicesSource": "grammask.readers.choices",
    "EncodedSource": "grammask.readers.encoded",
    "GbnfSource": "grammask.readers.gbnf",
    "JsonSchemaSource": "grammask.readers.schema_sources",
    "KbnfSource": "grammask.readers.kbnf",
    "LarkDefinition": "grammask.lark_grammars.loading",
    "LarkSource": "grammask.readers.lark",
    "LlguidanceLarkSource": "grammask.llguidance_grammars.source",
    "RegexSource": "grammask.readers.regex",
    "StringSchemaSource": "grammask.readers.schema_sources",
}
"""The modules of the classes of which sources consist."""

_SCALARS = (type(None), bool, int, str)
"""The types of values that JSON has."""

_LIMITS = "limits"
"""The field of sources that is given by the reader of a file."""


def encode_source(source: Source) -> bytes:
    """Returns a source as bytes.

    Raises:
        TypeError: It contains a value of another type.
    """
    records: list[list[Any]] = []
    numbers: dict[Any, int] = {}
    # Values are identified by their address, so those that are made here are kept.
    made: list[tuple[Any, ...]] = []
    stack: list[tuple[Any, tuple[Any, ...] | None]] = [(source, None)]
    while stack:
        value, inner = stack.pop()
        key = _key(value)
        if key in numbers:
            continue
        if inner is None:
            inner = _inner(value)
            made.append(inner)
            stack.append((value, inner))
            stack.extend((each, None) for each in reversed(inner))
            continue
        numbers[key] = len(records)
        records.append([*_head(value), *(numbers[_key(each)] for each in inner)])
    return json.dumps(records, separators=(",", ":")).encode()


def open_source(encoded: bytes, limits: Limits | None) -> tuple[Source, EngineGrammar] | None:
    """Returns a source that :func:`encode_source` wrote, and its grammar; None for other bytes.

    Raises:
        GrammarError: As of :meth:`grammask.sources.Source.build`.
    """
    try:
        values: list[Any] = []
        for kind, *rest in json.loads(encoded):
            values.append(_value(kind, rest, values, limits))
        return values[-1], _grammask.within_limits(limits, values[-1].build)
    except GrammarError:
        raise
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        return None


def source_classes() -> list[type]:
    """Returns the classes of which sources consist, besides built-in types."""
    return [Part, _grammask.SchemaOptions, *map(_class, _MODULES)]


def _class(name: str) -> Any:
    return getattr(import_module(_MODULES[name]), name)


def _key(value: Any) -> Any:
    """Returns a key that equal scalars have in common, and other values with themselves only."""
    return (type(value), value) if type(value) in (*_SCALARS, bytes) else id(value)


def _inner(value: Any) -> tuple[Any, ...]:
    """Returns the values that a value consists of."""
    if isinstance(value, tuple | list):
        return tuple(value)
    if isinstance(value, Part):
        return (value.arguments, *value.parts)
    if isinstance(value, _grammask.SchemaOptions):
        return tuple(_options(value).values())
    if isinstance(value, FrozenValue):
        return tuple(getattr(value, name) for name in value.fields if name != _LIMITS)
    return ()


def _head(value: Any) -> list[Any]:
    """Returns the beginning of a record, before the numbers of inner values."""
    kind = type(value).__name__
    if type(value) in _SCALARS:
        return [kind, value]
    if type(value) is bytes:
        return [kind, value.decode("latin-1")]
    if type(value) in (tuple, list):
        return [kind]
    if isinstance(value, Part):
        return [kind, value.kind]
    if isinstance(value, _grammask.SchemaOptions):
        return [kind, list(_options(value))]
    if _MODULES.get(kind) == type(value).__module__:
        return [kind]
    msg = f"a source of a grammar that can be saved has no {kind}"
    raise TypeError(msg)


def _value(kind: str, rest: list[Any], values: list[Any], limits: Limits | None) -> Any:
    """Returns the value of a record.

    Raises:
        AttributeError, IndexError, KeyError, TypeError, ValueError: It is not one that was written.
    """
    match kind, rest:
        case ("NoneType", [None]) | ("bool", [bool()]) | ("int", [int()]) | ("str", [str()]):
            return rest[0]
        case "bytes", [str(text)]:
            return text.encode("latin-1")
        case "tuple", numbers:
            return tuple(_referred(numbers, values))
        case "list", numbers:
            return _referred(numbers, values)
        case "Part", [str(name), int(arguments), *parts]:
            return Part(name, values[arguments], tuple(_referred(parts, values)))
        case "SchemaOptions", [list(names), *numbers]:
            return _grammask.SchemaOptions(**dict(zip(names, _referred(numbers, values), strict=True)))
    made = _class(kind)
    given = dict(zip((name for name in made.fields if name != _LIMITS), _referred(rest, values), strict=True))
    if _LIMITS in made.fields:
        given[_LIMITS] = limits
    return made(**given)


def _referred(numbers: list[Any], values: list[Any]) -> list[Any]:
    if any(number < 0 for number in numbers):
        msg = "numbers of records are not negative"
        raise IndexError(msg)
    return [values[number] for number in numbers]


def _options(options: _grammask.SchemaOptions) -> dict[str, Any]:
    return options.__getnewargs_ex__()[1]
