/**
 * The tokens of tokenizer.json and of tiktoken's files.
 *
 * A decoder of the tokenizers library is a pipeline over the list of tokens. Here each step becomes a function of one
 * token, which is exact if the step treats each token independently of the others and of its position. Steps with an
 * exception for the start of a text are applied as in the middle of a text, because generated text follows a prompt;
 * steps that depend on neighbours are refused.
 */

import { GrammaskError } from "./errors.js";

const utf8 = new TextEncoder();

/** Maximum number of ids, as in the engine: bounds the memory that a damaged file can request. */
const MAX_SIZE = 1 << 24;
/** Maximum number of ids without a token, for the same reason. */
const MAX_UNUSED_IDS = 1 << 20;
/** Maximum number of bytes of all tokens, as in the engine. */
const MAX_TOTAL_BYTES = 1 << 28;
/** Maximum number of UTF-16 code units of a decoded token; replacements can grow it exponentially. */
const MAX_TOKEN_LENGTH = 1 << 20;

/** The tokens by id (null without text), the special tokens by name, and the ids of all spellings. */
export function tokenizerTable(text) {
  let document = text;
  if (typeof text === "string" || ArrayBuffer.isView(text)) {
    try {
      document = JSON.parse(typeof text === "string" ? text : new TextDecoder().decode(text));
    } catch (error) {
      throw damaged(`it is not JSON: ${error.message}`);
    }
  }
  const model = member(document, "model", "object");
  const spellings = new Map(modelTokens(model));
  const special = {};
  for (const entry of document.added_tokens ?? []) {
    const id = member(entry, "id", "number");
    const content = member(entry, "content", "string");
    spellings.set(id, content);
    if (entry.special) {
      special[content] = id;
    }
  }
  const decode = tokenDecoder(document.decoder ?? undefined);
  const ids = new Map();
  for (const [id, spelling] of spellings) {
    ids.set(spelling, id);
  }
  return { tokens: byId(mapped(spellings, decode)), special, ids };
}

/** The tokens of a file of `base64(bytes) rank` lines by id; undefined for unused ids. */
export function tiktokenTable(bytes) {
  const lines = new TextDecoder().decode(bytes).split("\n");
  const entries = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") {
      continue;
    }
    const match = /^\s*([A-Za-z0-9+/]+={0,2})\s+([0-9]+)\s*$/.exec(line);
    if (match === null) {
      throw damaged(`line ${index + 1} is not \`base64(bytes) rank\`; is it a *.tiktoken file?`);
    }
    let text;
    try {
      text = Uint8Array.from(atob(match[1]), (character) => character.charCodeAt(0));
    } catch {
      throw damaged(`line ${index + 1} is not \`base64(bytes) rank\`; is it a *.tiktoken file?`);
    }
    entries.push([Number(match[2]), text]);
  }
  return byId(entries);
}

function damaged(message) {
  return new GrammaskError({ code: "damaged-file", message: `the tokenizer's file: ${message}` });
}

function refused(reason, remedy = "use a tokenizer with a byte-level decoder") {
  const message = `the tokens cannot be mapped to bytes: ${reason}; ${remedy}, or pass the bytes of each token to Vocabulary.fromTokens`;
  return new GrammaskError({ code: "unsupported-tokenizer", message });
}

/** A member of an object that has a type. */
function member(parent, key, type) {
  const value = parent?.[key];
  const isRight = type === "list" ? Array.isArray(value) : typeof value === type && value !== null;
  if (!isRight || (type === "object" && Array.isArray(value)) || (type === "number" && !Number.isInteger(value))) {
    throw damaged(`${JSON.stringify(key)} should be a ${type}; is it the right file?`);
  }
  return value;
}

/** Ids and tokens as written: a list of pieces with scores in Unigram models, an object in all others. */
function* modelTokens(model) {
  if (Array.isArray(model.vocab)) {
    for (const [id, piece] of model.vocab.entries()) {
      if (typeof piece?.[0] !== "string") {
        throw damaged(`piece ${id} has no text`);
      }
      yield [id, piece[0]];
    }
    return;
  }
  for (const [spelling, id] of Object.entries(member(model, "vocab", "object"))) {
    if (!Number.isInteger(id)) {
      throw damaged(`the token ${JSON.stringify(spelling)} has no id`);
    }
    yield [id, spelling];
  }
}

function* mapped(spellings, decode) {
  for (const [id, spelling] of spellings) {
    yield [id, decode(spelling)];
  }
}

/** The tokens in the order of their ids, with null for missing ids. */
function byId(entries) {
  const texts = new Map();
  let length = 0;
  let size = 0;
  for (const [id, text] of entries) {
    length += text.length;
    if (length > MAX_TOTAL_BYTES || id < 0 || id >= MAX_SIZE) {
      throw damaged(`it has a token with the id ${id}, or too long ones`);
    }
    const other = texts.get(id);
    if (other !== undefined && (other.length !== text.length || other.some((byte, place) => byte !== text[place]))) {
      throw damaged(`it has two tokens with the id ${id}`);
    }
    texts.set(id, text);
    size = Math.max(size, id + 1);
  }
  if (size > texts.size + MAX_UNUSED_IDS) {
    throw damaged(`it has ${texts.size} tokens and the id ${size - 1}`);
  }
  return Array.from({ length: size }, (_, id) => texts.get(id) ?? null);
}

