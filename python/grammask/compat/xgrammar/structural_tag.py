"""The formats of structural tags as objects that serialise to xgrammar's JSON.

``docs/structural_tags.md`` defines their meaning. They are checked when a grammar is made from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Self

    from grammask.tools import ReasoningMode

__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
    "Model",
    "OptionalFormat",
    "OrFormat",
    "PlusFormat",
    "QwenXMLParameterFormat",
    "RegexFormat",
    "RepeatFormat",
    "SequenceFormat",
    "StarFormat",
    "StructuralTag",
    "StructuralTagItem",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "TokenDispatchFormat",
    "TokenFormat",
    "TokenTriggeredTagsFormat",
    "ToolCallsFormat",
    "TriggeredTagsFormat",
]

Format: TypeAlias = Any
"""One of the formats, or its dictionary."""


class Model:
    """The methods of Pydantic's models that callers of xgrammar use; Pydantic itself is not needed."""

    @classmethod
    def model_validate(cls, obj: Any) -> Self:
        """Returns the object of a dictionary, with objects for the dictionaries in it. Unknown fields are dropped.

        Raises:
            ValueError: The value is no dictionary, has another ``type``, or lacks a field.
        """
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            msg = f"{cls.__name__} is made from a dictionary, not from {type(obj).__name__}"
            raise ValueError(msg)
        values: dict[str, Any] = {}
        for entry in fields(cls):  # type: ignore[arg-type]
            if entry.name == "type" and entry.default is not MISSING:
                if obj.get("type", entry.default) != entry.default:
                    msg = f"the type of {cls.__name__} is {entry.default!r}, not {obj['type']!r}"
                    raise ValueError(msg)
            elif entry.name in obj:
                values[entry.name] = cls._field(entry.name, obj[entry.name])
            elif entry.default is MISSING and entry.default_factory is MISSING:
                msg = f"{cls.__name__} needs the field {entry.name!r}"
                raise ValueError(msg)
        return cls(**values)

    @classmethod
    def _field(cls, name: str, value: Any) -> Any:
        """Returns the value of a field, with objects for the dictionaries of formats in it."""
        return _formats_in(value, name) if name in _NESTED else value

    @classmethod
    def model_validate_json(cls, json_data: str | bytes) -> Self:
        """Returns the object of a JSON text.

        Raises:
            ValueError: As ``model_validate``, or the text is not JSON.
        """
        return cls.model_validate(json.loads(json_data))

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """Returns the object as JSON text."""
        return json.dumps(self, default=vars, indent=indent)

    def model_dump(self) -> dict[str, Any]:
        """Returns the object as dictionaries and lists."""
        dumped: dict[str, Any] = json.loads(self.model_dump_json())
        return dumped

    def model_copy(self, *, update: dict[str, Any] | None = None) -> Self:
        """Returns a shallow copy, with some fields replaced."""
        return replace(self, **(update or {}))  # type: ignore[type-var]


_NESTED = frozenset({"begin", "content", "elements", "end", "format", "rules", "tags"})
"""The fields that contain formats."""


