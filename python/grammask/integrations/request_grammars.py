"""What the requests of servers ask for, as grammars: schemas, expressions, choices, texts of grammar languages, tags.

Servers hand over a kind and a text. The languages of grammars are told apart by their start symbols: KBNF begins with
``start``, GBNF and xgrammar's EBNF with ``root``, both with ``::=``; what has no ``::=`` is llguidance's Lark.
"""

from __future__ import annotations

import json
import re
from typing import Any

from grammask.errors import Diagnostic, GrammarError, GrammarSyntaxError, UnsupportedGrammar
from grammask.grammar import Grammar

__all__ = [
    "any_json",
    "choice",
    "closed_objects",
    "grammar_text",
    "json_schema",
    "structural_tag",
]

_RULE = re.compile(r"^\s*([\w.-]+)\s*::=", re.MULTILINE)

_MAPS_OF_SCHEMAS = (
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"),
)
_SCHEMAS = (
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "contains", "additionalItems"),
    *("unevaluatedItems", "not", "if", "then", "else", "contentSchema", "items", "prefixItems"),
    *("allOf", "anyOf", "oneOf"),
)


def json_schema(
    schema: str | dict[str, Any],
    *,
    whitespace: bool = True,
    max_whitespace: int | None = None,
    additional_properties: bool = True,
) -> Grammar:
    """The grammar of the JSON texts that are valid under a schema.

    Args:
        schema: The schema, or its JSON text.
        whitespace: Whether white space may stand between the parts of the JSON.
        max_whitespace: How much of it in a row; grammask's own bound if None.
        additional_properties: False closes every object that lists properties and does not say whether there
            may be others.

    Raises:
        GrammarError: As :meth:`grammask.Grammar.from_json_schema`.
    """
    if not additional_properties:
        schema = closed_objects(schema)
    if not whitespace:
        return Grammar.from_json_schema(schema, whitespace="compact")
    if max_whitespace is None:
        return Grammar.from_json_schema(schema)
    return Grammar.from_json_schema(schema, max_whitespace=max_whitespace)


def any_json(*, whitespace: bool = True, max_whitespace: int | None = None) -> Grammar:
    """The grammar of all JSON texts."""
    return json_schema({}, whitespace=whitespace, max_whitespace=max_whitespace)


def closed_objects(schema: Any) -> Any:
    """A copy of a schema in which objects that list properties have no others, unless the schema says something of it.

    A text that is no JSON is returned as it is, for the reader of schemas to refuse.
    """
    try:
        # A copy in any case, through text: as deep as the parser goes, which refuses what is deeper.
        copy = json.loads(schema if isinstance(schema, str | bytes) else json.dumps(schema))
    except (ValueError, RecursionError):
        return schema
    open_schemas = [copy]
    while open_schemas:
        schema = open_schemas.pop()
        if isinstance(schema, list):
            open_schemas.extend(schema)
        if not isinstance(schema, dict):
            continue
        for keyword in _MAPS_OF_SCHEMAS:
            schemas = schema.get(keyword)
            if isinstance(schemas, dict):
                open_schemas.extend(schemas.values())
        open_schemas.extend(schema[keyword] for keyword in _SCHEMAS if keyword in schema)
        if (
            "additionalProperties" not in schema
            and "unevaluatedProperties" not in schema
            and any(isinstance(schema.get(keyword), dict) for keyword in ("properties", "patternProperties"))
        ):
            schema["additionalProperties"] = False
    return copy


def choice(texts: str | list[str]) -> Grammar:
    """The grammar of some texts, given as a list or as the JSON text of one.

    Raises:
        GrammarSyntaxError: It is no list of texts.
        GrammarSemanticError: There are no choices.
    """
    if isinstance(texts, str):
        try:
            texts = json.loads(texts)
        except ValueError as error:
            raise _error(GrammarSyntaxError, "invalid-choice", f"the choices are no JSON: {error}") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _error(GrammarSyntaxError, "invalid-choice", "the choices are no list of strings")
    return Grammar.from_choices(texts)


def grammar_text(text: str) -> Grammar:
    """The grammar of a text in KBNF, GBNF, xgrammar's EBNF or llguidance's Lark, whichever it is.

    Raises:
        UnsupportedGrammar: It has neither ``root`` nor ``start``.
        GrammarError: As the method of :class:`grammask.Grammar` that reads the language.
    """
    names = set(_RULE.findall(text))
    if not names:
        return Grammar.from_llguidance_lark(text)
    if "start" in names and ("root" not in names or text.rstrip().endswith(";")):
        return Grammar.from_kbnf(text)
    if "root" not in names:
        message = "the grammar has no rule `root` (GBNF) and no rule `start` (KBNF)"
        raise _error(UnsupportedGrammar, "no-start-rule", message)
    try:
        return Grammar.from_gbnf(text)
    except GrammarError as refused:
        try:
            return Grammar.from_xgrammar_ebnf(text)
        except GrammarError:
            raise refused from None


def structural_tag(tag: str | dict[str, Any]) -> Grammar:
    """The grammar of a structural tag in xgrammar's JSON, or in the older form with ``structures`` and ``triggers``.

    Raises:
        GrammarError: As :meth:`grammask.Grammar.from_structural_tag`.
    """
    return Grammar.from_structural_tag(tag)


def _error(kind: type[GrammarError], code: str, message: str) -> GrammarError:
    rendered = f"error[{code}]: {message}"
    return kind(rendered, [Diagnostic(code, "error", message, None, None, None, [], None, rendered)])
