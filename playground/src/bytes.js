// Conversions between strings, UTF-8 bytes, and offsets in both.

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

export function encode(text) {
  return encoder.encode(text);
}

// The bytes as a string for display: control characters and bytes that are no UTF-8 are escaped.
export function shown(bytes) {
  let text;
  try {
    text = strict.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
  return text.replace(/[\p{Cc}\p{Cf}\p{Z}]/gu, (character) => {
    if (character === " ") return "␣";
    const known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character];
    return known ?? `\\u{${character.codePointAt(0).toString(16)}}`;
  });
}

// The string of the bytes; undefined if they are no UTF-8.
export function decoded(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

// For each byte offset of the text, the UTF-16 offset of the character that contains the byte; one more for the end.
export function characterOffsets(text) {
  const offsets = new Uint32Array(encode(text).length + 1);
  let byte = 0;
  let unit = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    const length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    offsets.fill(unit, byte, byte + length);
    byte += length;
    unit += character.length;
  }
  offsets[byte] = unit;
  return offsets;
}

export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

export function toBase64(bytes) {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

// `stream` is a CompressionStream or a DecompressionStream.
export async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
