"""Schemas from Pydantic models and from functions."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic

from grammask.formatron.schemas.schema import FieldInfo, Schema, SimpleField
from grammask.schemas.python_types import model_schema

if TYPE_CHECKING:
    from collections.abc import Callable


class ClassSchema(pydantic.BaseModel, Schema):
    """A model of Pydantic that is a schema. Its grammar has the declared fields only."""

    @classmethod
    def fields(cls) -> dict[str, FieldInfo]:
        """The fields of the model."""
        return {
            name: SimpleField(info.annotation, required=info.is_required())
            for name, info in cls.model_fields.items()
        }

    @classmethod
    def from_json(cls, json: str) -> Any:
        """Validates JSON."""
        return cls.model_validate_json(json)

    @classmethod
    def grammask_json_schema(cls) -> dict[str, Any]:
        """The JSON schema."""
        return closed(model_schema(cls))


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a schema in which objects with declared properties admit no others by default."""
    copied: dict[str, Any] = {}
    pending: list[tuple[Any, Any]] = [(schema, copied)]
    while pending:
        source, target = pending.pop()
        items = source.items() if isinstance(source, dict) else enumerate(source)
        for name, part in items:
            copy: Any = {} if isinstance(part, dict) else [] if isinstance(part, list) else part
            if isinstance(target, dict):
                target[name] = copy
            else:
                target.append(copy)
            if isinstance(part, (dict, list)):
                pending.append((part, copy))
        if (
            isinstance(source, dict)
            and source.get("type") == "object"
            and isinstance(source.get("properties"), dict)
        ):
            target.setdefault("additionalProperties", False)
    return copied


def callable_schema(
    func: Callable[..., Any], /, *, config: pydantic.ConfigDict | None = None, validate_return: bool = False
) -> Any:
    """Makes a schema from a function's parameters; reading JSON calls the function and returns its result."""
    call = pydantic.validate_call(config=config, validate_return=validate_return)(func)
    signature = inspect.signature(func, eval_str=True)
    declared: dict[str, Any] = {
        name: (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature.parameters.items()
    }
    model = pydantic.create_model(f"{func.__name__}_arguments", **declared)

    class CallableSchema(Schema):
        __wrapped__: ClassVar[Callable[..., Any]] = func

        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            return call(*arguments, **named)

        @classmethod
        def fields(cls) -> dict[str, FieldInfo]:
            return {
                name: SimpleField(info.annotation, required=info.is_required())
                for name, info in model.model_fields.items()
            }

        @classmethod
        def from_json(cls, text: str) -> Any:
            values = json.loads(text)
            positional = [
                values.pop(name)
                for name, parameter in signature.parameters.items()
                if parameter.kind is parameter.POSITIONAL_ONLY and name in values
            ]
            return call(*positional, **values)

        @classmethod
        def grammask_json_schema(cls) -> dict[str, Any]:
            return closed(model_schema(model))

    CallableSchema.__name__ = CallableSchema.__qualname__ = func.__name__
    return CallableSchema
