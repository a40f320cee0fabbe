/** Constrains the output of models of transformers.js; see transformers.d.ts for the interface. */

import { instanceOf, optionsOf } from "./arguments.js";
import { GrammaskError } from "./errors.js";
import { CompiledGrammar } from "./grammask.js";

/** All bits of a word of a mask. */
const ALL = 0xffffffff;

/** The logit of legal tokens of which none has a finite one, as in the engine. */
const RESTORED = -1000;

/**
 * A logits processor: each text of a batch has a matcher, which reads the tokens that were generated since the last
 * call. Generation calls a processor like a function, so an object of this class is one; nothing of transformers.js is
 * imported.
 */
export class GrammarLogitsProcessor {
  constructor(compiled, options) {
    const { maxTokens } = optionsOf(options, "maxTokens");
    const processor = (ids, logits) => processor._call(ids, logits);
    Object.setPrototypeOf(processor, new.target.prototype);
    processor.compiled = instanceOf(compiled, CompiledGrammar);
    processor.maxTokens = maxTokens;
    processor.matchers = [];
    processor.lengths = [];
    return processor;
  }

  _call(ids, logits) {
    const width = logits.dims.at(-1);
    for (const [row, tokens] of ids.entries()) {
      this.read(row, tokens);
      apply(this.matchers[row], logits.data.subarray(row * width, (row + 1) * width));
    }
    return logits;
  }

  /** Makes the matcher of a row at its first call, whose tokens are the prompt, and reads new tokens at later ones. */
  read(row, tokens) {
    if (this.matchers[row] === undefined) {
      this.matchers[row] = this.compiled.matcher({ maxTokens: this.maxTokens });
      this.lengths[row] = tokens.length;
      return;
    }
    const matcher = this.matchers[row];
    for (; this.lengths[row] < tokens.length; this.lengths[row] += 1) {
      const id = Number(tokens[this.lengths[row]]);
      if (!matcher.isFinished && !matcher.accept(id)) {
        const message = `the generation has chosen token ${id}, which the grammar does not allow`;
        throw new GrammaskError({ code: "illegal-token", message });
      }
    }
  }
}

/** Sets the entries of illegal tokens to negative infinity; entries beyond the vocabulary are padding. */
function apply(matcher, logits) {
  matcher.fillMask();
  const words = matcher.maskWords();
  for (let start = 0; start < logits.length; start += 32) {
    const word = words[start >> 5] ?? 0;
    if (word === ALL) {
      continue;
    }
    const end = Math.min(start + 32, logits.length);
    for (let id = start; id < end; id += 1) {
      if (((word >>> (id & 31)) & 1) === 0) {
        logits[id] = -Infinity;
      }
    }
  }
  restore(words, logits);
}

/**
 * Gives finite logits to the legal tokens if none of them has one, since other processors may have excluded them all:
 * RESTORED to those with the largest logit, where NaN counts as negative infinity. Ends at the first finite logit.
 */
function restore(words, logits) {
  const legal = [];
  for (let start = 0; start < logits.length && start >> 5 < words.length; start += 32) {
    const word = words[start >> 5];
    const end = word === 0 ? start : Math.min(start + 32, logits.length);
    for (let id = start; id < end; id += 1) {
      if (((word >>> (id & 31)) & 1) === 0) {
        continue;
      }
      if (Number.isFinite(logits[id])) {
        return;
      }
      legal.push(id);
    }
  }
  const hasHighest = legal.some((id) => logits[id] === Infinity);
  for (const id of legal) {
    logits[id] = hasHighest && logits[id] !== Infinity ? -Infinity : RESTORED;
  }
}
