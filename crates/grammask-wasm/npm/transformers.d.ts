import type { CompiledGrammar } from "./grammask.js";

/** The parts of a tensor of transformers.js that are used. */
export interface LogitsTensor {
  readonly data: Float32Array;
  readonly dims: number[];
}

/**
 * A logits processor of transformers.js: push it to a `LogitsProcessorList`, which `generate` takes as
 * `logits_processor`. Make one for each call of `generate`, whose first call has the prompt. With `maxTokens` every text
 * ends within this number of tokens. Beams are not supported: their rows change places.
 */
export class GrammarLogitsProcessor {
  constructor(compiled: CompiledGrammar, options?: { maxTokens?: number });
  /**
   * Sets the logits of illegal tokens to negative infinity. `ids` has the tokens of each text, the prompt's included;
   * `logits` has the shape [batch, width], and is changed and returned.
   */
  _call<T extends LogitsTensor>(ids: ArrayLike<number | bigint>[], logits: T): T;
}
