"""llguidance's structural tags: calls of functions inside free text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from grammask.compat.llguidance.grammar_texts import from_kind

__all__ = ["StructTag"]

ANY_TEXT = r"(.|\n)*"


@dataclass(kw_only=True)
class StructTag:
    """A tag inside free text.

    Attributes:
        trigger: The text, or the special token, after which a tag must follow.
        begin: The beginning of the tag, which begins with the trigger.
        grammar: The JSON schema of the content, as an object or as text.
        end: The end of the tag.
    """

    trigger: str
    begin: str
    grammar: str | dict[str, Any]
    end: str

    def __post_init__(self) -> None:
        if not self.trigger or not self.begin.startswith(self.trigger):
            msg = f"the tag {self.begin!r} must begin with its trigger {self.trigger!r}, which must not be empty"
            raise AssertionError(msg)

    @staticmethod
    def to_grammar(tags: list[StructTag], *, assume_special: bool = True, text_regex: str = ANY_TEXT) -> str:
        """Returns a grammar for :class:`LLMatcher`: free text with tags.

        Args:
            tags: At least one.
            assume_special: Whether triggers like ``<name>`` are special tokens of the model.
            text_regex: The form of free text; only the default, any text, is supported.

        Raises:
            ValueError: Some triggers are special tokens and others are not, a grammar is not a schema, or
                ``text_regex`` is not the default.
            AssertionError: There are no tags.
        """
        if not tags:
            msg = "tags must not be empty"
            raise AssertionError(msg)
        if text_regex != ANY_TEXT:
            msg = f"grammask.compat.llguidance does not support text_regex={text_regex!r}"
            raise ValueError(msg)
        tokens = [
            assume_special and tag.trigger.startswith("<") and tag.trigger.endswith(">") for tag in tags
        ]
        if any(tokens) and not all(tokens):
            msg = "tags whose triggers are special tokens cannot be mixed with others"
            raise ValueError(msg)
        if any(tokens):
            return from_kind("structural_tag", _after_tokens(tags))
        structures = [{"begin": tag.begin, "schema": _schema(tag), "end": tag.end} for tag in tags]
        triggers = list(dict.fromkeys(tag.trigger for tag in tags))
        return from_kind("structural_tag", {"structures": structures, "triggers": triggers})


def _after_tokens(tags: list[StructTag]) -> dict[str, Any]:
    """Returns the tags in xgrammar's format for triggers that are tokens."""
    written = []
    for tag in tags:
        content: dict[str, Any] = {"type": "json_schema", "json_schema": _schema(tag)}
        rest = tag.begin[len(tag.trigger) :]
        if rest:
            content = {"type": "sequence", "elements": [{"type": "const_string", "value": rest}, content]}
        begin = {"type": "token", "token": tag.trigger}
        written.append({"type": "tag", "begin": begin, "content": content, "end": tag.end})
    triggers = list(dict.fromkeys(tag.trigger for tag in tags))
    return {
        "type": "structural_tag",
        "format": {"type": "token_triggered_tags", "trigger_tokens": triggers, "tags": written},
    }


def _schema(tag: StructTag) -> Any:
    if isinstance(tag.grammar, dict):
        return tag.grammar
    if not tag.grammar.lstrip().startswith("{"):
        msg = "grammask.compat.llguidance supports JSON schemas in tags, and no Lark"
        raise ValueError(msg)
    return json.loads(tag.grammar)
