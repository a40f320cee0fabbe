"""How other engines treat keywords: the stored table is that of the installed engines."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from grammask.schemas import keywords, portability
from grammask.schemas.portability import Portability


def _program() -> Any:
    """Return the program that measures the table. Its folder is not importable beside the tests."""
    path = Path(__file__).parents[2] / "benches" / "json_schema" / "keyword_support.py"
    spec = importlib.util.spec_from_file_location("keyword_support", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


keyword_support = _program()

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "next": {"$ref": "#"},
    },
    "if": {"required": ["next"]},
    "then": {"required": ["tags"]},
}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.hosts if name == "xgrammar" else ())
        for name in keyword_support.ENGINES
        if name != "grammask"
    ],
)
def test_the_table_is_measured(engine: str) -> None:
    recorded = portability.table()[engine]
    distribution, version = recorded["source"].rsplit(" ", 1)
    try:
        installed = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    if installed != version:
        pytest.skip(f"the table is for {distribution} {version}, and {installed} is installed")
    assert keyword_support.support(engine) == recorded["keywords"]


def test_grammask_enforces_all_keywords() -> None:
    assert set(keyword_support.support("grammask").values()) == {"enforced"}


def test_each_constraint_has_a_probe() -> None:
    probed = {probe["keyword"].partition(":")[0] for probe in keyword_support.probes()}
    extensions = {name for name in keywords.CONSTRAINTS if name.startswith("x-grammask")}
    assert keywords.CONSTRAINTS - extensions - probed == {"$recursiveRef"}
    for engine, recorded in portability.table().items():
        assert recorded["keywords"].keys() == {probe["keyword"] for probe in keyword_support.probes()}, engine


def test_places_of_keywords() -> None:
    def statuses(engine: str) -> dict[str, str]:
        return {each.pointer: each.status for each in portability.portability(SCHEMA, [engine])}

    assert statuses("xgrammar")["#/properties/tags/uniqueItems"] == "ignored"
    assert statuses("llguidance")["#/properties/tags/uniqueItems"] == "rejected"
    assert statuses("outlines")["#/if"] == "ignored"
    gemini = statuses("gemini")
    assert gemini["#/if"] == "unsupported"
    assert gemini["#/properties/next/$ref"] == "partial", "references to the schema itself are unrolled"
    assert gemini["#/properties/tags/type"] == "enforced"
    openai = portability.portability(SCHEMA, ["openai"])
    reason = "a strict schema has no `uniqueItems`"
    assert Portability("openai", "#/properties/tags/uniqueItems", "uniqueItems", "rejected", reason) in openai
    assert any(each.pointer == "#" and "additionalProperties" in each.reason for each in openai)
    assert portability.portability({}, ["xgrammar"]) == []


def test_keywords_together_with_others() -> None:
    schema = {
        "type": ["object", "null"],
        "properties": {
            "a": {"type": "string", "format": "colour"},
            "b": {"type": "integer", "format": "int32"},
            "c": {"type": "array", "items": {"type": "string"}, "additionalItems": False},
        },
        "required": ["a"],
        "anyOf": [{"required": ["b"]}, {"required": ["c"]}],
        "maxProperties": 2,
    }

    def found(engine: str) -> dict[str, tuple[str, str]]:
        return {
            each.pointer: (each.keyword, each.status) for each in portability.portability(schema, [engine])
        }

    assert found("llguidance")["#/properties/a/format"] == ("format: colour", "rejected")
    assert found("llguidance")["#/properties/b/format"] == ("format: int32", "unknown")
    assert found("xgrammar")["#/properties/a/format"] == ("format: colour", "unknown")
    assert found("xgrammar")["#/anyOf"] == ("anyOf with siblings", "ignored")
    assert found("llguidance")["#/maxProperties"] == ("maxProperties with optional properties", "partial")
    assert found("llama.cpp")["#/type"] == ("type: several with siblings", "ignored")
    assert "#/properties/c/additionalItems" not in found("xgrammar"), "it has no effect beside a schema"


def test_unknown_engines() -> None:
    with pytest.raises(ValueError, match="nothing is known of 'other'; known are gemini"):
        portability.portability({}, ["other"])
