"""The format of a structural tag, also of the older form with ``structures`` and ``triggers``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grammask.schemas.embedded_options import KEYWORD
from grammask.schemas.keywords import escaped

if TYPE_CHECKING:
    from grammask.structural_tags.diagnostics import DiagnosticList

__all__ = ["root_format"]

_ROOT_FIELDS = {"format", "type", KEYWORD}
_LEGACY_FIELDS = {"at_least_one", "structures", "tags", "triggers", "type", KEYWORD}
_LEGACY_TAG_FIELDS = {"begin", "end", "schema"}


def root_format(tag: Any, diagnostics: DiagnosticList) -> tuple[Any, str]:
    """Returns the format of a tag with its JSON pointer."""
    if isinstance(tag, Mapping) and tag.get("type", "structural_tag") == "structural_tag":
        if "format" in tag:
            _refuse_others(tag, _ROOT_FIELDS, "#", "a structural tag", diagnostics)
            return tag["format"], "#/format"
        structures = tag.get("structures", tag.get("tags"))
        if isinstance(structures, Sequence) and "triggers" in tag:
            tags = [
                {
                    "type": "tag",
                    "begin": one.get("begin"),
                    "content": {"type": "json_schema", "json_schema": _schema_of(one.get("schema"))},
                    "end": one.get("end"),
                }
                if isinstance(one, Mapping)
                else one
                for one in structures
            ]
            _refuse_others(tag, _LEGACY_FIELDS, "#", "the older form of structural tags", diagnostics)
            list_name = "structures" if "structures" in tag else "tags"
            for index, one in enumerate(structures):
                if isinstance(one, Mapping):
                    _refuse_others(one, _LEGACY_TAG_FIELDS, f"#/{list_name}/{index}", "a tag", diagnostics)
            # An extension of SGLang, which it uses for required calls.
            required = tag.get("at_least_one", False)
            return {
                "type": "triggered_tags",
                "triggers": tag["triggers"],
                "tags": tags,
                "at_least_one": required,
            }, "#"
        diagnostics.invalid("#", "a structural tag has a `format`, or `structures` and `triggers`")
        return {"type": "any_text"}, "#"
    return tag, "#"


def _schema_of(schema: Any) -> Any:
    """Returns a schema of the older form: it may be JSON text, and absent for any value."""
    if schema is None:
        return {}
    try:
        return json.loads(schema) if isinstance(schema, str) else schema
    except (ValueError, RecursionError):
        return schema


def _refuse_others(
    given: Mapping[str, Any], fields: Collection[str], pointer: str, noun: str, diagnostics: DiagnosticList
) -> None:
    for name in sorted(map(str, given.keys() - fields)):
        diagnostics.invalid(f"{pointer}/{escaped(name)}", f"{noun} has no field `{name}`")
