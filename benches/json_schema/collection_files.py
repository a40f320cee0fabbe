"""Collections of schemas on disk: SchemaStore with its test files, a folder of schemas, an OpenAPI description."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tomllib
import yaml

if TYPE_CHECKING:
    from pathlib import Path

_COMMENTS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
"""Strings, which are kept, and what JSON with comments has in addition."""


@dataclass(frozen=True)
class Sample:
    """A test file of a schema: its value as JSON, and whether the folder says that it is valid."""

    name: str
    text: str
    is_valid: bool


@dataclass(frozen=True)
class Entry:
    """A schema with its test files."""

    name: str
    schema: str
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True)
class Collection:
    """The schemas of a collection, and the documents that they refer to."""

    name: str
    entries: list[Entry]
    unreadable: list[str]
    """Test files that are not JSON, YAML or TOML, or hold what JSON does not have."""

    @staticmethod
    def read(path: Path) -> Collection:
        """Read an OpenAPI description (a file), a checkout of SchemaStore, or a folder of schemas."""
        if path.is_file():
            return _openapi(path)
        schemas = path / "src" / "schemas" / "json"
        if not schemas.is_dir():
            return Collection(path.name, [_entry(file) for file in sorted(path.glob("*.json"))], [])
        entries, unreadable = [], []
        for file in sorted(schemas.glob("*.json")):
            entry = _entry(file)
            for folder, is_valid in (("test", True), ("negative_test", False)):
                for sample in sorted((path / "src" / folder / file.stem).glob("*.*")):
                    value = _value(sample)
                    if value is None:
                        unreadable.append(f"{folder}/{file.stem}/{sample.name}")
                    else:
                        entry.samples.append(Sample(f"{folder}/{sample.name}", value, is_valid))
            entries.append(entry)
        return Collection(path.name, entries, unreadable)

    @cached_property
    def documents(self) -> dict[str, str]:
        """The schemas by URI: their own, and their names under the addresses of the others.

        Schemas without an address refer to files beside them, by `schema:/NAME` in grammask and `NAME` in jsonschema.
        """
        by_uri: dict[str, str] = {}
        addresses = set()
        for entry in self.entries:
            schema = json.loads(entry.schema)
            for keyword in ("$id", "id"):
                uri = schema.get(keyword) if isinstance(schema, dict) else None
                if isinstance(uri, str) and "://" in uri:
                    by_uri.setdefault(uri.partition("#")[0], entry.schema)
                    if uri.rpartition("/")[2].partition("#")[0].removesuffix(".json") == entry.name:
                        addresses.add(uri.rpartition("/")[0])
        for address in (*sorted(addresses), "schema:"):
            for entry in self.entries:
                by_uri.setdefault(f"{address}/{entry.name}", entry.schema)
                by_uri.setdefault(f"{address}/{entry.name}.json", entry.schema)
        for entry in self.entries:
            by_uri.setdefault(f"{entry.name}.json", entry.schema)
        return by_uri


def _entry(file: Path) -> Entry:
    return Entry(file.stem, file.read_text("utf-8-sig"))


def _openapi(path: Path) -> Collection:
    """Read the component schemas: each is a schema that refers to the others where the description does."""
    description = json.loads(path.read_text("utf-8"))
    components = {"schemas": description["components"]["schemas"]}
    entries = []
    for name in components["schemas"]:
        schema = {"$ref": f"#/components/schemas/{name}", "components": components}
        entries.append(Entry(name, json.dumps(_needed(schema))))
    return Collection(path.parent.name, entries, [])


def _needed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with only the components that it refers to, directly or not."""
    everything = schema["components"]["schemas"]
    needed: dict[str, Any] = {}
    pending = re.findall(r"#/components/schemas/([^/\"]+)", schema["$ref"])
    while pending:
        name = pending.pop()
        if name not in needed:
            needed[name] = everything[name]
            pending += re.findall(r"#/components/schemas/([^/\"]+)", json.dumps(everything[name]))
    components = {name: part for name, part in everything.items() if name in needed}
    return schema | {"components": {"schemas": components}}


class _Loader(yaml.CSafeLoader):
    """YAML 1.2 with the core schema, which is that of JSON with further notations."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _value(path: Path) -> str | None:
    """Return the value of a file as JSON, or None if it has none."""
    try:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".json":
            value = json.loads(_without_comments(text))
        elif path.suffix in (".yaml", ".yml"):
            value = yaml.load(text, _Loader)
        elif path.suffix == ".toml":
            value = tomllib.loads(text)
        else:
            return None
        return json.dumps(_json(value), allow_nan=False)
    except (ValueError, TypeError, yaml.YAMLError):
        return None


def _without_comments(text: str) -> str:
    return _COMMENTS.sub(lambda match: match[0] if match[0].startswith('"') else "", text)


def _json(value: Any) -> Any:
    """Return a value with what TOML and YAML have in addition written as texts, as most readers of schemas do."""
    if isinstance(value, dict):
        return {_name(name): _json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_json(part) for part in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _name(name: Any) -> str:
    return name if isinstance(name, str) else json.dumps(name)
