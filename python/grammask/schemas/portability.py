"""How other engines and services treat the keywords of a schema: enforced, ignored or rejected.

The table of engines that can be installed is measured (``benches/json_schema/keyword_support.py``); those of services
are what their documentation says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from grammask.schemas import keywords
from grammask.schemas.strict_subset import strict_violations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["ENGINES", "TABLE", "Portability", "Status", "portability", "table"]

Status: TypeAlias = Literal["enforced", "partial", "ignored", "rejected", "unsupported", "unknown"]
"""``partial``: some schemas with the keyword are enforced. ``unsupported``: the documentation does not say whether the
keyword is ignored or rejected."""

TABLE = Path(__file__).parent / "keyword_support.json"
"""For each measured engine its ``source`` and the status of its ``keywords``."""

_GEMINI = frozenset(
    {
        "$anchor", "$defs", "$id", "$ref", "additionalProperties", "anyOf", "enum", "format", "items", "maxItems",
        "maximum", "minItems", "minimum", "oneOf", "prefixItems", "properties", "required", "type",
    }
)  # fmt: skip
"""Source: Google, ``GenerationConfig.responseJsonSchema`` (2026). ``oneOf`` is read as ``anyOf``."""

_GEMINI_PARTIAL = frozenset({"$ref to itself", "$ref with siblings", "format", "oneOf"})

_OTHER_FORMATS = "format: any other"
"""The entry for a format that no standard defines; an engine that rejects it rejects all that have no entry."""
_CONSTRAINTS = keywords.CONSTRAINTS | {"$anchor", keywords.OPENAPI_NULLABLE}

ENGINES = ("gemini", "llama.cpp", "llguidance", "openai", "outlines", "xgrammar")
"""The engines and services that are known."""


@dataclass(frozen=True, slots=True)
class Portability:
    """How an engine treats a keyword at a place of a schema.

    Attributes:
        engine: The engine.
        pointer: The JSON pointer of the keyword, as a URI fragment.
        keyword: The keyword, with its value where that matters: ``format: uuid``.
        status: Its treatment.
        reason: What the documentation of a service says; empty for measured engines.
    """

    engine: str
    pointer: str
    keyword: str
    status: Status
    reason: str = ""


def table() -> dict[str, Any]:
    """Returns the measured table."""
    read: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return read


def portability(schema: Any, engines: Sequence[str]) -> list[Portability]:
    """Returns the treatment of all keywords of a schema that can constrain values, by engine and by place.

    Args:
        schema: The schema as a value.
        engines: Of :data:`ENGINES`.

    Raises:
        ValueError: There is no such engine.
    """
    unknown = [engine for engine in engines if engine not in ENGINES]
    if unknown:
        msg = f"nothing is known of {unknown[0]!r}; known are {', '.join(ENGINES)}"
        raise ValueError(msg)
    measured = table()
    places = list(_places(schema))
    found: list[Portability] = []
    for engine in engines:
        if engine == "openai":
            found += _of_openai(schema, places)
        elif engine == "gemini":
            found += [Portability(engine, each.pointer, each.entries[0], _of_gemini(each)) for each in places]
        else:
            found += _of_table(engine, measured[engine]["keywords"], places)
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """A constraining keyword in a schema.

    Attributes:
        pointer: Its JSON pointer.
        entries: The entries of the table for it, the most specific one first, the keyword last.
    """

    pointer: str
    entries: list[str]


def _places(schema: Any) -> Iterator[_Place]:
    for pointer, node in keywords.places(schema):
        for name in node:
            if name in _CONSTRAINTS and not _is_without_effect(node, name):
                yield _Place(
                    f"{pointer}/{keywords.escaped(name)}", [*_combinations(node, name, pointer), name]
                )


def _is_without_effect(node: Mapping[str, Any], name: str) -> bool:
    """Whether a keyword has no effect together with the others, in any draft."""
    return name == "additionalItems" and not isinstance(node.get("items"), list)


def _combinations(node: Mapping[str, Any], name: str, pointer: str) -> Iterator[str]:
    """Yields the entries of the table for a keyword with its value, or together with others."""
    value = node[name]
    if name == "format":
        yield f"format: {value}"
        if "string" in node.get("type", "string"):
            yield _OTHER_FORMATS
    if name == "pattern" and node.keys() & {"minLength", "maxLength"}:
        yield "pattern with minLength"
    others = node.keys() & _CONSTRAINTS - {name}
    if name == "type" and isinstance(value, list) and len(value) > 1 and others:
        yield "type: several with siblings"
    if name == "anyOf" and others - {"type"}:
        yield "anyOf with siblings"
    if name in ("minProperties", "maxProperties"):
        required = node.get("required", ())
        if any(each not in required for each in node.get("properties", ())):
            yield f"{name} with optional properties"
    if name == "$ref":
        if isinstance(value, str) and f"{pointer}/".startswith(f"{value}/"):
            yield "$ref to itself"
        if others:
            yield "$ref with siblings"


def _of_table(engine: str, known: Mapping[str, Status], places: Sequence[_Place]) -> Iterator[Portability]:
    for place in places:
        entry = next((each for each in place.entries if each in known), place.entries[0])
        status = known.get(entry, "unknown")
        if entry == _OTHER_FORMATS:
            entry, status = place.entries[0], "rejected" if status == "rejected" else "unknown"
        yield Portability(engine, place.pointer, entry, status)


def _of_gemini(place: _Place) -> Status:
    if _GEMINI_PARTIAL.intersection(place.entries):
        return "partial"
    return "enforced" if place.entries[-1] in _GEMINI else "unsupported"


def _of_openai(schema: Any, places: Sequence[_Place]) -> Iterator[Portability]:
    violations = {each.pointer or "#": each.message for each in strict_violations(schema)}
    for place in places:
        reason = violations.pop(place.pointer, "")
        status: Status = "rejected" if reason else "enforced"
        yield Portability("openai", place.pointer, place.entries[0], status, reason)
    for pointer, reason in violations.items():
        yield Portability("openai", pointer, "", "rejected", reason)
