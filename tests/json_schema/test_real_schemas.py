"""Schemas that people wrote, with instances that hypothesis-jsonschema makes: verdicts are those of ``jsonschema``.

Formats are left out of the schemas, since the oracle does not judge them.
"""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from case_counts import by_profile
from grammask import Grammar, GrammarError
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, Unsatisfiable
from hypothesis_jsonschema import from_schema
from hypothesis_jsonschema._canonicalise import HypothesisRefResolutionError
from schema_oracle import (
    PROFILE,
    VOCABULARY,
    Oracle,
    accepts,
    compiled_schema,
    is_plain,
    slip,
    with_python_patterns,
)

if TYPE_CHECKING:
    from pathlib import Path

EVERY, MOST_CHARACTERS, EXAMPLES = by_profile((200, 1_500, 3), (1, 20_000, 20))
"""Which schemas are taken, one of so many and none longer, and how many instances: some take the generator minutes."""

DRAFTS = ("draft-04", "draft-06", "draft-07")
"""What hypothesis-jsonschema knows."""


def test_verdicts_on_instances_that_another_generator_makes(data_directory: Path) -> None:
    folder = data_directory / "maskbench_dev"
    if not folder.is_dir():
        pytest.skip("no maskbench_dev in the real data")
    verdicts: list[bool] = []
    for path in sorted(folder.glob("*.json"))[::EVERY]:
        schema = without_formats(json.loads(path.read_text())["schema"])
        draft = next((draft for draft in DRAFTS if draft in schema.get("$schema", DRAFTS[-1])), None)
        if draft is not None and len(json.dumps(schema)) <= MOST_CHARACTERS:
            verdicts += compared(path.stem, schema | {"$schema": f"http://json-schema.org/{draft}/schema#"})
    assert min(verdicts.count(True), verdicts.count(False)) > 5


def compared(name: str, schema: dict[str, Any]) -> list[bool]:
    """Compare verdicts on some instances and slips of them; returns those of the oracle."""
    try:
        compiled = compiled_schema(schema, key_order="any")
    except GrammarError:
        return []
    oracle = Oracle(schema)
    try:
        instances = from_schema(with_python_patterns(schema))
    except HypothesisRefResolutionError:
        return []
    verdicts: list[bool] = []

    @settings(PROFILE, max_examples=EXAMPLES, database=None)
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        value = data.draw(instances)
        for near in (value, slip(value, random.Random(len(verdicts)))):
            if is_plain(near):
                text = json.dumps(near)
                verdicts.append(oracle.is_valid(text))
                assert accepts(compiled, text) == verdicts[-1], (name, text)

    with contextlib.suppress(Unsatisfiable, InvalidArgument):  # It finds no instance, or does not understand.
        compare()
    return verdicts


def without_formats(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_formats(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_formats(part)
        for name, part in schema.items()
        if not (name == "format" and isinstance(part, str))
    }


def test_maxima_that_no_text_reaches() -> None:
    """Generated schemas write the maximum of 32-bit integers at each array and object."""
    largest = 2**31 - 1
    kinds = {"a": "string", "b": "integer", "c": "boolean", "d": "null", "e": "number"}
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": {"type": kind}, "maxItems": largest}
            for name, kind in kinds.items()
        },
        "patternProperties": {
            f"^{name}_": {"type": "object", "additionalProperties": {"type": kind}, "maxProperties": largest}
            for name, kind in kinds.items()
        },
    }
    compiled = Grammar.from_json_schema(schema, key_order="any").compile(VOCABULARY)
    assert compiled.is_valid(b'{"b":[1,2],"a_":{"x":"","y":""},"e":[]}')
    assert not compiled.is_valid(b'{"b":[1,"2"]}')
