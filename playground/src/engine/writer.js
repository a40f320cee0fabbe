// Writes the next characters of a text: tokens of a language model under the mask, within a token budget.

import {GrammaskError} from "./grammask.js";
import {decoded} from "../bytes.js";

// Probability that a text ends where it may end or go on.
const END_PROBABILITY = 1 / 5;

// Appends tokens to the text of `matcher` until they are whole characters. `tokensLeft` is the budget with the end token,
// and `mayEnd` tells whether a complete text may end before them. Returns `{addition, count, tokensLeft, hasEnded,
// isComplete}`: the characters, the number of their tokens, the budget after them, whether the writing has ended, and whether
// the text is complete then.
export function writeCharacters({matcher, vocabulary, model, text, tokensLeft, mayEnd}) {
  const budget = withBudget(matcher, tokensLeft);
  let written = new Uint8Array();
  let count = 0;
  let addition;
  const wantsEnd = mayEnd && matcher.isComplete && Math.random() < END_PROBABILITY;
  while (!wantsEnd && !matcher.isFinished && !addition && count < budget) {
    const id = model.draw(joined(text, written), choices(matcher, vocabulary));
    if (id === undefined) break; // Only the end token, or tokens without text.
    matcher.accept(id);
    count++;
    written = joined(written, vocabulary.token(id));
    addition = decoded(written);
  }
  const hasEnded = !addition || matcher.isFinished || count === budget;
  return {addition: addition ?? "", count, tokensLeft: budget - count, hasEnded, isComplete: matcher.isComplete};
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