/** The function from a token as written in the file to its bytes. */
function tokenDecoder(decoder) {
  if (decoder === undefined) {
    throw refused("there is no decoder", "set the decoder of the tokenizer and save it again");
  }
  const steps = [];
  let isFused = false;
  let isFinal = false;
  for (const step of flattened(decoder)) {
    const kind = member(step, "type", "string");
    if (kind === "Fuse") {
      isFused = true;
    } else if (kind === "Strip" && isFused && !step.stop) {
      continue;
    } else if (isFinal || (isFused && !isBytewise(step))) {
      throw refused(`the decoder step ${kind} works on joined tokens`);
    } else {
      steps.push(stepOf(kind, step));
      isFinal = kind === "ByteLevel" || kind === "ByteFallback";
      isFused ||= kind === "ByteLevel";
    }
  }
  return (token) => {
    let text = token;
    for (const step of steps) {
      if (typeof text !== "string") {
        break;
      }
      text = step(text);
    }
    return typeof text === "string" ? utf8.encode(text) : text;
  };
}

/** The steps of a decoder in order, with nested sequences flattened. */
function* flattened(decoder) {
  const pending = [decoder];
  while (pending.length > 0) {
    const step = pending.pop();
    if (step?.type === "Sequence") {
      pending.push(...member(step, "decoders", "list").toReversed());
    } else {
      yield step;
    }
  }
}

/** Whether a step has the same effect on joined tokens as on each of them. */
function isBytewise(step) {
  const old = step.pattern?.String;
  return step.type === "Replace" && typeof old === "string" && [...old].length === 1;
}

function stepOf(kind, step) {
  switch (kind) {
    case "ByteLevel":
      return byteLevel;
    case "ByteFallback":
      return byteFallback;
    case "Replace": {
      const pattern = member(step, "pattern", "object");
      if (!("String" in pattern)) {
        throw refused("the decoder replaces by a regular expression");
      }
      return replacement(member(pattern, "String", "string"), member(step, "content", "string"));
    }
    case "Metaspace": {
      const mark = character(step, "replacement");
      return (token) => token.replaceAll(mark, () => " ");
    }
    case "WordPiece":
      return wordPiece(member(step, "prefix", "string"), step.cleanup !== false);
    case "Strip":
      return stripped(character(step, "content"), member(step, "start", "number"), member(step, "stop", "number"));
    default:
      throw refused(`the decoder ${kind} gives a token a text that depends on its neighbours`);
  }
}

function character(step, key) {
  const value = member(step, key, "string");
  if ([...value].length !== 1) {
    throw damaged(`${JSON.stringify(key)} should be one character`);
  }
  return value;
}

function replacement(old, content) {
  if (old === "") {
    throw damaged("the decoder replaces an empty text");
  }
  return (token) => {
    const parts = token.split(old);
    if (token.length + (parts.length - 1) * (content.length - old.length) > MAX_TOKEN_LENGTH) {
      throw damaged(`the decoder makes a token of more than ${MAX_TOKEN_LENGTH} characters`);
    }
    return parts.join(content);
  };
}

function stripped(content, start, stop) {
  return (token) => {
    const characters = [...token];
    let head = 0;
    while (head < start && characters[head] === content) {
      head += 1;
    }
    let tail = characters.length;
    while (characters.length - tail < stop && tail > head && characters[tail - 1] === content) {
      tail -= 1;
    }
    return characters.slice(head, tail).join("");
  };
}

/** The replacements of the library's WordPiece decoder in each token, in order. */
const CLEANED_UP = [
  [" .", "."], [" ?", "?"], [" !", "!"], [" ,", ","], [" ' ", "'"], [" n't", "n't"], [" 'm", "'m"],
  [" do not", " don't"], [" 's", "'s"], [" 've", "'ve"], [" 're", "'re"],
];

/** Removes the prefix from continuations, adds a space before words, and cleans up each token. */
function wordPiece(prefix, cleansUp) {
  return (token) => {
    const text = token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
    return cleansUp ? CLEANED_UP.reduce((cleaned, [old, made]) => cleaned.replaceAll(old, made), text) : text;
  };
}

function byteFallback(token) {
  const match = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
  return match === null ? token : Uint8Array.of(Number.parseInt(match[1], 16));
}

/** Decodes the byte alphabet of GPT-2; a token with a character outside it is encoded as UTF-8. */
function byteLevel(token) {
  const bytes = new Uint8Array(token.length);
  for (let place = 0; place < token.length; place += 1) {
    const byte = BYTE_OF_CHARACTER.get(token.charCodeAt(place));
    if (byte === undefined) {
      return utf8.encode(token);
    }
    bytes[place] = byte;
  }
  return bytes;
}

/**
 * The bytes of the byte alphabet of GPT-2: printable Latin-1 bytes are written as themselves, the 68 others as U+0100
 * and following, in order (`bytes_to_unicode` of the GPT-2 release).
 */
const BYTE_OF_CHARACTER = (() => {
  const table = new Map();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte += 1) {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    table.set(isPrintable ? byte : next++, byte);
  }
  return table;
})();
