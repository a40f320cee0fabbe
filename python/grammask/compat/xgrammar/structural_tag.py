"""The formats of structural tags as objects that serialise to xgrammar's JSON.

``docs/structural_tags.md`` defines their meaning. They are checked when a grammar is made from them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
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
    "TriggeredTagsFormat",
]

Format: TypeAlias = Any
"""One of the formats, or its dictionary."""


@dataclass(kw_only=True)
class ConstStringFormat:
    """A fixed text."""

    value: str
    type: str = "const_string"


@dataclass(kw_only=True)
class JSONSchemaFormat:
    """The values of a JSON schema, in JSON or in one of the styles of models."""

    json_schema: bool | dict[str, Any]
    style: str = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = field(default_factory=list)
    type: str = "json_schema"


@dataclass(kw_only=True)
class QwenXMLParameterFormat:
    """The values of a JSON schema in the style of Qwen."""

    json_schema: bool | dict[str, Any]
    type: str = "qwen_xml_parameter"


@dataclass(kw_only=True)
class AnyTextFormat:
    """Any text that does not contain excluded texts."""

    excludes: list[str] = field(default_factory=list)
    max_tokens: int | None = None
    max_chars: int | None = None
    type: str = "any_text"


@dataclass(kw_only=True)
class TokenFormat:
    """A token, by id or name."""

    token: int | str
    type: str = "token"


@dataclass(kw_only=True)
class ExcludeTokenFormat:
    """A token that is not excluded."""

    exclude_tokens: list[int | str] = field(default_factory=list)
    type: str = "exclude_token"


@dataclass(kw_only=True)
class AnyTokensFormat:
    """Tokens that are not excluded."""

    exclude_tokens: list[int | str] = field(default_factory=list)
    max_tokens: int | None = None
    type: str = "any_tokens"


@dataclass(kw_only=True)
class GrammarFormat:
    """The texts of a grammar in EBNF."""

    grammar: str
    type: str = "grammar"


@dataclass(kw_only=True)
class RegexFormat:
    """The texts of a regular expression."""

    pattern: str
    type: str = "regex"


@dataclass(kw_only=True)
class SequenceFormat:
    """A concatenation."""

    elements: list[Format]
    type: str = "sequence"


@dataclass(kw_only=True)
class OrFormat:
    """An alternative."""

    elements: list[Format]
    type: str = "or"


@dataclass(kw_only=True)
class OptionalFormat:
    """Zero or one copy."""

    content: Format
    type: str = "optional"


@dataclass(kw_only=True)
class PlusFormat:
    """One or more copies."""

    content: Format
    type: str = "plus"


@dataclass(kw_only=True)
class StarFormat:
    """Zero or more copies."""

    content: Format
    type: str = "star"


@dataclass(kw_only=True)
class RepeatFormat:
    """``min`` to ``max`` copies."""

    min: int
    max: int
    content: Format
    type: str = "repeat"


@dataclass(kw_only=True)
class TagFormat:
    """A content between a beginning and an end."""

    begin: str | Format
    content: Format
    end: str | list[str] | Format
    type: str = "tag"


@dataclass(kw_only=True)
class TriggeredTagsFormat:
    """Free text with tags that begin at triggers."""

    triggers: list[str]
    tags: list[Format]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = field(default_factory=list)
    type: str = "triggered_tags"


@dataclass(kw_only=True)
class TokenTriggeredTagsFormat:
    """Free text with tags that begin at trigger tokens."""

    trigger_tokens: list[int | str]
    tags: list[Format]
    exclude_tokens: list[int | str] = field(default_factory=list)
    at_least_one: bool = False
    stop_after_first: bool = False
    type: str = "token_triggered_tags"


@dataclass(kw_only=True)
class TagsWithSeparatorFormat:
    """Tags with a text between them."""

    tags: list[Format]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False
    type: str = "tags_with_separator"


@dataclass(kw_only=True)
class DispatchFormat:
    """Free text with triggers, each followed by its format."""

    rules: list[Any]
    loop: bool = True
    excludes: list[str] = field(default_factory=list)
    type: str = "dispatch"


@dataclass(kw_only=True)
class TokenDispatchFormat:
    """Free text with trigger tokens, each followed by its format."""

    rules: list[Any]
    loop: bool = True
    exclude_tokens: list[int | str] = field(default_factory=list)
    type: str = "token_dispatch"


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
class StructuralTag:
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
        """Returns the structural tag of an object or its JSON text; inner formats remain dictionaries.

        Raises:
            ValueError: The text is not JSON, or has no ``format``.
        """
        given = json.loads(json_str) if isinstance(json_str, str) else json_str
        if not isinstance(given, dict) or "format" not in given:
            msg = "a structural tag is an object with a format"
            raise ValueError(msg)
        return StructuralTag(format=given["format"])

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """Returns the structural tag as JSON text."""
        return json.dumps(self, default=vars, indent=indent)

    def model_dump(self) -> dict[str, Any]:
        """Returns the structural tag as dictionaries and lists."""
        dumped: dict[str, Any] = json.loads(self.model_dump_json())
        return dumped
