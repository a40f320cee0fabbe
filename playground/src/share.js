// The complete state as a fragment of a URL: JSON, compressed with deflate, in base64 for URLs. Servers never see it.

import {decoded, encode, fromBase64, through, toBase64} from "./bytes.js";

const PREFIX = "#s=";

export async function fragmentOf(state) {
  const packed = await through(encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  return PREFIX + toBase64(packed).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// The members of `defaults` with the values of the fragment where those have the same type, numbers for null; undefined if
// the fragment is not a shared state.
export async function stateOf(fragment, defaults) {
  if (!fragment.startsWith(PREFIX)) return undefined;
  try {
    const packed = fromBase64(fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const read = JSON.parse(decoded(await through(packed, new DecompressionStream("deflate-raw"))));
    const state = {...defaults};
    for (const key of Object.keys(defaults)) {
      const type = defaults[key] === null ? "number" : typeof defaults[key];
      if (typeof read[key] === type) state[key] = read[key];
    }
    return state;
  } catch {
    return undefined;
  }
}
