// One document of the playground in the engine: the compiled grammar, and a matcher that follows the text as it changes.
// It runs in the worker, and has no access to the page.

import {Grammar, GrammaskError} from "./grammask.js";
import {encode} from "../bytes.js";

const LIMITS = {milliseconds: 4000};
const MAX_FORCED_BYTES = 400;
const MAX_TOKENS_OF_A_GROUP = 40;
const MAX_TREE_BYTES = 20_000;

const READERS = {
  kbnf: (source, {lexer}) => Grammar.fromKbnf(source, lexer ? {lexer, limits: LIMITS} : {limits: LIMITS}),
  gbnf: (source, {lexer}) => Grammar.fromGbnf(source, lexer ? {lexer, limits: LIMITS} : {limits: LIMITS}),
  regex: (source) => Grammar.fromRegex(source.replace(/\n+$/, ""), {limits: LIMITS}),
  choices: (source) => Grammar.fromChoices(source.split("\n").filter((line) => line !== ""), {limits: LIMITS}),
  schema: (source, {keyOrder}) => Grammar.fromJsonSchema(source, keyOrder ? {keyOrder, limits: LIMITS} : {limits: LIMITS}),
  bundled: (source, _, definitions) => Grammar.bundled(definitions[source], {limits: LIMITS}),
};

// Reads a grammar of the page: `{notation, source, lexer, keyOrder}`.
export function readGrammar(document, definitions) {
  return READERS[document.notation](document.source, document, definitions);
}

// An error as data, for a message to the page.
export function failure(error) {
  if (!(error instanceof GrammaskError)) return {message: String(error), diagnostics: []};
  return {message: error.message, code: error.code, diagnostics: error.diagnostics ?? []};
}

export class Session {
  #vocabulary;
  #definitions;
  #compiled;
  #matcher;
  // The tokens that the matcher has accepted.
  #accepted = [];
  // The numbers of allowed tokens before each token of a text, and after the last.
  #counted = {ids: [], counts: []};

  constructor(vocabulary, definitions) {
    this.#vocabulary = vocabulary;
    this.#definitions = definitions;
  }

  // Replaces the grammar. Throws a GrammaskError; then there is no grammar.
  compile(document) {
    this.free();
    const grammar = readGrammar(document, this.#definitions);
    try {
      const [warnings, diagrams] = [grammar.warnings(), grammar.diagrams()];
      // A tokenizer.json does not say which special token ends a text.
      const end = this.#vocabulary.eos.length > 0 ? "eos" : "eager";
      this.#compiled = grammar.compile(this.#vocabulary, {end, limits: LIMITS});
      this.#matcher = this.#compiled.matcher();
      return {warnings, diagrams, hasLexer: this.#compiled.hasLexer};
    } finally {
      grammar.free();
    }
  }

  // Frees the memory of the grammar, which else is freed some time later.
  free() {
    this.#matcher?.free();
    this.#compiled?.free();
    this.#matcher = undefined;
    this.#compiled = undefined;
    this.#accepted = [];
    this.#counted = {ids: [], counts: []};
  }

  // The keywords of a schema with their effects; none of a text that is no JSON.
  keywordEffects({source, keyOrder}) {
    try {
      return Grammar.keywordEffects(source, keyOrder ? {keyOrder, limits: LIMITS} : {limits: LIMITS});
    } catch {
      return [];
    }
  }

  get isReady() {
    return this.#matcher !== undefined;
  }

  // Reads a text: its tokens `ids` with the offsets where they begin, `fits`, the number of bytes that are a prefix of a
  // text of the grammar, and `legal`, the number of tokens within them.
  read(text) {
    const bytes = encode(text);
    const error = this.#compiled.firstError(bytes);
    const fits = Math.min(error ?? bytes.length, bytes.length);
    const ids = this.#vocabulary.tokenize(bytes);
    const offsets = new Uint32Array(ids.length + 1);
    let end = 0;
    for (let index = 0; index < ids.length; index++) {
      end += this.#vocabulary.token(ids[index]).length;
      offsets[index + 1] = end;
    }
    let legal = 0;
    while (legal < ids.length && offsets[legal + 1] <= fits) legal++;
    return {bytes, fits, ids, offsets, legal};
  }

  // Moves the matcher to the state after `count` tokens of the text, by as few steps as possible.
  moveTo(ids, count) {
    let common = 0;
    const shorter = Math.min(count, this.#accepted.length);
    while (common < shorter && this.#accepted[common] === ids[common]) common++;
    this.#matcher.rollback(this.#accepted.length - common);
    this.#accepted.length = common;
    while (this.#accepted.length < count) {
      const id = ids[this.#accepted.length];
      if (!this.#matcher.accept(id)) return false;
      this.#accepted.push(id);
    }
    return true;
  }

  // A matcher of its own in the present state.
  fork() {
    return this.#matcher.fork();
  }

  // The mask of the present state. Its words are a copy.
  mask() {
    const begin = performance.now();
    if (!this.#matcher.isFinished) this.#matcher.fillMask();
    const milliseconds = performance.now() - begin;
    const words = this.#matcher.isFinished
      ? new Uint32Array(Math.ceil(this.#vocabulary.size / 32)) : Uint32Array.from(this.#matcher.maskWords());
    return {words, allowed: this.#matcher.isFinished ? 0 : this.#matcher.allowedCount(), milliseconds};
  }

  // The number of allowed tokens after `step` tokens, for ascending steps of a text from `countedSteps` on.
  count(ids, step) {
    this.moveTo(ids, step);
    if (!this.#matcher.isFinished) this.#matcher.fillMask();
    this.#counted.counts[step] = this.#matcher.isFinished ? 0 : this.#matcher.allowedCount();
    this.#counted.ids = ids.slice(0, step);
  }

  // The numbers of the steps that are counted: those of the prefix that this text has in common with the last one.
  countedSteps(ids) {
    const known = this.#counted;
    let common = 0;
    while (common < known.ids.length && known.ids[common] === ids[common]) common++;
    known.ids = known.ids.slice(0, common);
    known.counts.length = Math.min(known.counts.length, common + 1);
    return known.counts;
  }

  // The terminals and the forced text after the present state.
  next() {
    const matcher = this.#matcher;
    return {
      isComplete: matcher.isComplete,
      isFinished: matcher.isFinished,
      expected: matcher.isFinished ? [] : matcher.expected(),
      forced: matcher.isFinished ? new Uint8Array() : matcher.forcedBytes(MAX_FORCED_BYTES),
    };
  }

  // Why the text is refused.
  refusal(text) {
    return this.#compiled.explainText(text);
  }

  // Allowed tokens by the terminal that they continue.
  groups() {
    return this.#matcher.isFinished ? [] : this.#matcher.tokensByTerminal(MAX_TOKENS_OF_A_GROUP);
  }

  tree(text) {
    return text.length > MAX_TREE_BYTES ? undefined : this.#matcher.tree();
  }

  // The ways to read the text with a lexer; none without one.
  readings() {
    return this.#matcher.lexemes();
  }

  explain(id) {
    return this.#matcher.explain(id);
  }
}
