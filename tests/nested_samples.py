"""Random schemas, and texts of them or nearly so, in the styles that write parameters as nested tags."""

from __future__ import annotations

import json
import random
from typing import Any

from grammask.structural_tags.parameters import NESTED_STYLES

MARK = "]<]minimax[>["
STYLES = list(NESTED_STYLES)
COHERE, MINIMAX = STYLES


def tag(schema: Any, style: str, **options: Any) -> dict[str, Any]:
    content = {"type": "json_schema", "json_schema": schema, "style": style, **options}
    return {"type": "structural_tag", "format": content}


def cohere(key: str | None, kind: str, body: str) -> str:
    name = "" if key is None else f' name="{key}"'
    return f'<cofl:value{name} type="{kind}">{body}</cofl:value>'


def minimax(key: str, body: str) -> str:
    return f"{MARK}<{key}>{body}{MARK}</{key}>"


class Samples:
    """Random schemas, and texts of them or nearly so, in a style."""

    def __init__(self, style: str, seed: int) -> None:
        self.style = style
        self.rng = random.Random(seed)
        self.schema = self.object(3)
        self.schema["$defs"] = {"t": self.object(2)}

    def object(self, depth: int) -> dict[str, Any]:
        keys = self.rng.sample(["a", "b c", "é", "k&v"], self.rng.randint(0, 3))
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {key: self.value_schema(depth) for key in keys},
            "required": [key for key in keys if self.rng.random() < 0.5],
        }
        if self.style == COHERE and self.rng.random() < 0.25:
            schema["additionalProperties"] = self.rng.choice([True, {"type": "integer"}])
        return schema

    def value_schema(self, depth: int) -> dict[str, Any]:
        leaves: list[dict[str, Any]] = [
            *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null")),
            {"type": ["string", "null"]},
            {"enum": self.rng.sample([1, None, True, 2.5], 2)},
        ]
        # XGrammar allows white space around listed strings in Cohere's tags, where it is a part of the string.
        if self.style == MINIMAX:
            leaves.append({"type": "string", "enum": self.rng.sample(["x", "<y>", "a&b", "1"], 2)})
        kind = self.rng.randrange(8 if depth else 4)
        if kind < 4:
            return self.rng.choice(leaves)
        if kind == 4:
            return {"anyOf": [{"type": "integer"}, self.object(depth - 1)]}
        if kind == 5:
            return self.object(depth - 1)
        if kind == 6:
            return {"$ref": "#/$defs/t"}
        least = self.rng.randint(0, 1)
        bounds = [("minItems", least), ("maxItems", least + self.rng.randint(0, 2))]
        items = {"type": "array", "items": self.value_schema(depth - 1)}
        return {**items, **dict(self.rng.sample(bounds, self.rng.randint(0, 2)))}

    def value(self, schema: Any, depth: int = 0) -> Any:
        """A value that mostly satisfies a schema; free ones are any."""
        rng = self.rng
        if schema is True:
            return rng.choice(["q", 1, None, {"z": 1}, [1, "t"]])
        if "$ref" in schema:
            return self.value(self.schema["$defs"]["t"], depth + 1)
        if "anyOf" in schema:
            return self.value(rng.choice(schema["anyOf"]), depth)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kind = schema["type"]
        match rng.choice(kind) if isinstance(kind, list) else kind:
            case "string":
                return rng.choice(["", "null", "1", "a<b", "]<]x", "</cofl", " s\n", "é"])
            case "integer":
                return rng.choice([0, -3, 12, 1.5])
            case "number":
                return rng.choice([0, -1.5, 2e10])
            case "boolean":
                return rng.random() < 0.5
            case "object":
                likely = 0.4 if depth < 4 else 0
                found = {
                    key: self.value(inner, depth)
                    for key, inner in schema["properties"].items()
                    if rng.random() < (0.95 if key in schema["required"] else likely)
                }
                if rng.random() < 0.2:
                    found["new"] = self.value(schema.get("additionalProperties", True), depth)
                return found
            case "array":
                least = schema.get("minItems", 0)
                count = rng.randint(least, min(schema.get("maxItems", 3), 3)) if depth < 4 else least
                return [self.value(schema["items"], depth) for _ in range(count + (rng.random() < 0.1))]
        return None

    def text(self) -> str:
        """A text of the schema, often with something changed."""
        value = self.value(self.schema)
        text = self.members(value)
        if self.style == COHERE or value:
            text = self.space() + text
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            text = self.changed(text)
        return text

    def members(self, value: dict[str, Any]) -> str:
        return "".join(self.tagged(inner, key) + self.space() for key, inner in value.items())

    def tagged(self, value: Any, key: str | None) -> str:
        match value:
            case str():
                kind, body = "raw", value
            case dict():
                kind, body = "dict", self.space() + self.members(value)
            case list():
                kind = "list"
                between = self.space if self.style == MINIMAX else str
                body = self.space() + "".join(self.tagged(inner, None) + between() for inner in value)
            case _:
                space = self.space() if self.style == COHERE else ""
                kind, body = "json", space + json.dumps(value) + space
        if self.style == MINIMAX:
            return minimax("item" if key is None else key, "" if value in ([], {}) else body)
        kind = self.rng.choice(["raw", "json", "dict", "list"]) if self.rng.random() < 0.03 else kind
        return cohere(None if key is None else key.replace("&", "&amp;"), kind, body)

    def space(self) -> str:
        return self.rng.choice(["", "", "", "", "\n", " ", "\r\t"])

    def changed(self, text: str) -> str:
        first, last = sorted(self.rng.randrange(len(text) + 1) for _ in range(2))
        match self.rng.randrange(4):
            case 0:
                return text[:first] + text[first + 1 :]
            case 1:
                return text[:first] + self.rng.choice(' \n<>a1"]') + text[first:]
            case 2:
                return text[:first]
            case _:
                return text[:last] + text[first:last] + text[last:]
