// The language model of the button Write: n-grams of bytes over the texts that the page carries and the grammar.
//
// The next token is a continuation of the longest ending of the text, up to MAX_CONTEXT_BYTES, that the texts contain with a
// legal token after it, each occurrence with the same probability. Where no text has a legal token, all legal tokens have the same
// probability, so there is always one. Cost: a few searches through the texts per token.

const MAX_CONTEXT_BYTES = 10;
// Occurrences of a context that are tried before a shorter context.
const MAX_OCCURRENCES = 40;
// Bytes after an occurrence in which the token is looked for.
const MAX_TOKEN_BYTES = 24;

export class NgramModel {
  // A string with one character per byte, in which contexts are searched.
  #texts;

  // `texts` is a list of bytes.
  constructor(texts) {
    this.#texts = texts.map(latin1).join("\n");
  }

  // A legal token after `text`; undefined if there is none. `longestToken(bytes)` is the longest token that the bytes begin
  // with, or undefined, `isLegal(id)` tells whether the mask allows a token, and `legal()` lists all that it allows.
  draw(text, {longestToken, lengthOf, isLegal, legal}) {
    const ending = latin1(text.subarray(-MAX_CONTEXT_BYTES));
    for (let length = ending.length; length >= 0; length--) {
      for (const end of this.#occurrences(ending.slice(ending.length - length))) {
        let rest = bytesOf(this.#texts.slice(end, end + MAX_TOKEN_BYTES));
        while (rest.length > 0) {
          const id = longestToken(rest);
          if (id === undefined) break;
          if (isLegal(id)) return id;
          rest = rest.subarray(0, lengthOf(id) - 1);
        }
      }
    }
    const ids = legal();
    return ids[Math.floor(Math.random() * ids.length)];
  }

  // Where the texts go on after a context, in random order.
  #occurrences(context) {
    const ends = [];
    if (context === "") {
      for (let count = 0; count < MAX_OCCURRENCES; count++) ends.push(Math.floor(Math.random() * this.#texts.length));
      return ends;
    }
    for (let at = this.#texts.indexOf(context); at >= 0; at = this.#texts.indexOf(context, at + 1)) ends.push(at + context.length);
    for (let last = ends.length - 1; last > 0; last--) {
      const other = Math.floor(Math.random() * (last + 1));
      [ends[last], ends[other]] = [ends[other], ends[last]];
    }
    return ends.slice(0, MAX_OCCURRENCES);
  }
}

function latin1(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return text;
}

function bytesOf(text) {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
