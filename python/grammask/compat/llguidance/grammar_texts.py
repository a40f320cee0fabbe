"""Grammars as strings, as in llguidance's interface: Lark, or JSON with a list of grammars.

``grammar_from`` makes them and :func:`read` reads them. The JSON has llguidance's members ``lark_grammar`` and
``json_schema``, and additionally ``regex``, ``choice``, ``gbnf`` and ``tags``, for which llguidance writes Lark.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from grammask import _grammask, composition
from grammask.errors import GrammarSyntaxError
from grammask.grammar import Grammar
from grammask.integrations.serving import request_grammars
from grammask.llguidance_grammars import schema_options, without_options

if TYPE_CHECKING:
    from grammask._grammask import Limits

__all__ = ["GrammarFormat", "from_json_schema", "from_kind", "grammar_from", "lark_texts", "read"]

GrammarFormat: TypeAlias = Literal[
    "lark", "gbnf", "ebnf", "cfg", "grammar", "json_schema", "json", "regex", "choice", "llguidance"
]


def grammar_from(format: GrammarFormat, text: str) -> str:
    """Returns a grammar for :class:`LLMatcher` from a text in one of the formats.

    Raises:
        ValueError: The format is unknown, or the choices are not a list of strings.
    """
    kind: str = format
    match kind:
        case "lark" | "llguidance":
            return text
        case "gbnf" | "ebnf" | "cfg" | "grammar":
            return from_kind("gbnf", text) if "::=" in text else text
        case "json_schema" | "json":
            return from_json_schema(text)
        case "regex":
            return from_kind("regex", text)
        case "choice":
            return from_kind("choice", json.loads(text))
    msg = f"Unknown grammar type: {format}"
    raise ValueError(msg)


def from_kind(kind: str, value: Any) -> str:
    """Returns the JSON of one grammar of a kind."""
    return json.dumps({"grammars": [{kind: value}]})


def from_json_schema(
    schema: str | dict[str, Any],
    defaults: dict[str, Any] | None = None,
    overrides: dict[str, Any] | None = None,
) -> str:
    """Returns the JSON of a schema with options: overrides, then ``x-guidance`` of the schema, then defaults.

    Raises:
        ValueError: The schema is not JSON, or not a schema.
    """
    loaded = json.loads(schema) if isinstance(schema, str) else dict(schema)
    if isinstance(loaded, dict):
        options = {**(defaults or {}), **loaded.pop("x-guidance", {}), **(overrides or {})}
    elif isinstance(loaded, bool):
        options = {**(defaults or {}), **(overrides or {})}
    else:
        msg = f"a JSON schema is an object or a boolean, not {type(loaded).__name__}"
        raise ValueError(msg)
    return json.dumps({"grammars": [{"json_schema": loaded, "options": options}]})


def read(text: str, limits: Limits | None) -> Grammar:
    """Returns the grammar of a string from ``grammar_from``, or of Lark.

    Raises:
        GrammarError: The grammar is invalid, or cannot be enforced exactly.
        ValueError: The JSON does not have llguidance's form.
    """
    if not text.lstrip().startswith("{"):
        return Grammar.from_llguidance_lark(text, limits=limits)
    document = json.loads(text)
    grammars = document.get("grammars")
    if not isinstance(grammars, list) or not grammars:
        msg = "missing field `grammars`"
        raise ValueError(msg)
    if document.get("max_tokens") is not None:
        msg = "max_tokens of a whole output is not supported by grammask.compat.llguidance"
        raise ValueError(msg)
    return _grammask.within_limits(limits, lambda: _read_one(grammars[0], _named(grammars, limits), limits))


def lark_texts(text: str) -> tuple[str, dict[str, str]]:
    """Returns the text in Lark of a grammar that :func:`read` reads, and the texts that it names.

    The text is empty if the grammar is not in Lark.
    """
    if not text.lstrip().startswith("{"):
        return text, {}
    first, *others = json.loads(text)["grammars"]
    named = {other["name"]: other["lark_grammar"] for other in others if other.get("lark_grammar")}
    return first.get("lark_grammar") or "", named


def _named(grammars: list[dict[str, Any]], limits: Limits | None) -> dict[str, str | Grammar]:
    """Returns the grammars by name; those in Lark as texts, because they may refer to each other by ``@name``."""
    named: dict[str, str | Grammar] = {}
    for grammar in grammars:
        name = grammar.get("name")
        if name is None:
            continue
        if name in named:
            msg = f"duplicate grammar name: @{name}"
            raise ValueError(msg)
        lark = grammar.get("lark_grammar")
        named[name] = lark if isinstance(lark, str) else _read_one(grammar, {}, limits)
    return named


def _read_one(grammar: dict[str, Any], named: dict[str, str | Grammar], limits: Limits | None) -> Grammar:
    match {
        kind: value
        for kind, value in grammar.items()
        if value is not None and kind not in ("name", "options")
    }:
        case {"lark_grammar": lark}:
            return Grammar.from_llguidance_lark(lark, grammars=named, limits=limits)
        case {"json_schema": schema}:
            schema, own = without_options(schema)
            options = schema_options({**(grammar.get("options") or {}), **own})
            return Grammar.from_json_schema(schema, limits=limits, **options)
        case {"regex": pattern}:
            try:
                return Grammar.from_regex(pattern, syntax="rust", limits=limits)
            except GrammarSyntaxError as error:
                msg = f"invalid regex: {error}"
                raise ValueError(msg) from error
        case {"choice": choices}:
            return request_grammars.choice(choices)
        case {"gbnf": gbnf}:
            return request_grammars.grammar_text(gbnf)
        case {"tags": tags}:
            return _text_with_tags(tags, limits)
    msg = "a grammar has one of lark_grammar and json_schema"
    raise ValueError(msg)


def _text_with_tags(tags: list[dict[str, Any]], limits: Limits | None) -> Grammar:
    """Returns the grammar of free text with tags. Where a trigger occurs in the text, a tag follows."""
    texts = list(dict.fromkeys(tag["trigger"] for tag in tags if not tag["is_token"]))
    parts = []
    for tag in tags:
        trigger = tag["trigger"]
        if tag["is_token"]:
            begin = [composition.free_text(stops=texts), composition.token(trigger)]
        else:
            begin = [composition.free_text(before=trigger, stops=texts), composition.literal(trigger)]
        content = _read_one(tag["content"], {}, limits).as_part()
        rest, end = composition.literal(tag["rest"]), composition.literal(tag["end"])
        parts.append(composition.sequence([*begin, rest, content, end]))
    repeated = composition.repeat(composition.choice(parts), 0, None)
    return Grammar.of_part(composition.sequence([repeated, composition.free_text(stops=texts)]))
