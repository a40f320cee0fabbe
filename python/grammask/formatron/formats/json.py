"""The extractor for JSON of a schema or a type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.formatron.extractor import NonterminalExtractor
from grammask.formatron.schemas.schema import Schema, json_schema_of
from grammask.formatron.schemas.substrings import with_substrings
from grammask.grammar import Grammar
from grammask.templates import embedded

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.templates.parts import Part

__all__ = ["JsonExtractor"]


class JsonExtractor(NonterminalExtractor):
    """JSON that is valid for a schema or a type; ``to_object`` makes its value."""

    def __init__(
        self,
        nonterminal: str,
        capture_name: str | None,
        schema: Any,
        to_object: Callable[[str], Any] | None = None,
    ) -> None:
        super().__init__(nonterminal, capture_name)
        self._schema = schema
        self._to_object = to_object or loader_of(schema)

    def extract(self, input_str: str) -> tuple[str, Any] | None:
        """Reads the JSON value at the beginning of a text."""
        begin = len(input_str) - len(input_str.lstrip(" \t\n\r"))
        try:
            _, end = json.JSONDecoder().raw_decode(input_str, begin)
            return input_str[end:], self._to_object(input_str[begin:end])
        except ValueError:
            return None

    def value_of(self, text: str) -> Any:
        """Makes an object from the JSON text."""
        return self._to_object(text)

    @property
    def kbnf_definition(self) -> str:
        """Not available: a schema has no rule in KBNF.

        Raises:
            NotImplementedError: Always. Use the extractor as a part.
        """
        msg = "JSON for a schema is a grammar of its own here, not a text in KBNF"
        raise NotImplementedError(msg)

    def part(self) -> Part:
        """Returns the part of a template."""
        schema, contents = with_substrings(json_schema_of(self._schema))
        grammar = Grammar.from_json_schema(
            schema, whitespace="flexible", numbers="any", unique_names=False, content_grammars=contents
        )
        return embedded(grammar)


def loader_of(schema: Any) -> Callable[[str], Any]:
    """Returns the function from JSON to the object for a schema or a type."""
    if isinstance(schema, type) and issubclass(schema, Schema):
        return schema.from_json
    return json.loads
