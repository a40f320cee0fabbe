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
        grammar: The JSON schema of the content, as an object or as text; or its grammar in Lark.
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
            ValueError: A grammar is not JSON, or ``text_regex`` is not the default.
            AssertionError: There are no tags.
        """
        if not tags:
            msg = "tags must not be empty"
            raise AssertionError(msg)
        if text_regex != ANY_TEXT:
            msg = f"grammask.compat.llguidance does not support text_regex={text_regex!r}"
            raise ValueError(msg)
        return from_kind("tags", [_written(tag, assume_special=assume_special) for tag in tags])


def _written(tag: StructTag, *, assume_special: bool) -> dict[str, Any]:
    """Returns a tag as JSON, which :mod:`grammask.compat.llguidance.grammar_texts` reads."""
    grammar = tag.grammar
    is_lark = isinstance(grammar, str) and not grammar.lstrip().startswith("{")
    schema = json.loads(grammar) if isinstance(grammar, str) and not is_lark else grammar
    return {
        "trigger": tag.trigger,
        "is_token": assume_special and tag.trigger.startswith("<") and tag.trigger.endswith(">"),
        "rest": tag.begin[len(tag.trigger) :],
        "content": {"lark_grammar": grammar} if is_lark else {"json_schema": schema},
        "end": tag.end,
    }
