/** Grammars, vocabularies and exact masks; see grammask.d.ts for the interface. */

import { bytesOf, instanceOf, listOf, numberOf, objectOf, optionalNumberOf, optionsOf, stringOf } from "./arguments.js";
import initialise, * as engine from "./engine.js";
import { tiktokenTable, tokenizerTable } from "./vocabulary_files.js";
import { GrammaskError } from "./errors.js";

export { GrammaskError };

/** The memory of the engine, in which masks are; undefined before `load`. */
let memory;

/**
 * Loads the engine. `source` is a URL, a Response, or the bytes or the module of engine_bg.wasm; by default the file
 * beside this module. Further calls do nothing.
 */
export async function load(source) {
  if (memory === undefined) {
    const exports = await initialise({ module_or_path: await located(source) });
    memory = exports.memory;
  }
}

/** As `load`, at once, from the bytes or the compiled module of engine_bg.wasm. */
export function loadSync(source) {
  memory ??= engine.initSync({ module: source }).memory;
}

/** The source with the file beside this module as its default, whose bytes node reads itself. */
async function located(source) {
  const place = source ?? new URL("engine_bg.wasm", import.meta.url);
  if (place instanceof URL && place.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return readFile(place);
  }
  return place;
}

/** Calls the engine, whose errors are strings of JSON. */
function call(action) {
  if (memory === undefined) {
    throw new GrammaskError({ code: "not-loaded", message: "the engine is not loaded: await load() first" });
  }
  try {
    return action();
  } catch (error) {
    throw typeof error === "string" ? GrammaskError.of(error) : error;
  }
}

/** Options as JSON, in which `undefined` members do not occur. */
function json(options) {
  return JSON.stringify(options ?? {});
}

/** A text of JSON, or the text of a value. */
function jsonOf(value, name) {
  return typeof value === "string" ? value : stringOf(JSON.stringify(value), name);
}

/** An object that owns one of the engine. */
class Handle {
  #inner;

  constructor(inner) {
    this.#inner = inner;
  }

  get inner() {
    if (this.#inner === undefined) {
      throw new GrammaskError({ code: "freed", message: "the object was freed" });
    }
    return this.#inner;
  }

  /** Frees the memory of the engine now; otherwise this happens some time after the object is unreachable. */
  free() {
    this.#inner?.free();
    this.#inner = undefined;
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.free();
  }
}

export class Vocabulary extends Handle {
  static bytes() {
    const tokens = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
    return Vocabulary.fromTokens([...tokens, null], { special: { "<eos>": 256 }, eos: [256] });
  }

  static fromTokens(tokens, options) {
    const { special = {}, eos = [], size } = optionsOf(options, "special", "eos", "size");
    const texts = listOf(tokens, "tokens").map((token) => (token == null ? null : bytesOf(token)));
    const lengths = Int32Array.from(texts, (text) => (text === null ? -1 : text.length));
    const bytes = new Uint8Array(texts.reduce((sum, text) => sum + (text?.length ?? 0), 0));
    let position = 0;
    for (const text of texts) {
      if (text !== null) {
        bytes.set(text, position);
        position += text.length;
      }
    }
    const names = new Map(Object.entries(special));
    const ends = Uint32Array.from(Array.isArray(eos) ? eos : [eos], (end) => {
      const id = typeof end === "string" ? names.get(end) : end;
      if (id === undefined) {
        throw new GrammaskError({ code: "unknown-eos", message: `the end token ${end} is no special token` });
      }
      return numberOf(id, "an end token");
    });
    const pairs = JSON.stringify([...names]);
    const width = optionalNumberOf(size, "size");
    return new Vocabulary(call(() => new engine.Vocabulary(bytes, lengths, pairs, ends, width)));
  }

