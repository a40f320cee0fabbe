"""Schemas of scalar types: numbers, strings, dates, identifiers, enumerations.

A type is a node of a core schema, the form in which Pydantic describes validators (``pydantic_core.core_schema``): a
dictionary with a ``type`` and constraints. Pydantic is not needed to make one. Texts are those that Pydantic reads and
writes; msgspec's differ for a few types.
"""

from __future__ import annotations

import enum
import math
import re
from typing import TYPE_CHECKING, Any

from grammask.errors import UnsupportedType
from grammask.schemas.keywords import NUMBER_TEXTS, UNENFORCEABLE
from grammask.schemas.text_forms import addresses, decimals, integers, regular_expressions, temporal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MAX_INTEGER_DIGITS",
    "NATURAL_INTEGER_DIGITS",
    "base64_text",
    "enumeration",
    "key_schema",
    "matching",
    "scalar",
    "unenforceable",
]

_Schema = dict[str, Any]
_Node = dict[str, Any]

MAX_INTEGER_DIGITS = 4300
"""The limit of Python, and of Pydantic's reader, for the digits of an integer."""
NATURAL_INTEGER_DIGITS = 20
"""The limit of ``numbers="natural"``, the same as in the engine, unless a bound has more digits."""
_INTEGER = f"^-?(?:0|[1-9][0-9]{{0,{MAX_INTEGER_DIGITS - 1}}})$"
_DOUBLE = f"^{decimals.double_pattern()}$"
_LARGEST_DOUBLE = 1.7976931348623157e308
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""White space that is stripped, as a class of characters: the property ``White_Space`` of Unicode."""
_STANDARD_BASE64 = "0-9A-Za-z+/"
_URL_SAFE_BASE64 = "0-9A-Za-z_-"


def scalar(node: _Node, config: dict[str, Any], *, is_msgspec: bool = False) -> _Schema | None:
    """Returns the schema of a scalar type; None for other types.

    Args:
        node: A node of a core schema.
        config: The configuration of the model around it, as in core schemas.
        is_msgspec: Whether msgspec reads and writes the values.

    Raises:
        UnsupportedType: A literal has no JSON form.
    """
    make: Callable[[_Node, dict[str, Any]], _Schema] | None = _SCALARS.get(node["type"])
    if make is None:
        return None
    if is_msgspec and node["type"] in ("bytes", "timedelta"):
        return _msgspec_scalar(node)
    return make(node, config)


def unenforceable(schema: _Schema, message: str) -> _Schema:
    """Returns a schema with a constraint that no schema expresses."""
    marked = {"allOf": [schema]} if UNENFORCEABLE in schema else schema
    return {**marked, UNENFORCEABLE: message}


def matching(pattern: str, **keywords: Any) -> _Schema:
    """Returns the schema of the strings that an unanchored expression matches as a whole."""
    return {"type": "string", "pattern": f"^(?:{pattern})$", **keywords}


def enumeration(values: list[Any], path: str) -> _Schema:
    """Returns the schema of some values; members of enumerations are replaced by their values.

    Raises:
        UnsupportedType: A value is no JSON scalar, or there are no values.
    """
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    for value in plain:
        is_finite = not isinstance(value, float) or math.isfinite(value)
        if not isinstance(value, (str, int, float, bool, type(None))) or not is_finite:
            msg = f"{path}: the value {value!r} has no JSON form that grammask knows"
            raise UnsupportedType(msg)
    if not plain:
        msg = f"{path}: there are no values"
        raise UnsupportedType(msg)
    schema: _Schema = {"const": plain[0]} if len(plain) == 1 else {"enum": plain}
    numbers = [value for value in plain if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if numbers:
        schema[NUMBER_TEXTS] = _DOUBLE if any(isinstance(value, float) for value in numbers) else _INTEGER
    return schema


def key_schema(node: _Node, config: dict[str, Any], path: str, max_digits: int) -> _Schema:
    """Returns the schema of the names of an object whose keys have a scalar type.

    Args:
        node: A node of a core schema.
        config: As of :func:`scalar`.
        path: Its location, for errors.
        max_digits: The maximum number of digits of integers without bounds that have more.

    Raises:
        UnsupportedType: The texts of the keys are unknown.
    """
    kind = node["type"]
    if kind == "int":
        low, high = _integer_bounds(node)
        if _has_long_bound(low, high):
            return unenforceable({"type": "string"}, "the bounds of the keys have too many digits")
        widths = [len(str(abs(bound))) for bound in (low, high) if bound is not None]
        keys = matching(integers.signed(low, high, max([max_digits, *widths])))
        return unenforceable(keys, "keys are multiples of a number") if node.get("multiple_of") else keys
    if kind == "float":
        if any(node.get(name) is not None for name in ("ge", "gt", "le", "lt", "multiple_of")):
            return unenforceable({"type": "string"}, "the keys are numbers with bounds")
        return matching(decimals.double_pattern())
    if kind == "bool":
        return {"enum": ["true", "false"]}
    if kind == "any":
        return {"type": "string"}
    if kind == "literal":
        texts = [value.value if isinstance(value, enum.Enum) else value for value in node["expected"]]
        return enumeration([text for text in texts if isinstance(text, str)], f"{path} (key)")
    if kind == "enum":
        texts = [member.value for member in node["members"]]
        if node.get("sub_type") == "int":
            return {"enum": [str(int(text)) for text in texts]}
        return enumeration([text for text in texts if isinstance(text, str)], f"{path} (key)")
    if kind == "decimal":
        schema = _decimal(node, config)
        return next((form for form in schema.get("anyOf", ()) if form["type"] == "string"), schema)
    schema = scalar(node, config) or {}
    if schema.get("type") == "string":
        return schema
    msg = f"{path}: keys of JSON objects are strings, not {kind}"
    raise UnsupportedType(msg)


def _integer(node: _Node, config: dict[str, Any]) -> _Schema:
    del config
    keywords = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    schema: _Schema = {"type": "integer", NUMBER_TEXTS: _INTEGER}
    for name, keyword in keywords.items():
        if node.get(name) is not None:
            schema[keyword] = node[name]
    if node.get("multiple_of") is not None:
        schema["multipleOf"] = node["multiple_of"]
    return schema


def _integer_bounds(node: _Node) -> tuple[int | None, int | None]:
    lows = [math.ceil(node["ge"])] if node.get("ge") is not None else []
    lows += [math.floor(node["gt"]) + 1] if node.get("gt") is not None else []
    highs = [math.floor(node["le"])] if node.get("le") is not None else []
    highs += [math.ceil(node["lt"]) - 1] if node.get("lt") is not None else []
    return max(lows, default=None), min(highs, default=None)


def _has_long_bound(*bounds: int | None) -> bool:
    return any(bound is not None and abs(bound) >= 10**integers.MAX_BOUND_DIGITS for bound in bounds)


def _float(node: _Node, config: dict[str, Any]) -> _Schema:
    """Returns finite doubles.

    A number beyond an open bound may be rounded onto it, so the next double is the bound.
    """
    schema: _Schema = {"type": "number", NUMBER_TEXTS: _DOUBLE}
    lows = [float(node["ge"])] if node.get("ge") is not None else []
    lows += [math.nextafter(float(node["gt"]), math.inf)] if node.get("gt") is not None else []
    highs = [float(node["le"])] if node.get("le") is not None else []
    highs += [math.nextafter(float(node["lt"]), -math.inf)] if node.get("lt") is not None else []
    low, high = max(lows, default=-math.inf), min(highs, default=math.inf)
    if low == math.inf or high == -math.inf:
        return {"not": {}}
    if low != -math.inf:
        schema["minimum"] = low
    if high != math.inf:
        schema["maximum"] = high
    if node.get("multiple_of") is not None:
        schema["multipleOf"] = node["multiple_of"]
    has_others = node.get("allow_inf_nan", config.get("allow_inf_nan", True)) and not lows and not highs
    if config.get("ser_json_inf_nan") == "strings" and has_others:
        return {"anyOf": [schema, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
    return schema


def _decimal(node: _Node, config: dict[str, Any]) -> _Schema:
    """Returns decimals as strings, as they are written, and as numbers that are read without rounding."""
    del config
    try:
        constraints = decimals.DecimalConstraints.of_node(node)
        number = {"type": "number", NUMBER_TEXTS: f"^{constraints.number_pattern()}$"}
        return {"anyOf": [number, matching(constraints.string_pattern())]}
    except decimals.Undecided:
        return unenforceable(
            {"type": ["number", "string"]}, "no regular expression is known for the constraints"
        )


def _text(node: _Node, config: dict[str, Any]) -> _Schema:
    schema: _Schema = {"type": "string"}
    for name, keyword, default in (("min_length", "minLength", 0), ("max_length", "maxLength", None)):
        value = node.get(name, config.get(f"str_{name}"))
        if value is not None and value != default:
            schema[keyword] = value
    if node.get("strip_whitespace", config.get("str_strip_whitespace")):
        schema = {
            "allOf": [{"type": "string", "pattern": f"^(?:[^{_SPACE}](?:[\\s\\S]*[^{_SPACE}])?)?$"}, schema]
        }
    if node.get("ascii_only"):
        schema = {"allOf": [matching(r"[\x00-\x7f]*"), schema]}
    pattern = node.get("pattern")
    if pattern is None:
        return schema
    is_python = (
        isinstance(pattern, re.Pattern) or node.get("regex_engine", config.get("regex_engine")) == "python-re"
    )
    expression = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    has_flags = isinstance(pattern, re.Pattern) and pattern.flags & ~re.UNICODE
    translated = None if has_flags else regular_expressions.ecmascript(expression, is_python=is_python)
    if translated is None:
        return unenforceable(
            schema, f"the pattern {expression!r} has no certain translation to ECMAScript's syntax"
        )
    if "allOf" in schema:
        return {"allOf": [*schema["allOf"], {"type": "string", "pattern": translated}]}
    return {**schema, "pattern": translated}


def _bytes(node: _Node, config: dict[str, Any]) -> _Schema:
    read = config.get("val_json_bytes", "utf8")
    low, high = node.get("min_length") or 0, node.get("max_length")
    if read == "base64":
        return matching(_base64(_URL_SAFE_BASE64, low, high))
    if read == "hex":
        count = f"{{{low},{'' if high is None else high}}}"
        return matching(f"(?:[0-9a-f]{{2}}){count}")
    schema = {"type": "string"}
    if low or high is not None:
        return unenforceable(schema, "the length of bytes in UTF-8 is not that of the text")
    return schema


def _base64(characters: str, low: int, high: int | None) -> str:
    """Returns the canonical texts of ``low`` to ``high`` bytes."""
    digit = f"[{characters}]"
    last = {0: "", 1: f"{digit}[AQgw]==", 2: f"{digit}{{2}}[AEIMQUYcgkosw048]="}
    parts = []
    for rest, tail in last.items():
        least = max(-(-(low - rest) // 3), 0)
        if high is None:
            parts.append(f"(?:{digit}{{4}}){{{least},}}{tail}")
        elif high >= rest and (high - rest) // 3 >= least:
            parts.append(f"(?:{digit}{{4}}){{{least},{(high - rest) // 3}}}{tail}")
    return integers.alternatives(parts)


def base64_text() -> _Schema:
    """Returns the schema of bytes in Base64 of RFC 4648, section 4."""
    return matching(_base64(_STANDARD_BASE64, 0, None))


def _msgspec_scalar(node: _Node) -> _Schema:
    if node["type"] == "bytes":
        return matching(_base64(_STANDARD_BASE64, node.get("min_length") or 0, node.get("max_length")))
    return matching(temporal.duration_pattern(node, has_years=False))


def _date(node: _Node, config: dict[str, Any]) -> _Schema:
    if _seconds(config):
        return unenforceable({"type": "number"}, "dates are written as numbers")
    return _now(matching(temporal.date_pattern(node)), node)


def _time(node: _Node, config: dict[str, Any]) -> _Schema:
    if _seconds(config):
        return unenforceable({"type": "number"}, "times are written as numbers")
    try:
        return matching(temporal.time_pattern(node, _zone(node)))
    except ValueError as error:
        return unenforceable(matching(temporal.time_pattern({}, _zone(node))), f"the time has {error}")


def _datetime(node: _Node, config: dict[str, Any]) -> _Schema:
    if _seconds(config):
        return unenforceable({"type": "number"}, "points in time are written as numbers")
    zone = node.get("tz_constraint")
    if isinstance(zone, int):
        return unenforceable(
            matching(temporal.datetime_pattern(node, "aware")), "the time zone has one offset"
        )
    return _now(matching(temporal.datetime_pattern(node, zone)), node)


def _now(schema: _Schema, node: _Node) -> _Schema:
    if node.get("now_op") is None:
        return schema
    return unenforceable(schema, f"a date in the {node['now_op']} depends on the time of its validation")


def _zone(node: _Node) -> str | None:
    zone = node.get("tz_constraint")
    return zone if isinstance(zone, str) else None


def _seconds(config: dict[str, Any]) -> bool:
    return bool(config.get("ser_json_temporal", "iso8601") != "iso8601")


def _timedelta(node: _Node, config: dict[str, Any]) -> _Schema:
    mode = config.get("ser_json_temporal", config.get("ser_json_timedelta", "iso8601"))
    if mode == "iso8601":
        return matching(temporal.duration_pattern(node))
    if mode not in ("float", "seconds_float", "seconds"):
        return unenforceable({"type": "number"}, f"durations are written as {mode}")
    schema: _Schema = {"type": "number", NUMBER_TEXTS: _DOUBLE}
    microsecond = 1e-6
    lows = [node["ge"].total_seconds()] if node.get("ge") is not None else []
    lows += [node["gt"].total_seconds() + microsecond] if node.get("gt") is not None else []
    highs = [node["le"].total_seconds()] if node.get("le") is not None else []
    highs += [node["lt"].total_seconds() - microsecond] if node.get("lt") is not None else []
    schema["minimum"] = max(lows, default=-temporal.MAX_SECONDS)
    schema["maximum"] = min(highs, default=temporal.MAX_SECONDS)
    return schema


def _uuid(node: _Node, config: dict[str, Any]) -> _Schema:
    del config
    return matching(addresses.uuid_pattern(node.get("version")))


def _url(node: _Node, config: dict[str, Any]) -> _Schema:
    del config
    has_host = bool(node.get("host_required"))
    schema = matching(addresses.url_pattern(node.get("allowed_schemes"), has_host=has_host))
    return schema if node.get("max_length") is None else {**schema, "maxLength": node["max_length"]}


def _fraction(node: _Node, config: dict[str, Any]) -> _Schema:
    del config
    schema = matching("-?(?:0|[1-9][0-9]{0,4000})(?:/[1-9][0-9]{0,4000})?")
    bounded = any(node.get(name) is not None for name in ("ge", "gt", "le", "lt", "multiple_of"))
    return unenforceable(schema, "the bounds of a fraction") if bounded else schema


def _literal(node: _Node, config: dict[str, Any]) -> _Schema:
    del config
    schema = enumeration(list(node["expected"]), "Literal")
    members = [
        value
        for value in node["expected"]
        if isinstance(value, enum.Enum) and not isinstance(value, (str, int))
    ]
    if not members:
        return schema
    return unenforceable(
        schema, f"Pydantic reads {members[0]} in a Literal only if its class inherits from str or int"
    )


_SCALARS: dict[str, Any] = {
    "none": lambda _node, _config: {"type": "null"},
    "bool": lambda _node, _config: {"type": "boolean"},
    "int": _integer,
    "float": _float,
    "decimal": _decimal,
    "str": _text,
    "bytes": _bytes,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "timedelta": _timedelta,
    "uuid": _uuid,
    "url": _url,
    "fraction": _fraction,
    "literal": _literal,
    "enum": lambda node, _config: enumeration(list(node["members"]), node["cls"].__name__),
}
