// The keywords of a JSON Schema in the editor: which ones the grammar enforces, which are annotations, and which are refused.

import {jsonPlaces} from "./json_places.js";

// JSON Schema: validation, section 9, and core, section 8.3; `example` is OpenAPI's.
const ANNOTATIONS = new Set(["title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly", "$schema",
  "contentEncoding", "contentMediaType", "contentSchema"]);
const OF_SCHEMAS = new Set(["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
  "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"]);
const OF_MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);
const OF_LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const KNOWN = new Set([...OF_SCHEMAS, ...OF_MAPS, ...OF_LISTS, "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$ref", "$dynamicRef",
  "$recursiveRef", "$vocabulary", "id", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
  "maxLength", "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
  "minProperties", "required", "dependentRequired", "nullable", "x-grammask"]);
// The first and the last draft that has a keyword, where not all drafts have it. A schema without `$schema` has all.
const SINCE = {const: 6, contains: 6, propertyNames: 6, if: 7, then: 7, else: 7, minContains: 2019, maxContains: 2019,
  dependentRequired: 2019, dependentSchemas: 2019, unevaluatedItems: 2019, unevaluatedProperties: 2019, $recursiveRef: 2019,
  prefixItems: 2020, $dynamicRef: 2020};
const UNTIL = {dependencies: 7, additionalItems: 2019, $recursiveRef: 2019};
// The keywords of which one has to stand beside a keyword, so that it constrains anything.
const NEEDS = {if: ["then", "else"], then: ["if"], else: ["if"], minContains: ["contains"], maxContains: ["contains"], additionalItems: ["items"]};

export const KINDS = {
  enforced: "the mask enforces it",
  annotation: "says nothing about validity",
  refused: "cannot be enforced exactly, so the schema is refused",
  idle: "constrains nothing here: the draft does not have it, or a keyword that it belongs to is missing",
  unknown: "no keyword of JSON Schema: constrains nothing",
};

// The keywords in the order of the text: `{name, pointer, kind, start, end, message}`. `relaxations` and `warnings` are
// the diagnostics of the engine for the schema.
export function keywordsOf(source, {relaxations, warnings}) {
  const refusals = new Map(relaxations.map((diagnostic) => [diagnostic.pointer, diagnostic.message]));
  const ignored = new Map(warnings.map((diagnostic) => [diagnostic.pointer, diagnostic.message]));
  const kinds = new Map([["#", "schema"]]);
  const keywords = [];
  const places = jsonPlaces(source);
  const valueAt = (pointer) => places.has(pointer) ? source.slice(...places.get(pointer).value) : undefined;
  const draft = draftOf(valueAt("#/$schema"));
  for (const [pointer, {key, value}] of places) {
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
      : !KNOWN.has(name) ? "unknown"
      : isIdle(name, draft, (sibling) => valueAt(`${pointer.slice(0, split)}/${sibling}`)) ? "idle" : "enforced";
    keywords.push({name, pointer, kind, start: key[0], end: key[1], message: refusals.get(pointer) ?? ignored.get(pointer)});
  }
  return keywords;
}

// The number of the draft that a schema names; undefined if it names none that is known.
function draftOf(text) {
  const number = /json-schema\.org\/draft[-/](0[467]|2019-09|2020-12)\//.exec(text ?? "")?.[1];
  return number && parseInt(number, 10);
}

function isIdle(name, draft, sibling) {
  if (draft < SINCE[name] || draft > UNTIL[name]) return true;
  if (draft <= 7 && !["$ref", "$defs", "definitions"].includes(name) && sibling("$ref")) return true;
  if (name === "additionalItems" && !sibling("items")?.startsWith("[")) return true;
  // The engine reads it with the option openapi_nullable, which the page does not have.
  if (name === "nullable") return true;
  return NEEDS[name] !== undefined && !NEEDS[name].some((other) => sibling(other) !== undefined);
}
