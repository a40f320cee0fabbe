import type { CompiledGrammar } from "./grammask.js";

/** The parts of a tensor of transformers.js that are used. */
export interface LogitsTensor {
  readonly data: Float32Array;
  readonly dims: number[];
}

/**
 * A logits processor of transformers.js: `await model.generate({ ...inputs, logits_processor: list })`, where `list` is a
 * `LogitsProcessorList` that it was pushed to. Make one for each call of `generate`; beams are not supported.
 */
export class GrammarLogitsProcessor extends Function {
  constructor(compiled: CompiledGrammar, options?: { maxTokens?: number });
  _call<T extends LogitsTensor>(ids: ArrayLike<number | bigint>[], logits: T): T;
}
