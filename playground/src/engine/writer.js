// Writes the next characters of a text: tokens of a language model under the mask, within a token budget.

import {GrammaskError} from "./grammask.js";
import {decoded} from "../bytes.js";

// Probability that a text ends where it may end or go on.
const END_PROBABILITY = 1 / 5;

// Appends tokens to the text of `matcher` until they are whole characters. `tokensLeft` is the budget with the end token,
// and `mayEnd` tells whether a complete text may end before them. Returns `{addition, tokensLeft, hasEnded}`: the
// characters, the budget after them, and whether the text has ended.
export function writeCharacters({matcher, vocabulary, model, text, tokensLeft, mayEnd}) {
  const ended = {addition: "", tokensLeft, hasEnded: true};
  if (matcher.isFinished || mayEnd && matcher.isComplete && Math.random() < END_PROBABILITY) return ended;
  let left = withBudget(matcher, tokensLeft);
  let written = new Uint8Array();
  while (left > 0 && !matcher.isFinished) {
    const id = model.draw(joined(text, written), choices(matcher, vocabulary));
    if (id === undefined) return ended; // Only the end token, or tokens without text.
    matcher.accept(id);
    left--;
    written = joined(written, vocabulary.token(id));
    const addition = decoded(written);
    if (addition !== undefined) return {addition, tokensLeft: left, hasEnded: matcher.isFinished};
  }
  return ended;
}

// The tokens with text that the mask allows, as `NgramModel.draw` asks for them.
function choices(matcher, vocabulary) {
  matcher.fillMask();
  const words = Uint32Array.from(matcher.maskWords());
  const isLegal = (id) => Boolean(words[id >> 5] >>> (id & 31) & 1);
  return {
    isLegal,
    legal: () => vocabulary.trieOrder().filter(isLegal),
    lengthOf: (id) => vocabulary.token(id).length,
    longestToken: (bytes) => firstToken(vocabulary, bytes),
  };
}

// Gives the matcher a budget, or the least sufficient one if that is larger, and returns it. Grammars without a known
// completion have none.
function withBudget(matcher, tokens) {
  try {
    matcher.budget = tokens;
    return tokens;
  } catch (error) {
    if (!(error instanceof GrammaskError)) throw error;
    if (error.minimum === undefined) return tokens;
    matcher.budget = error.minimum;
    return error.minimum;
  }
}

function firstToken(vocabulary, bytes) {
  try {
    return vocabulary.tokenize(bytes)[0];
  } catch (error) {
    if (error instanceof GrammaskError) return undefined;
    throw error;
  }
}

function joined(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
