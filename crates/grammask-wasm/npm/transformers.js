/** Constrains the output of models of transformers.js; see transformers.d.ts for the interface. */

import { GrammaskError } from "./errors.js";

/**
 * A logits processor: each text of a batch has a matcher, which reads the tokens that were generated since the last
 * call. The class has the form of `LogitsProcessor` of transformers.js and does not import it.
 */
export class GrammarLogitsProcessor extends Function {
  constructor(compiled, { maxTokens } = {}) {
    super();
    // Generation calls a processor like a function; the object that it calls is this one with that behaviour.
    const self = new Proxy(this, { apply: (target, _, [ids, logits]) => self._call(ids, logits) });
    this.compiled = compiled;
    this.maxTokens = maxTokens;
    this.matchers = [];
    this.lengths = [];
    return self;
  }

  /**
   * Sets the logits of illegal tokens to negative infinity. `ids` has the tokens of each text, the prompt's included;
   * `logits` is a tensor of shape [batch, width], which is changed and returned.
   */
  _call(ids, logits) {
    const width = logits.dims.at(-1);
    for (const [row, tokens] of ids.entries()) {
      this.read(row, tokens);
      mask(this.matchers[row], logits.data.subarray(row * width, (row + 1) * width));
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
    for (; this.lengths[row] < tokens.length; this.lengths[row] += 1) {
      const id = Number(tokens[this.lengths[row]]);
      const matcher = this.matchers[row];
      if (!matcher.isFinished && !matcher.accept(id)) {
        const message = `the generation has chosen token ${id}, which the grammar does not allow`;
        throw new GrammaskError({ code: "illegal-token", message });
      }
    }
  }
}

/** Sets the entries of illegal tokens to negative infinity; entries beyond the vocabulary are padding. */
function mask(matcher, logits) {
  matcher.fillMask();
  const words = matcher.maskWords();
  for (let id = 0; id < logits.length; id += 1) {
    if (((words[id >> 5] >>> (id & 31)) & 1) === 0) {
      logits[id] = -Infinity;
    }
  }
}
