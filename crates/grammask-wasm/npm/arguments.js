/**
 * Checks of arguments, which the engine would convert as JavaScript does: 2^32 to 0, an object to an empty text. A value
 * that is no string would be written to the memory of the engine as if it had a length.
 */

import { GrammaskError } from "./errors.js";

/** The largest number that the engine takes. */
const MAX_NUMBER = 0xffffffff;

/** An id or a count. */
export function numberOf(value, name) {
  if (!Number.isInteger(value) || value < 0 || value > MAX_NUMBER) {
    throw invalid(`${name} is an integer from 0 to ${MAX_NUMBER}, not ${shown(value)}`);
  }
  return value;
}

/** An id or a count, or undefined. */
export function optionalNumberOf(value, name) {
  return value == null ? undefined : numberOf(value, name);
}

/** A string. */
export function stringOf(value, name) {
  if (typeof value !== "string") {
    throw invalid(`${name} is a string, not ${shown(value)}`);
  }
  return value;
}

const utf8 = new TextEncoder();

/** The bytes of a text, or of bytes. Views of another realm are no instances of the Uint8Array of this one. */
export function bytesOf(text) {
  if (typeof text === "string") {
    return utf8.encode(text);
  }
  if (!ArrayBuffer.isView(text) || text.BYTES_PER_ELEMENT !== 1) {
    throw invalid(`a text is a string or a Uint8Array, not ${shown(text)}`);
  }
  return text;
}

/** An object of a class of the package. */
export function instanceOf(value, kind) {
  if (!(value instanceof kind)) {
    throw invalid(`an object of the class ${kind.name} is needed, not ${shown(value)}`);
  }
  return value;
}

/** An object whose members have names. */
export function objectOf(value, name) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`${name} is an object, not ${shown(value)}`);
  }
  return value;
}

/** A list. */
export function listOf(value, name) {
  if (!Array.isArray(value)) {
    throw invalid(`${name} is an array, not ${shown(value)}`);
  }
  return value;
}

/** An object of options, whose members all have one of the names. */
export function optionsOf(options, ...names) {
  const unknown = Object.keys(options ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalid(`there is no option ${unknown}; there are ${names.join(", ")}`);
  }
  return options ?? {};
}

function shown(value) {
  return ["number", "bigint", "boolean", "undefined"].includes(typeof value) || value === null
    ? String(value)
    : `a value of type ${typeof value}`;
}

function invalid(message) {
  return new GrammaskError({ code: "invalid-argument", message });
}