  static fromTokenizerJson(text, options) {
    const { eos, size } = optionsOf(options, "eos", "size");
    const { tokens, special, ids } = tokenizerTable(text);
    const ends = (Array.isArray(eos) ? eos : eos == null ? [] : [eos]).map((end) => ids.get(end) ?? end);
    return Vocabulary.fromTokens(tokens, { special, eos: ends, size });
  }

  static fromTiktoken(bytes, options) {
    const { special = {}, eos = [], size } = optionsOf(options, "special", "eos", "size");
    const tokens = tiktokenTable(bytesOf(bytes));
    const length = Math.max(tokens.length, ...Object.values(special).map((id) => id + 1));
    const padded = Array.from({ length }, (_, id) => tokens[id] ?? null);
    return Vocabulary.fromTokens(padded, { special, eos, size });
  }

  static fromBytes(saved) {
    return new Vocabulary(call(() => engine.Vocabulary.fromBytes(bytesOf(saved))));
  }

  toBytes() {
    return this.inner.toBytes();
  }

  get size() {
    return this.inner.size;
  }

  get eos() {
    return this.inner.eos;
  }

  get special() {
    return Object.fromEntries(JSON.parse(this.inner.special()));
  }

  token(id) {
    return this.inner.token(numberOf(id, "a token"));
  }

  nameOf(id) {
    return this.inner.nameOf(numberOf(id, "a token"));
  }

  trieOrder() {
    return this.inner.trieOrder();
  }

  tokenize(text) {
    return call(() => this.inner.tokenize(bytesOf(text)));
  }
}

export class Grammar extends Handle {
  static fromKbnf(source, options) {
    return Grammar.#ofRules(engine.Grammar.fromKbnf, source, options);
  }

  static fromGbnf(source, options) {
    return Grammar.#ofRules(engine.Grammar.fromGbnf, source, options);
  }

  /** The grammar that a reader of the engine makes of rules, and of the grammars of terminals among the options. */
  static #ofRules(read, source, options) {
    const { terminals = {}, ...others } = options ?? {};
    return call(() => {
      const grammars = new engine.TerminalGrammars();
      try {
        for (const [name, grammar] of Object.entries(objectOf(terminals, "terminals"))) {
          grammars.add(name, instanceOf(grammar, Grammar).inner);
        }
        return new Grammar(read(stringOf(source, "a grammar"), json(others), grammars));
      } finally {
        grammars.free();
      }
    });
  }

  static fromRegex(source, options) {
    return new Grammar(call(() => engine.Grammar.fromRegex(stringOf(source, "a grammar"), json(options))));
  }

  static fromChoices(texts, options) {
    return new Grammar(call(() => engine.Grammar.fromChoices(JSON.stringify(listOf(texts, "texts")), json(options))));
  }

  static fromJsonSchema(schema, options) {
    const text = jsonOf(schema, "a schema");
    return new Grammar(call(() => engine.Grammar.fromJsonSchema(text, json(options))));
  }

  static keywordEffects(schema, options) {
    const text = jsonOf(schema, "a schema");
    return JSON.parse(call(() => engine.Grammar.keywordEffects(text, json(options))));
  }

  static bundled(definition, options) {
    const text = jsonOf(definition, "a definition");
    return new Grammar(call(() => engine.Grammar.bundled(text, json(options))));
  }

  warnings() {
    return JSON.parse(call(() => this.inner.warnings()));
  }

  relaxations() {
    return JSON.parse(this.inner.relaxations());
  }

  ruleNames() {
    return JSON.parse(this.inner.ruleNames());
  }

  diagrams() {
    return JSON.parse(this.inner.diagrams()).map(([rule, svg]) => ({ rule, svg }));
  }

  compile(vocabulary, options) {
    return new CompiledGrammar(call(() => this.inner.compile(instanceOf(vocabulary, Vocabulary).inner, json(options))));
  }
}

export class CompiledGrammar extends Handle {
  matcher(options) {
    const { maxTokens } = optionsOf(options, "maxTokens");
    return new Matcher(call(() => this.inner.matcher(optionalNumberOf(maxTokens, "maxTokens"))));
  }

