"""The wording of xgrammar's errors, which its callers match.

A message begins with this wording, and ends with the errors as grammask shows them. The wording is derived from the
code of a diagnostic and the input at its place. Where there is none, the message of grammask stands for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grammask.errors import Diagnostic, GrammarError

__all__ = ["ebnf_error", "expression_error", "lark_error", "schema_error", "structural_tag_error"]


def structural_tag_error(error: GrammarError, tag: Any) -> str:
    """Returns the message about a structural tag, of which callers know the beginning."""
    return _message("Invalid structural tag error: ", error, lambda entry: _of_format(entry, tag))


def schema_error(error: GrammarError, schema: Any) -> str:
    """Returns the message about a JSON schema."""
    return _message("", error, lambda entry: _of_schema(entry, schema))


def expression_error(error: GrammarError, pattern: str) -> str:
    """Returns the message about a regular expression."""
    return _message("", error, lambda entry: _of_expression(entry, pattern))


def lark_error(error: GrammarError, text: str) -> str:
    """Returns the message about a Lark grammar; it has the place in its first line."""

    def wording(entry: Diagnostic) -> str | None:
        if entry.code == "unknown-token":
            # Tokens are looked up on compiling, which does not know the text.
            name = entry.message.split("`")[1]
            before = text.partition(name)[0]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            return f"Lark error at line {line}, column {column}: unknown special token {name}"
        if entry.location is None:
            return None
        line, column = entry.location
        return f"Lark error at line {line}, column {column}: {_of_lark(entry, text) or entry.message}"

    return _message("", error, wording)


def ebnf_error(error: GrammarError, text: str) -> str:
    """Returns the message about a grammar in EBNF; it has the place in its first line."""
    return _message("", error, lambda entry: _of_ebnf(entry, text))


def _message(start: str, error: GrammarError, wording: Callable[[Diagnostic], str | None]) -> str:
    said = dict.fromkeys(
        words for entry in error.diagnostics if entry.severity == "error" and (words := wording(entry))
    )
    return start + "\n".join([*said, str(error)])


# Structural tags ------------------------------------------------------------------------------------------------------

_FORMATS = {
    "const_string": "ConstString format",
    "json_schema": "JSON schema format",
    "or": "Or format",
    "sequence": "Sequence format",
    "tag": "Tag format",
    "tags_with_separator": "Tags with separator format",
    "triggered_tags": "Triggered tags format",
}


def _of_format(entry: Diagnostic, tag: Any) -> str | None:
    pointer = entry.pointer or "#"
    if (schema_pointer := re.fullmatch(r"(#.*?/json_schema)(/.*)?", pointer)) is not None:
        found = _of_schema(entry, _value_at(tag, schema_pointer[1]))
        if found is not None:
            return found
    parent_pointer, _, name = pointer.rpartition("/")
    parent = _value_at(tag, parent_pointer)
    if entry.code == "invalid-structural-tag" and name == "excludes":
        return "excludes must be an array of non-empty strings"
    if entry.code == "unsupported-grammar" and name == "excludes":
        return "excludes must not start or end with formatting whitespace"
    if entry.code == "unsupported-grammar" and name == "style":
        styles = (
            "json",
            "qwen_xml",
            "minimax_xml",
            "minimax_m3_xml",
            "deepseek_xml",
            "glm_xml",
            "cohere_xml",
        )
        return f'style must be {", ".join(map(_quoted, (*styles, "kimi_k3_xml")))}, or "deepseek_v4_1_xml"'
    if entry.code != "invalid-structural-tag":
        return None
    if pointer == "#" and "format" not in tag:
        return "Structural tag must have a format field"
    if pointer == "#/type":
        return 'Structural tag\'s type must be a string "structural_tag"'
    here = _value_at(tag, pointer)
    if isinstance(here, dict) and here.get("type") == "repeat":
        return _of_repetition(here)
    if not isinstance(parent, dict):
        return None
    return _of_field(parent, name)


def _of_field(parent: Mapping[str, Any], name: str) -> str | None:
    """Returns the wording for a field of a format, or of the structural tag, that is invalid."""
    value = parent.get(name)
    kind = _FORMATS.get(str(parent.get("type")), "Format")
    match name:
        case "value":
            return f"{kind} must have a value field with a string"
        case "json_schema":
            return f"{kind} must have a json_schema field with a object or boolean value"
        case "elements" | "tags" if not isinstance(value, list):
            return f"{kind} must have {'an' if name == 'elements' else 'a'} {name} field with an array"
        case "elements":
            return f"{kind} must have at least one element"
        case "tags":
            return f"{kind}'s tags must be non-empty"
        case "triggers" if not isinstance(value, list):
            return f"{kind} must have a triggers field with an array"
        case "triggers":
            return f"{kind}'s triggers must be non-empty{' strings' if value else ''}"
        case "separator":
            return f"{kind}'s separator field must be a string"
        case "begin" if parent.get("type") == "tag":
            return "Tag format's begin field must be a string, a string begin or a token format begin"
        case "end" if "end" not in parent:
            return f"{kind} must have an end field"
        case "end" if value == []:
            return f"{kind}'s end array cannot be empty"
        case "end":
            return f"{kind}'s end field must be a string or array of strings"
        case "at_least_one" | "stop_after_first":
            return f"{name} must be a boolean"
        case "max_tokens" | "max_chars":
            return f"{name} must be a non-negative 32-bit integer"
        case "minItems" if isinstance(value, int) and value >= 1 << 31:
            return "minItems and minContains must not exceed 2147483647"
        case "token":
            return f"{name} must be an integer or a string"
        case "content" if "content" not in parent:
            return f"{kind} must have a content field"
        case "content" | "format":
            return "Format must be an object"
        case "type" if value is None:
            return "Invalid format: it has no type"
        case "type" if not isinstance(value, str):
            return "Format's type must be a string"
        case "type":
            return f"Format type not recognized: {value}"
    return None


def _of_repetition(node: Mapping[str, Any]) -> str | None:
    least, most = node.get("min"), node.get("max")
    if not isinstance(least, int) or not isinstance(most, int):
        return None
    if least < 0:
        return "Repeat min must be >= 0"
    if most < -1:
        return "Repeat max must be -1 (unbounded) or >= 0"
    return "Repeat min must be <= max" if -1 < most < least else None


def _quoted(text: str) -> str:
    return f'"{text}"'


# Schemas --------------------------------------------------------------------------------------------------------------


def _of_schema(entry: Diagnostic, schema: Any) -> str | None:
    pointer = entry.pointer or "#"
    if entry.code == "unsatisfiable-schema":
        node = _value_at(schema, pointer)
        return _of_clash(node) if isinstance(node, dict) else None
    if entry.code != "invalid-schema":
        return None
    value = _value_at(schema, pointer)
    names = pointer.split("/")
    if len(names) > 2 and names[-2] == "prefixItems":
        return "prefixItems must be an array of objects or booleans"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match names[-1]:
        case "items" | "unevaluatedItems" | "additionalItems" | "additionalProperties" as name:
            return f"{name} must be a boolean or an object"
        case "prefixItems":
            return "prefixItems must be an array of objects or booleans"
        case "properties" | "patternProperties" | "propertyNames" as name:
            return f"{name} must be an object"
        case "required":
            return "required must be an array"
        case "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" as name:
            return f"{name} must be {'a non-negative' if is_number else 'an'} integer"
        case "multipleOf" if is_number:
            return "multipleOf must be greater than 0"
        case "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return "Value must be a number"
    return None


def _of_clash(node: Mapping[str, Any]) -> str | None:
    """Returns the wording for a schema without values."""
    least, most = node.get("minItems"), node.get("maxItems")
    prefix = node.get("prefixItems")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        return f"minItems is greater than maxItems: {least} > {most}"
    is_closed = node.get("items") is False or node.get("unevaluatedItems") is False
    if isinstance(least, int) and isinstance(prefix, list) and is_closed and least > len(prefix):
        return (
            "minItems is greater than the number of prefixItems, but additional items are not allowed: "
            f"{least} > {len(prefix)}"
        )
    fewest, greatest = node.get("minProperties"), node.get("maxProperties")
    required, properties = node.get("required"), node.get("properties", {})
    if isinstance(fewest, int) and isinstance(greatest, int) and fewest > greatest:
        return f"minProperties is greater than maxProperties: {fewest} > {greatest}"
    if isinstance(greatest, int) and isinstance(required, list) and greatest < len(required):
        return f"maxProperties is less than the number of required properties: {greatest} < {len(required)}"
    is_closed = node.get("additionalProperties") is False or node.get("unevaluatedProperties") is False
    if isinstance(fewest, int) and is_closed and isinstance(properties, dict) and fewest > len(properties):
        return (
            "minProperties is greater than the number of properties, but additional properties aren't allowed: "
            f"{fewest} > {len(properties)}"
        )
    if "multipleOf" in node:
        return "range contains no multipleOf value"
    return None


def _value_at(document: Any, pointer: str) -> Any:
    """Returns the value at a JSON pointer, or None."""
    for name in pointer.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


# Regular expressions --------------------------------------------------------------------------------------------------

_HEXADECIMAL = "[0-9a-fA-F]"
_CONSTRUCTS = (
    (r"\\[1-9]|\\k<", "Backreference is not supported"),
    (r"\(\?<[=!]", "Lookbehind assertion is not supported"),
    (r"\(\?[=!]", "Lookahead assertion is not supported"),
    (r"\\[bB]", "Word boundary assertion is not supported"),
    (r"\\[pP]", "Unicode property escape is not supported"),
    (r"\[\^?\]", "Empty character class"),
    (rf"\\x(?!{_HEXADECIMAL}{{2}})", r"\x must be followed by two hexadecimal digits"),
    (rf"\\u(?!\{{|{_HEXADECIMAL}{{4}})", r"\u must be followed by four hexadecimal digits"),
    (rf"\\u\{{{_HEXADECIMAL}*\}}", "the escape is beyond the Unicode range"),
)
"""Constructs that no expression has here, and their wording."""
_ELEMENTS = re.compile(rf"\\(?:u(?:\{{{_HEXADECIMAL}*\}})?|k<|.)|\(\?<?[=!]|\[\^?\]|.", re.DOTALL)


def _of_expression(entry: Diagnostic, pattern: str) -> str | None:
    if entry.code not in ("invalid-regex", "unsupported-regex", "empty-language"):
        return None
    for element in _ELEMENTS.finditer(pattern):
        for construct, wording in _CONSTRUCTS:
            if re.compile(construct).match(pattern, element.start()):
                return f"failed to compile regular expression: {wording}"
    opened = closed = 0
    for element in _ELEMENTS.finditer(pattern):
        opened += element[0].startswith("(")
        closed += element[0] == ")"
        if closed > opened:
            return "failed to compile regular expression: Unmatched ')'"
    if opened > closed:
        return "failed to compile regular expression: The parenthesis is not closed."
    return f"failed to compile regular expression: {entry.message}"


# Lark -----------------------------------------------------------------------------------------------------------------


def _of_lark(entry: Diagnostic, text: str) -> str | None:
    found = entry.found or ""
    before = "" if entry.span is None else text[: entry.span[0]]
    match entry.code:
        case "missing-start":
            return f"{'failed to compile nested Lark grammar: ' if '%lark' in before else ''}no start rule"
        case "undefined-symbol" if found.startswith("@"):
            return f"unknown named grammar '{found}'"
        case "undefined-symbol":
            return f"unknown name '{found}'"
        case "duplicate-rule":
            return f"duplicate rule or terminal '{found}'"
        case "recursive-terminal":
            return f"circular reference in terminal '{found}'"
        case "rule-in-terminal" if "`max_tokens`, and" in entry.message and "`lazy`" in entry.message:
            return "max_tokens is not supported on rules consumed by dynamic dispatch"
        case "rule-in-terminal":
            owner = re.findall(r"^\s*([?!]?\w+)[^\n:]*:", before, re.MULTILINE)[-1:]
            is_terminal = bool(owner) and owner[0].isupper()
            return f"terminal {repr(owner[0]) + ' ' if is_terminal else ''}cannot reference rule '{found}'"
        case "invalid-schema" | "unsatisfiable-schema":
            return f"failed to compile inline JSON schema: {entry.message}"
    if found.startswith("/") and (said := _of_expression(entry, found[1:].rpartition("/")[0])):
        return said
    if found.startswith("<[^") and "tokens cannot be used in terminals" in entry.message:
        return "lazy special-token trigger cannot be negated"
    if found.startswith("<") and entry.message.startswith("whether a lazy lexeme"):
        return "cannot mix string and token triggers"
    if found in ("-", "!"):
        return f"unexpected '{found}' character"
    # Names are in single quotes in xgrammar's messages.
    return entry.message.replace("`", "'")


# EBNF -----------------------------------------------------------------------------------------------------------------


_REGEX = re.compile(r'\bRegex\(\s*"((?:[^"\\]|\\.)*)"')
_CALL = re.compile(r"\b(TagDispatch|TokenTagDispatch|Regex|Substring)\(")


def _of_ebnf(entry: Diagnostic, text: str) -> str | None:
    """Returns the wording for an error in EBNF, with the stage and the place."""
    if entry.location is None or entry.span is None:
        return None
    line, column = entry.location
    source = text.encode()
    found = source[slice(*entry.span)].decode(errors="replace")
    end_of_line = len(text.split("\n")[line - 1]) + 1
    stage = "parser"
    said = entry.message
    match entry.code:
        case "unterminated-string":
            stage, column, said = "lexer", end_of_line, 'Expect " in string literal'
        case "unclosed-bracket" if found == "[":
            stage, column, said = "lexer", end_of_line, "Character class should not contain newline"
        case "invalid-escape":
            stage, said = "lexer", "Invalid escape sequence"
        case "undefined-symbol":
            said = f'Rule "{found}" is not defined'
        case "duplicate-rule":
            said = f'Rule "{found}" is defined multiple times'
        case "missing-start":
            name = entry.message.split("`")[1]
            said = f'The root rule with name "{name}" is not found'
        case "unexpected-input" if found == "::=":
            stage, said = "lexer", "Assign should not be the first token"
        case "unexpected-input" if found.startswith(("{", "*", "+", "?")):
            said = f"Expect element, but got {found[0]}"
        case "unexpected-input" if re.fullmatch(r"\w-\w", found):
            said = "Invalid character class: lower bound is larger than upper bound"
        case "invalid-regex" | "unsupported-regex" | "empty-language":
            argument = _REGEX.search(source[entry.span[0] :].decode())
            pattern = re.sub(r"\\(.)", r"\1", argument[1]) if argument else ""
            said = _of_expression(entry, pattern) or said
        case "unexpected-input" if found.startswith("temperature="):
            said = "temperature must be a finite non-negative number"
        case "unexpected-input" if entry.expected == ["`,`", "`)`"]:
            said = "Expect , or ) in tuple"
        case "unexpected-input":
            calls = list(_CALL.finditer(source[: entry.span[1] + 1].decode(errors="replace")))
            if calls:
                arguments = source[calls[-1].end() :].decode(errors="replace")
                column -= entry.span[0] - len(calls[-1].string[: calls[-1].end() - 1].encode())
                said = _of_call(calls[-1][1], found, arguments) or said
    return f"EBNF {stage} error at line {line}, column {column}: {said}"


def _excluded_beginning(arguments: str) -> str | None:
    """Returns an exclusion of a dispatch with which a trigger begins."""
    string = r'"((?:[^"\\]|\\.)*)"'
    triggers = re.findall(rf"\(\s*{string}\s*,\s*\w", arguments)
    excludes = re.search(r"excludes\s*=\s*\(([^()]*)\)", arguments)
    exclusions = re.findall(string, excludes[1]) if excludes else []
    return next((word for word in exclusions if any(trigger.startswith(word) for trigger in triggers)), None)


def _of_call(macro: str, found: str, arguments: str) -> str | None:
    """Returns the wording for a defect of a macro's arguments, or of its option with the name ``found``."""
    is_option = found != macro
    value = re.search(rf"\b{re.escape(found)}\s*=\s*(\w+|\"[^\"]*\")", arguments) if is_option else None
    match macro:
        case "Regex" if found == "flags" and value is not None:
            is_text = value[1].startswith('"')
            flag = value[1].strip('"').strip("isu")[:1]
            return (
                f"regular-expression flag '{flag}' is not supported" if is_text else "flags must be a string"
            )
        case "Regex" if found == "json_string":
            return "json_string must be a boolean"
        case "Regex" if is_option:
            return f"Regex does not support the named argument {found}"
        case "Regex" if re.match(r'\s*(\)|")', arguments):
            return "Regex expects exactly one string argument"
        case "Regex":
            return "Regex pattern must be a string literal"
        case "Substring" if "=" in arguments:
            return "Substring() does not accept named arguments"
        case "Substring":
            return "Substring() arguments must be strings"
        case _ if is_option:
            return f"Unknown named argument for {macro}: {found}"
        case _ if re.match(r'\s*\(\s*""', arguments):
            return "Tag must be a non-empty string literal"
        case "TagDispatch" if (word := _excluded_beginning(arguments)) is not None:
            return f"Exclude string must not be a prefix of trigger string: {word}"
    return "Each tag dispatch element must be a tuple"
