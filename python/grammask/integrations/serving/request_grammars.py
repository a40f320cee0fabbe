"""The constraints of requests to servers as grammars: schemas, expressions, choices, grammar texts, structural tags.

A request has a kind and a text. The language of a grammar text is recognised by its start symbol: ``start`` for KBNF,
``root`` for GBNF and xgrammar's EBNF, all with ``::=``; a text without ``::=`` is llguidance's Lark.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from grammask.diagnostics import error_diagnostic
from grammask.errors import GrammarError, GrammarSyntaxError, UnsupportedGrammar
from grammask.grammar import Grammar
from grammask.grammar_texts import without_byte_order_mark
from grammask.readers.regex import REGEX_SYNTAXES
from grammask.schemas.embedded_options import KEYWORD, embedded_options
from grammask.schemas.keywords import places
from grammask.schemas.options import REGEX

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from grammask._grammask import Limits
    from grammask.schemas.options import SchemaKeywords

__all__ = [
    "choice",
    "closed_objects",
    "grammar_text",
    "json_schema",
    "regex",
    "structural_tag",
    "with_whitespace_pattern",
]

_RULE = re.compile(r"^\s*([\w.-]+)\s*::=", re.MULTILINE)


def json_schema(
    schema: str | dict[str, Any],
    *,
    additional_properties: bool = True,
    **options: Unpack[SchemaKeywords],
) -> Grammar:
    """Returns the grammar of the JSON texts that are valid under a schema.

    Args:
        schema: The schema, or its JSON text. Options that it carries (``x-grammask``) have precedence.
        additional_properties: False closes every object schema that declares properties and has no keyword about
            others.
        options: As of :meth:`grammask.Grammar.from_json_schema`.

    Raises:
        GrammarError: From :meth:`grammask.Grammar.from_json_schema`.
    """
    if not additional_properties:
        schema = closed_objects(schema)
    return Grammar.from_json_schema(schema, **options)


REGEX_SYNTAX = "GRAMMASK_REGEX_SYNTAX"
"""The environment variable that selects the syntax of the regular expressions of requests."""


def regex(pattern: str, limits: Limits | None = None) -> Grammar:
    """Returns the grammar of the texts that a regular expression matches as a whole.

    Clients write expressions for Python's ``re``; the environment variable ``GRAMMASK_REGEX_SYNTAX`` selects another
    syntax, ``ecma`` or ``rust``.

    Args:
        pattern: The expression.
        limits: The limits of the grammar.

    Raises:
        GrammarError: From :meth:`grammask.Grammar.from_regex`.
        ValueError: The variable has another value.
    """
    syntax: Any = os.environ.get(REGEX_SYNTAX) or "python"
    if syntax not in REGEX_SYNTAXES:
        msg = f"{REGEX_SYNTAX}={syntax}: the values are {', '.join(REGEX_SYNTAXES)}"
        raise ValueError(msg)
    return Grammar.from_regex(pattern, syntax=syntax, limits=limits)


def with_whitespace_pattern(schema: Any, pattern: str) -> str:
    """Returns the JSON text of a schema that carries a regular expression for its white space.

    Servers whose requests reach the compiler as one text carry the expression in the schema, as clients carry options.

    Args:
        schema: The schema, or its JSON text.
        pattern: The expression.

    Raises:
        ValueError: The text is not the JSON of a schema, or is nested too deeply; or options that it carries are wrong.
    """
    try:
        read = json.loads(schema) if isinstance(schema, str) else schema
        if isinstance(read, bool):
            read = {} if read else {"not": {}}
        if not isinstance(read, dict):
            msg = "a schema is an object, true or false"
            raise ValueError(msg)
        carried = {**embedded_options(read), "whitespace": REGEX + pattern}
        for name in ("max_whitespace", "indent", "separators"):
            carried.pop(name, None)
        return json.dumps({**read, KEYWORD: carried})
    except RecursionError:
        msg = "the schema is nested too deeply for a pattern of white space"
        raise ValueError(msg) from None


def closed_objects(schema: Any) -> Any:
    """Returns a copy of a schema in which objects that declare properties admit no others, unless a keyword says so.

    A text that is not JSON is returned unchanged; the reader of schemas reports the error.
    """
    try:
        # Copying through text bounds the nesting: a deeper schema raises here, and its reader refuses it.
        copy = json.loads(schema if isinstance(schema, str | bytes) else json.dumps(schema))
    except (ValueError, RecursionError):
        return schema
    for _, schema in places(copy):
        if (
            "additionalProperties" not in schema
            and "unevaluatedProperties" not in schema
            and any(isinstance(schema.get(keyword), dict) for keyword in ("properties", "patternProperties"))
        ):
            schema["additionalProperties"] = False
    return copy


def choice(texts: str | list[str]) -> Grammar:
    """Returns the grammar of a list of texts, or of the JSON text of such a list.

    Raises:
        GrammarSyntaxError: The argument is not a list of texts.
        GrammarSemanticError: The list is empty.
    """
    if isinstance(texts, str):
        try:
            texts = json.loads(texts)
        except ValueError as error:
            raise _error(GrammarSyntaxError, "invalid-choice", f"the choices are no JSON: {error}") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _error(GrammarSyntaxError, "invalid-choice", "the choices are no list of strings")
    return Grammar.from_choices(texts)


def grammar_text(text: str, limits: Limits | None = None) -> Grammar:
    """Returns the grammar of a text in KBNF, GBNF, xgrammar's EBNF or llguidance's Lark.

    Args:
        text: The text.
        limits: The limits of the grammar.

    Raises:
        UnsupportedGrammar: The text has rules, but neither ``root`` nor ``start``.
        GrammarError: From the method of :class:`grammask.Grammar` that reads the language.
    """
    text = without_byte_order_mark(text)
    names = set(_RULE.findall(text))
    if not names:
        return Grammar.from_llguidance_lark(text, limits=limits)
    if "start" in names and ("root" not in names or text.rstrip().endswith(";")):
        return Grammar.from_kbnf(text, limits=limits)
    if "root" not in names:
        message = "the grammar has no rule `root` (GBNF) and no rule `start` (KBNF)"
        raise _error(UnsupportedGrammar, "no-start-rule", message)
    try:
        return Grammar.from_gbnf(text, limits=limits)
    except GrammarError as gbnf_error:
        try:
            return Grammar.from_xgrammar_ebnf(text, limits=limits)
        except GrammarError:
            raise gbnf_error from None


def structural_tag(tag: str | dict[str, Any]) -> Grammar:
    """Returns the grammar of a structural tag in xgrammar's JSON, or in the older form with ``structures``.

    The tags of :func:`grammask.integrations.serving.call_parsers.calls_tag` are read, too.

    Raises:
        GrammarError: From :meth:`grammask.Grammar.from_structural_tag` and :meth:`grammask.Grammar.from_tools`.
        ValueError: A tag of calls has an unknown field, style or tool.
    """
    if isinstance(tag, dict) or '"tool_calls"' in tag:
        read = json.loads(tag) if isinstance(tag, str) else tag
        form = read.get("format") if isinstance(read, dict) else None
        if isinstance(form, dict) and form.get("type") == "tool_calls":
            if form.keys() - {"type", "tools", "style", "tool_choice", "parallel", "reasoning"}:
                msg = f"the format tool_calls has an unknown field: {', '.join(sorted(form))}"
                raise ValueError(msg)
            return Grammar.from_tools(
                form["tools"],
                style=form["style"],
                tool_choice=form.get("tool_choice"),
                parallel=form.get("parallel", True),
                reasoning=form.get("reasoning"),
            )
    return Grammar.from_structural_tag(tag)


def _error(kind: type[GrammarError], code: str, message: str) -> GrammarError:
    diagnostic = error_diagnostic(code, message)
    return kind(diagnostic.rendered, [diagnostic])
