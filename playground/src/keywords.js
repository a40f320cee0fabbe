// The keywords of a JSON Schema in the editor: which ones the grammar enforces, which are annotations, and which are refused.

import {jsonPlaces} from "./json_places.js";

// JSON Schema: validation, section 9, and core, section 8.3; `example` is OpenAPI's.
const ANNOTATIONS = new Set(["title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly", "$schema"]);
const OF_SCHEMAS = new Set(["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
  "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"]);
const OF_MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);
const OF_LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const KNOWN = new Set([...OF_SCHEMAS, ...OF_MAPS, ...OF_LISTS, "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$ref", "$dynamicRef",
  "$recursiveRef", "$vocabulary", "id", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
  "maxLength", "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
  "minProperties", "required", "dependentRequired", "contentEncoding", "contentMediaType", "nullable", "x-grammask"]);

export const KINDS = {
  enforced: "the mask enforces it",
  annotation: "says nothing about validity",
  refused: "cannot be enforced exactly, so the schema is refused",
  unknown: "no keyword of JSON Schema: constrains nothing",
};

// The keywords in the order of the text: `{name, pointer, kind, start, end, message}`. `relaxations` and `warnings` are
// the diagnostics of the engine for the schema.
export function keywordsOf(source, {relaxations, warnings}) {
  const refusals = new Map(relaxations.map((diagnostic) => [diagnostic.pointer, diagnostic.message]));
  const ignored = new Map(warnings.map((diagnostic) => [diagnostic.pointer, diagnostic.message]));
  const kinds = new Map([["#", "schema"]]);
  const keywords = [];
  for (const [pointer, {key, value}] of jsonPlaces(source)) {
    if (pointer === "#") continue;
    const split = pointer.lastIndexOf("/");
    const parent = kinds.get(pointer.slice(0, split));
    const name = decodeURIComponent(pointer.slice(split + 1)).replaceAll("~1", "/").replaceAll("~0", "~");
    if (parent === "map" || parent === "list") kinds.set(pointer, "schema");
    if (parent !== "schema" || key === undefined) continue;
    if (OF_MAPS.has(name)) kinds.set(pointer, "map");
    else if (OF_LISTS.has(name) && source[value[0]] === "[") kinds.set(pointer, "list");
    else if (OF_SCHEMAS.has(name)) kinds.set(pointer, "schema");
    const kind = refusals.has(pointer) ? "refused"
      : ANNOTATIONS.has(name) || ignored.has(pointer) ? "annotation"
      : KNOWN.has(name) ? "enforced" : "unknown";
    keywords.push({name, pointer, kind, start: key[0], end: key[1], message: refusals.get(pointer) ?? ignored.get(pointer)});
  }
  return keywords;
}