def _formats_in(value: Any, name: str) -> Any:
    """Returns a value with objects in place of the dictionaries of formats in it."""
    if isinstance(value, list | tuple):
        return [_formats_in(inner, name) for inner in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type", "tag" if name == "tags" else None)
    model = _FORMATS.get(kind) if isinstance(kind, str) else None
    if model is None:
        msg = f"there is no format of the type {kind!r}"
        raise ValueError(msg)
    return model.model_validate(value)


@dataclass(kw_only=True)
class ConstStringFormat(Model):
    """A fixed text."""

    value: str
    type: str = "const_string"


@dataclass(kw_only=True)
class JSONSchemaFormat(Model):
    """The values of a JSON schema, in JSON or in one of the styles of models."""

    json_schema: bool | dict[str, Any]
    style: str = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = field(default_factory=list)
    type: str = "json_schema"


@dataclass(kw_only=True)
class QwenXMLParameterFormat(Model):
    """The values of a JSON schema in the style of Qwen."""

    json_schema: bool | dict[str, Any]
    type: str = "qwen_xml_parameter"


@dataclass(kw_only=True)
class AnyTextFormat(Model):
    """Any text that does not contain excluded texts."""

    excludes: list[str] = field(default_factory=list)
    max_tokens: int | None = None
    max_chars: int | None = None
    type: str = "any_text"


@dataclass(kw_only=True)
class TokenFormat(Model):
    """A token, by id or name."""

    token: int | str
    type: str = "token"


@dataclass(kw_only=True)
class ExcludeTokenFormat(Model):
    """A token that is not excluded."""

    exclude_tokens: list[int | str] = field(default_factory=list)
    type: str = "exclude_token"


@dataclass(kw_only=True)
class AnyTokensFormat(Model):
    """Tokens that are not excluded."""

    exclude_tokens: list[int | str] = field(default_factory=list)
    max_tokens: int | None = None
    type: str = "any_tokens"


@dataclass(kw_only=True)
class GrammarFormat(Model):
    """The texts of a grammar in EBNF."""

    grammar: str
    type: str = "grammar"


@dataclass(kw_only=True)
class RegexFormat(Model):
    """The texts of a regular expression."""

    pattern: str
    type: str = "regex"


@dataclass(kw_only=True)
class SequenceFormat(Model):
    """A concatenation."""

    elements: list[Format]
    type: str = "sequence"


@dataclass(kw_only=True)
class OrFormat(Model):
    """An alternative."""

    elements: list[Format]
    type: str = "or"


@dataclass(kw_only=True)
class OptionalFormat(Model):
    """Zero or one copy."""

    content: Format
    type: str = "optional"


@dataclass(kw_only=True)
class PlusFormat(Model):
    """One or more copies."""

    content: Format
    type: str = "plus"


@dataclass(kw_only=True)
class StarFormat(Model):
    """Zero or more copies."""

    content: Format
    type: str = "star"


@dataclass(kw_only=True)
class RepeatFormat(Model):
    """``min`` to ``max`` copies."""

    min: int
    max: int
    content: Format
    type: str = "repeat"


@dataclass(kw_only=True)
class TagFormat(Model):
    """A content between a beginning and an end."""

    begin: str | Format
    content: Format
    end: str | list[str] | Format
    type: str = "tag"


@dataclass(kw_only=True)
class TriggeredTagsFormat(Model):
    """Free text with tags that begin at triggers."""

    triggers: list[str]
    tags: list[Format]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = field(default_factory=list)
    type: str = "triggered_tags"


@dataclass(kw_only=True)
class TokenTriggeredTagsFormat(Model):
    """Free text with tags that begin at trigger tokens."""

    trigger_tokens: list[int | str]
    tags: list[Format]
    exclude_tokens: list[int | str] = field(default_factory=list)
    at_least_one: bool = False
    stop_after_first: bool = False
    type: str = "token_triggered_tags"


@dataclass(kw_only=True)
class TagsWithSeparatorFormat(Model):
    """Tags with a text between them."""

    tags: list[Format]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False
    type: str = "tags_with_separator"


@dataclass(kw_only=True)
class DispatchFormat(Model):
    """Free text with triggers, each followed by its format."""

    rules: list[Any]
    loop: bool = True
    excludes: list[str] = field(default_factory=list)
    type: str = "dispatch"


@dataclass(kw_only=True)
class TokenDispatchFormat(Model):
    """Free text with trigger tokens, each followed by its format."""

    rules: list[Any]
    loop: bool = True
    exclude_tokens: list[int | str] = field(default_factory=list)
    type: str = "token_dispatch"


@dataclass(kw_only=True)
class ToolCallsFormat(Model):
    """Outputs with reasoning and calls in a tool style of grammask; an addition to xgrammar's formats.

    It is the whole format of a structural tag. The fields are the arguments of :meth:`grammask.Grammar.from_tools`, and
    a text before all outputs.
    """

    style: str | Mapping[str, Any]
    tools: list[Any]
    tool_choice: str | Mapping[str, Any] = "auto"
    reasoning: ReasoningMode = "none"
    parallel: bool = True
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    prefix: str = ""
    type: str = "tool_calls"


@dataclass
class StructuralTagItem:
    """A tag of the older form of structural tags.

    Attributes:
        begin: The text before the content.
        schema: The JSON schema of the content: an object, its JSON text, or a model of Pydantic.
        end: The text after the content.
    """

    begin: str
    schema: Any
    end: str


@dataclass(kw_only=True)
class StructuralTag(Model):
    """A whole structural tag."""

    format: Format
    type: str = "structural_tag"

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Returns the structural tag for tags and triggers of the older form.

        Raises:
            ValueError: A schema is not JSON.
        """
        written: list[Format] = []
        for tag in tags:
            schema = tag.schema
            if isinstance(schema, type):
                schema = schema.model_json_schema()  # type: ignore[attr-defined]
            elif isinstance(schema, str):
                schema = json.loads(schema)
            content = JSONSchemaFormat(json_schema=schema)
            written.append(TagFormat(begin=tag.begin, content=content, end=tag.end))
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=written))

    @staticmethod
    def from_json(json_str: str | dict[str, Any]) -> StructuralTag:
        """Returns the structural tag of a dictionary or its JSON text.

        Raises:
            ValueError: The text is not JSON, or is no structural tag.
        """
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        return StructuralTag.model_validate(json_str)


_FORMATS: dict[str, type[Model]] = {
    model.type: model
    for model in (
        AnyTextFormat,
        AnyTokensFormat,
        ConstStringFormat,
        DispatchFormat,
        ExcludeTokenFormat,
        GrammarFormat,
        JSONSchemaFormat,
        OptionalFormat,
        OrFormat,
        PlusFormat,
        QwenXMLParameterFormat,
        RegexFormat,
        RepeatFormat,
        SequenceFormat,
        StarFormat,
        TagFormat,
        TagsWithSeparatorFormat,
        TokenDispatchFormat,
        TokenFormat,
        TokenTriggeredTagsFormat,
        ToolCallsFormat,
        TriggeredTagsFormat,
    )
}
"""The class of each type of format."""
