"""Schemas as JSON texts, with the order of keys, at any depth.

The engine writes values of the types that JSON has. For others there is ``json.dumps``, and as it recurses, an explicit
stack for deep schemas and for mappings that are no dicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from grammask._grammask import compact_json
from grammask.grammar_texts import grammar_text

__all__ = ["Schema", "json_text", "schema_text"]

Schema: TypeAlias = Mapping[str, Any] | bool | str | bytes
"""A schema as a value, or as JSON text."""


def schema_text(schema: Schema) -> str:
    """Returns a schema as JSON. Strings and bytes are JSON already.

    Raises:
        TypeError: It has another type, or contains a value that JSON does not have.
        ValueError: It contains itself or a number that is not finite, or is not UTF-8.
        GrammarSyntaxError: A ``str`` has half of a surrogate pair.
    """
    if isinstance(schema, str | bytes):
        return grammar_text(schema, "a schema")
    value: Any = schema
    if isinstance(value, bool | Mapping):
        return json_text(value)
    given = (
        f"the class {value.__name__}: Grammar.from_type takes types"
        if isinstance(value, type)
        else type(value).__name__
    )
    msg = f"a schema is a dict, a bool, or JSON as str or bytes, not {given}"
    raise TypeError(msg)


def json_text(value: Any) -> str:
    """Returns a value as compact JSON. Lone surrogates are escapes.

    Raises:
        TypeError: JSON has no such value.
        ValueError: The value contains itself, or a number that is not finite.
    """
    written = compact_json(value)
    if written is not None:
        return written
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (
        RecursionError,
        TypeError,
    ):  # `_pieces` accepts mappings that are no dicts, and refuses other types.
        return "".join(_pieces(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def _pieces(value: Any) -> Iterator[str]:
    """Yields the text in pieces. A stack holds the open containers with iterators over their remaining members."""
    open_containers: list[tuple[int, Iterator[tuple[str, Any]], str]] = []
    inside: set[int] = set()
    pending: Any = value
    while True:
        opened = _contents(pending)
        if opened is None:
            yield _scalar(pending)
        else:
            begin, members, end = opened
            if id(pending) in inside:
                msg = "the value holds itself"
                raise ValueError(msg)
            inside.add(id(pending))
            open_containers.append((id(pending), members, end))
            yield begin
        while open_containers:
            identity, members, end = open_containers[-1]
            following = next(members, None)
            if following is not None:
                label, pending = following
                yield label
                break
            yield end
            open_containers.pop()
            inside.discard(identity)
        else:
            return


def _contents(value: Any) -> tuple[str, Iterator[tuple[str, Any]], str] | None:
    """Returns the opening bracket of a container, its labelled members, and the closing bracket; None for scalars."""
    if isinstance(value, Mapping):
        return "{", _separated((f"{_key(key)}:", member) for key, member in value.items()), "}"
    if isinstance(value, (list, tuple)):
        return "[", _separated(("", member) for member in value), "]"
    return None


def _separated(members: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for label, member in members:
        yield separator + label, member
        separator = ","


def _key(key: Any) -> str:
    if not isinstance(key, str):
        msg = f"keys of objects are strings, not {type(key).__name__}"
        raise TypeError(msg)
    return _scalar(key)


def _scalar(value: Any) -> str:
    if not isinstance(value, (str, int, float, bool, type(None))):
        msg = f"JSON has no {type(value).__name__}"
        raise TypeError(msg)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
