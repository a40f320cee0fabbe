"""The sources of grammars of JSON Schemas, apart from the reader: a saved grammar needs only its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.readers.content import ContentParts
    from grammask.sources import EngineGrammar

__all__ = ["JsonSchemaSource", "StringSchemaSource"]


class _SchemaSource(FrozenValue):
    """A JSON Schema.

    Attributes:
        text: The schema as JSON.
        options: The options of the engine, with the documents that the schema refers to.
        content: The grammars of the contents of strings.
        limits: Limits of reading.
    """

    text: str
    options: _grammask.SchemaOptions
    content: ContentParts = ()
    limits: Limits | None = None

    def __repr__(self) -> str:
        options = self.options.__getnewargs_ex__()[1]
        return f"{type(self).__name__}({self.text!r}, {options}, {self.content})"

    def _content_grammars(self) -> list[tuple[str, EngineGrammar]]:
        return [(name, part.build()) for name, part in self.content]


class JsonSchemaSource(_SchemaSource):
    """A JSON Schema whose values are written as JSON."""

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_json_schema`.
        """
        content = self._content_grammars()
        return _grammask.json_schema_grammar(self.text, self.options, content, self.limits)


class StringSchemaSource(_SchemaSource):
    """A JSON Schema whose strings are written as they are, without quotes and escapes."""

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_string_schema`.
        """
        content = self._content_grammars()
        return _grammask.plain_text_grammar(self.text, self.options, content, self.limits)
