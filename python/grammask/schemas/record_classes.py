"""The declared members of dataclasses, typed dictionaries, named tuples, and classes of attrs and msgspec."""

from __future__ import annotations

import dataclasses
import functools
import operator
import typing
from typing import Any

from grammask.schemas.annotations import forms_around, resolved_hints, special_name
from grammask.schemas.attrs_validators import accepted_values

__all__ = ["DeclaredMember", "RecordClass", "record_class"]


class DeclaredMember(typing.NamedTuple):
    """A declared name of an object."""

    name: str
    hint: Any
    is_required: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordClass:
    """What a class declares about its values.

    Attributes:
        members: The members in the order in which they are written.
        is_array: Whether values are arrays of the members' values.
        tag: The name and value of a member that says which class an object has.
        checks: Functions that may refuse a value.
        is_msgspec: Whether msgspec reads and writes the values.
    """

    members: list[DeclaredMember]
    is_array: bool = False
    tag: tuple[str, Any] | None = None
    checks: tuple[str, ...] = ()
    is_msgspec: bool = False


def record_class(kind: Any) -> RecordClass | None:
    """Returns the declarations of a class about its values; None for other classes.

    Raises:
        UnsupportedType: Annotations cannot be resolved.
    """
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)
    if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
        return RecordClass(members=_typed_dict(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = resolved_hints(kind)
        members = [
            DeclaredMember(name, hints.get(name, Any), name not in kind._field_defaults)
            for name in kind._fields
        ]
        return RecordClass(members=members, is_array=True)
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs_class(kind)
    return _struct(kind) if hasattr(kind, "__struct_config__") else None


def _dataclass(kind: Any) -> RecordClass:
    hints = resolved_hints(kind)
    fields = {field.name for field in dataclasses.fields(kind)}
    members = []
    for field in kind.__dataclass_fields__.values():
        # `fields` leaves out class variables, which are no parameters, and variables of the initialiser, which are.
        if not field.init or (
            field.name not in fields and not isinstance(hints[field.name], dataclasses.InitVar)
        ):
            continue
        has_default = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )
        members.append(DeclaredMember(field.name, hints[field.name], not has_default))
    return RecordClass(members=members, checks=("__post_init__",) if hasattr(kind, "__post_init__") else ())


def _typed_dict(kind: Any) -> list[DeclaredMember]:
    members = []
    for name, hint in resolved_hints(kind).items():
        is_required = name in kind.__required_keys__
        # If annotations are strings, only the resolved hints have the marks.
        marks = {special_name(typing.get_origin(form)) for form in forms_around(hint)}
        if "Required" in marks or "NotRequired" in marks:
            is_required = "Required" in marks
        members.append(DeclaredMember(name, hint, is_required))
    return members


def _attrs_class(kind: Any) -> RecordClass:
    """Returns the members of a class of attrs, by their names as parameters."""
    hints = resolved_hints(kind)
    members, checks = [], []
    for field in kind.__attrs_attrs__:
        if not field.init:
            continue
        has_default = type(field.default).__name__ != "_Nothing"
        hint = hints.get(field.name, Any)
        if field.validator is not None:
            schema = accepted_values(hint, field.validator)
            checks += [f"{field.name}.validator"] if schema is None else []
            hint = typing.Annotated[hint, schema] if schema else hint
        members.append(DeclaredMember(field.alias or field.name, hint, not has_default))
        checks += [f"{field.name}.converter"] if field.converter is not None else []
    checks += [name for name in ("__attrs_post_init__",) if hasattr(kind, name)]
    return RecordClass(members=members, checks=tuple(checks))


def _struct(kind: Any) -> RecordClass:
    """Returns the members of a struct of msgspec."""
    import msgspec

    config = kind.__struct_config__
    hints = resolved_hints(kind)
    members = []
    for field in msgspec.structs.fields(kind):
        hint = hints.get(field.name, field.type)
        parts = typing.get_args(hint)
        if msgspec.UnsetType in parts:
            # The value of an absent member.
            hint = functools.reduce(operator.or_, (part for part in parts if part is not msgspec.UnsetType))
        members.append(DeclaredMember(field.encode_name, hint, field.required))
    tag = None if config.tag is None else (config.tag_field, config.tag)
    checks = ("__post_init__",) if hasattr(kind, "__post_init__") else ()
    return RecordClass(members=members, is_array=config.array_like, tag=tag, checks=checks, is_msgspec=True)