  firstError(text) {
    return call(() => this.inner.firstError(bytesOf(text)));
  }

  isValid(text) {
    return this.firstError(text) === undefined;
  }

  explainText(text) {
    return JSON.parse(call(() => this.inner.explainText(bytesOf(text)))) ?? undefined;
  }

  warnings() {
    return JSON.parse(this.inner.warnings());
  }

  precompute(options) {
    const { maxSets, milliseconds } = optionsOf(options, "maxSets", "milliseconds");
    const [sets, time] = [optionalNumberOf(maxSets, "maxSets"), optionalNumberOf(milliseconds, "milliseconds")];
    return call(() => this.inner.precompute(sets, time));
  }

  get memoryBytes() {
    return this.inner.memoryBytes;
  }

  get hasLexer() {
    return this.inner.hasLexer;
  }
}

export class Matcher extends Handle {
  accept(id) {
    return call(() => this.inner.accept(numberOf(id, "a token")));
  }

  acceptBytes(text) {
    return call(() => this.inner.acceptBytes(bytesOf(text)));
  }

  validate(tokens) {
    return call(() => this.inner.validate(Uint32Array.from(tokens, (id) => numberOf(id, "a token"))));
  }

  fillMask() {
    call(() => this.inner.fillMask());
  }

  maskWords() {
    if (this.inner.maskAddress === 0) {
      this.fillMask();
    }
    return new Uint32Array(memory.buffer, this.inner.maskAddress, this.inner.maskLength);
  }

  allowedCount() {
    if (this.inner.maskAddress === 0) {
      this.fillMask();
    }
    return this.inner.allowedCount();
  }

  rollback(count = 1) {
    call(() => this.inner.rollback(numberOf(count, "a count")));
  }

  fork() {
    return new Matcher(this.inner.fork());
  }

  reset() {
    this.inner.reset();
  }

  get isComplete() {
    return this.inner.isComplete;
  }

  get isFinished() {
    return this.inner.isFinished;
  }

  get tokens() {
    return this.inner.tokens;
  }

  get stepCount() {
    return this.inner.stepCount;
  }

  get budget() {
    return this.inner.budget;
  }

  set budget(tokens) {
    call(() => this.inner.setBudget(optionalNumberOf(tokens, "a budget")));
  }

  tokensToFinish() {
    return call(() => this.inner.tokensToFinish());
  }

  shortestCompletion() {
    const { tokens, bytes } = JSON.parse(call(() => this.inner.shortestCompletion()));
    return { tokens: Uint32Array.from(tokens), bytes: Uint8Array.from(bytes) };
  }

  forcedBytes(limit = 4096) {
    return call(() => this.inner.forcedBytes(numberOf(limit, "a limit")));
  }

  forcedTokens(limit = 256) {
    return call(() => this.inner.forcedTokens(numberOf(limit, "a limit")));
  }

  expected() {
    return JSON.parse(call(() => this.inner.expected()));
  }

  explain(id) {
    return JSON.parse(call(() => this.inner.explain(numberOf(id, "a token"))));
  }

  tokensByTerminal(limit = 100) {
    return JSON.parse(call(() => this.inner.tokensByTerminal(numberOf(limit, "a limit"))));
  }

  tree() {
    const nodes = JSON.parse(call(() => this.inner.tree()));
    if (nodes === null || nodes.length === 0) {
      return undefined;
    }
    const made = nodes.map(({ parent, ...fields }) => ({ ...fields, children: [] }));
    const roots = [];
    for (const [index, { parent }] of nodes.entries()) {
      (parent === null ? roots : made[parent].children).push(made[index]);
    }
    return roots[0];
  }

  lexemes() {
    return JSON.parse(call(() => this.inner.readings()));
  }

  describe() {
    return this.inner.describe();
  }
}
