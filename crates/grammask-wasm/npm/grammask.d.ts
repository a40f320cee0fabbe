/** Exact grammar masks for language models, in WebAssembly. */

/** Positions in a source are offsets in UTF-16 code units, as of `String.prototype.slice`; lines and columns count from 1. */
export interface Diagnostic {
  code: string;
  severity: "error" | "warning";
  message: string;
  line: number | null;
  column: number | null;
  start: number | null;
  end: number | null;
  found: string | null;
  expected: string[];
  help: string | null;
  /** For schemas, the JSON pointer of the keyword. */
  pointer: string | null;
  /** The diagnostic with the line of the source and a caret. */
  rendered: string;
}

/** An error of the engine. The position and the help are those of the first diagnostic. */
export class GrammaskError extends Error {
  readonly code: string;
  readonly line?: number;
  readonly column?: number;
  readonly start?: number;
  readonly end?: number;
  readonly help?: string;
  readonly pointer?: string;
  /** The least budget that would suffice, if a budget is too small. */
  readonly minimum?: number;
  readonly diagnostics: Diagnostic[];
}

/** Loads the engine: from a URL, a response, or the bytes or the module of `engine_bg.wasm`; by default from the package. */
export function load(source?: string | URL | Request | Response | Promise<Response> | BufferSource | WebAssembly.Module): Promise<void>;
/** As `load`, at once. */
export function loadSync(source: BufferSource | WebAssembly.Module): void;

/** Objects of the engine. */
interface Owned {
  /** Frees the memory now; otherwise this happens some time after the object is unreachable. Its use is an error then. */
  free(): void;
}

export interface VocabularyOptions {
  /** Ids by the names of special tokens. */
  special?: Record<string, number>;
  /** Ids or names of the end tokens. */
  eos?: number | string | (number | string)[];
  /** Number of ids, if logits are wider than the vocabulary. */
  size?: number;
}

/** The tokens of a model. Immutable, and shared by all grammars without copying. */
export class Vocabulary implements Owned {
  private constructor();
  /** One token per byte, and the end token 256: for experiments without a model. */
  static bytes(): Vocabulary;
  /** Tokens by id: bytes, or texts that are encoded as UTF-8, or null for tokens without text. */
  static fromTokens(tokens: (Uint8Array | string | null)[], options?: VocabularyOptions): Vocabulary;
  /** The tokens of a `tokenizer.json`, which does not name the end tokens. */
  static fromTokenizerJson(text: string | Uint8Array | object, options?: Omit<VocabularyOptions, "special">): Vocabulary;
  /** The tokens of a file of tiktoken, which does not have the special tokens. */
  static fromTiktoken(bytes: Uint8Array | string, options?: VocabularyOptions): Vocabulary;
  /** A vocabulary that `toBytes` saved, here or in Python. Loading one takes a fraction of the time of other files. */
  static fromBytes(saved: Uint8Array): Vocabulary;
  toBytes(): Uint8Array;
  /** Number of ids: the width of a mask in bits. */
  readonly size: number;
  readonly eos: Uint32Array;
  readonly special: Record<string, number>;
  /** The bytes of a token; undefined for a token without text. */
  token(id: number): Uint8Array | undefined;
  /** The name of a special token. */
  nameOf(id: number): string | undefined;
  /** The ids of the tokens with text, in the order of their bytes. */
  trieOrder(): Uint32Array;
  /** The tokens of a text, each the longest that fits. The tokenizer of a model may cut the text otherwise. */
  tokenize(text: Uint8Array | string): Uint32Array;
  free(): void;
}

/** Limits for untrusted grammars; an exceeded one is an error with the code `limit-exceeded`. */
export interface Limits {
  grammarBytes?: number;
  grammarSize?: number;
  automatonStates?: number;
  setItems?: number;
  boundBytes?: number;
  memoryBytes?: number;
  milliseconds?: number;
}

export interface LexerOptions {
  /** With a lexer or a parser, directives of the grammar say what a lexeme is; without, rules derive texts byte by byte. */
  lexer?: "basic" | "contextual" | "dynamic" | "dynamic_complete";
  parser?: "lalr" | "earley";
  /** The grammars of terminals that the grammar declares by `%declare`, by name. They have no lexer. */
  terminals?: Record<string, Grammar>;
}

export interface KbnfOptions extends LexerOptions {
  /** The start symbol, `start` by default. */
  start?: string;
  limits?: Limits;
}

export interface GbnfOptions extends LexerOptions {
  /** The start symbol, `root` by default. */
  start?: string;
  dialect?: "llama.cpp" | "xgrammar";
  limits?: Limits;
}

export interface RegexOptions {
  /** The syntax of the Rust crate regex, or that of JavaScript in JSON Schema. */
  syntax?: "rust" | "ecma";
  limits?: Limits;
}

/** As the keywords of `Grammar.from_json_schema` in Python, which documents them. */
export interface JsonSchemaOptions {
  draft?: "4" | "6" | "7" | "2019-09" | "2020-12";
  /** `natural`, `compact`, `flexible`, or `regex:` and an expression. */
  whitespace?: string;
  maxWhitespace?: number;
  indent?: number;
  separators?: [string, string];
  keyOrder?: "declared" | "any";
  uniqueNames?: boolean | "counted";
  escapes?: "natural" | "any" | "ascii" | "raw";
  numbers?: "natural" | "any" | "plain";
  onUnsupported?: "error" | "relax";
  formats?: boolean;
  content?: "annotation" | "enforce";
  openapiNullable?: boolean;
  /** Documents that references name: pairs of an absolute URI and JSON. */
  resources?: [string, string][];
  excludes?: string[];
  limits?: Limits;
}

/** A keyword of a JSON Schema and what it does. `pointer` is the JSON pointer of its value, after `#`. */
export interface KeywordEffect {
  keyword: string;
  pointer: string;
  kind: "enforced" | "structural" | "annotation" | "refused" | "idle" | "unknown";
  message?: string;
}

/** A grammar, independent of a vocabulary. */
export class Grammar implements Owned {
  private constructor();
  static fromKbnf(source: string, options?: KbnfOptions): Grammar;
  static fromGbnf(source: string, options?: GbnfOptions): Grammar;
  static fromRegex(pattern: string, options?: RegexOptions): Grammar;
  static fromChoices(texts: string[], options?: { limits?: Limits }): Grammar;
  /** The JSON texts that a schema validates. Pass a string where digits and the order of members matter. */
  static fromJsonSchema(schema: string | object | boolean, options?: JsonSchemaOptions): Grammar;
  /** The keywords of a schema and its subschemas with their effects, in the order of the text. */
  static keywordEffects(schema: string | object | boolean, options?: JsonSchemaOptions): KeywordEffect[];
  /** A bundled language, from a file of the folder `grammars` of the package; its start symbol is `file` by default. */
  static bundled(definition: string | object, options?: { start?: string; limits?: Limits }): Grammar;
  /** The warnings of the front end and of compiling. */
  warnings(): Diagnostic[];
  /** The constraints of a schema that are not enforced, with `onUnsupported: "relax"`. */
  relaxations(): Diagnostic[];
  ruleNames(): string[];
  /** The railroad diagrams of the rules as SVG; none for bundled languages. References have the attribute `data-rule`. */
  diagrams(): { rule: string; svg: string }[];
  /**
   * Compiles the grammar. With `end: "eager"` a text ends as soon as it is complete, otherwise with an end token.
   * With `finite` a rule without finite texts is an error.
   */
  compile(vocabulary: Vocabulary, options?: { end?: "eos" | "eager"; finite?: boolean; limits?: Limits }): CompiledGrammar;
  free(): void;
}

/** A grammar compiled for a vocabulary. States and masks are computed when a matcher first needs them, and cached. */
export class CompiledGrammar implements Owned {
  private constructor();
  matcher(options?: { maxTokens?: number }): Matcher;
  /** The first byte after which no text continues, the length of an incomplete text, or undefined for a valid one. */
  firstError(text: Uint8Array | string): number | undefined;
  isValid(text: Uint8Array | string): boolean;
  /** Why a text is refused; undefined for a valid one. The text is read twice; under a schema, the schema is parsed too. */
  explainText(text: Uint8Array | string): TextExplanation | undefined;
  warnings(): Diagnostic[];
  /** Computes masks in advance; returns the number of states that were completed. */
  precompute(options?: { maxSets?: number; milliseconds?: number }): number;
  readonly memoryBytes: number;
  readonly hasLexer: boolean;
  free(): void;
}

/** A terminal that can come next, in the notation of the grammar. */
export interface Expectation {
  terminal: string;
  /** What messages call the terminal, if that is not its notation: its only text in quotes, or a description. */
  terminalLabel: string | null;
  rule: string;
  /** What messages call the rule, if that is not its name; empty if they do not name it. */
  ruleLabel: string | null;
  /** Whether a part of it has been read. */
  hasBegun: boolean;
}

/** Legal tokens that begin with one terminal. */
export interface TerminalTokens {
  /** The terminal; null for end tokens and tokens that the grammar names. */
  terminal: string | null;
  /** As of an expectation. */
  terminalLabel: string | null;
  rule: string | null;
  /** As of an expectation. */
  ruleLabel: string | null;
  hasBegun: boolean;
  count: number;
  /** The first of them. */
  tokens: number[];
}

export interface Explanation {
  id: number;
  isAllowed: boolean;
  reason: "allowed" | "refused-byte" | "too-many-tokens" | "over-budget" | "incomplete" | "no-text" | "finished";
  message: string;
  /** The position of the first illegal byte in the token. */
  position: number | null;
  neededBudget: number | null;
  expected: Expectation[];
  /** For schemas, the JSON pointer of the place that describes the text at the illegal byte. */
  place: string | null;
}

/** Why a text is refused. */
export interface TextExplanation {
  /** The position of the first byte that does not fit; the length of a text that ends too early. */
  position: number;
  /** The line of the position, from 1. */
  line: number;
  /** The column of the position in characters, from 1. */
  column: number;
  /** The terminals that can come there. */
  expected: Expectation[];
  /** Whether the text before the position is complete. */
  couldEnd: boolean;
  /** For schemas, the JSON pointer of the place that describes the text at the position. */
  place: string | null;
  /** What the author of the text or of the grammar can do. */
  help: string | null;
  /** All of it, with the line and a caret. */
  message: string;
}

/** A part of a parse. Positions are bytes of the text. */
export interface ParseNode {
  /** The name of the rule or the terminal. */
  name: string;
  kind: "rule" | "terminal";
  start: number;
  end: number;
  /** Whether the part has ended. */
  complete: boolean;
  children: ParseNode[];
}

/** A way to read a text with a lexer. Positions are bytes of the text. */
export interface LexerReading {
  /** The lexemes that have ended, ignored ones included. */
  lexemes: { terminal: string; start: number; end: number }[];
  open: {
    start: number;
    /** The terminals that the lexeme at the end can still become. */
    terminals: string[];
    /** The terminal that it is if it ends here. */
    completeAs: string | null;
  };
  /** The symbols on the stack of the LALR(1) parser, from the bottom. */
  stack: string[];
}

/** The state of one text. */
export class Matcher implements Owned {
  private constructor();
  /** Appends a token and returns true; an illegal one changes nothing and returns false. */
  accept(id: number): boolean;
  /** As `accept`, for bytes that count as one token. */
  acceptBytes(text: Uint8Array | string): boolean;
  /** The length of the longest legal prefix of tokens. */
  validate(tokens: ArrayLike<number>): number;
  /** Computes the mask of the next token. */
  fillMask(): void;
  /**
   * The mask that was computed last: bit `id & 31` of word `id >> 5` is set for a legal token. It is a view of the
   * memory of the engine, without a copy, and valid until the next call of any function of the package.
   */
  maskWords(): Uint32Array;
  /** The number of legal tokens in the mask that was computed last. */
  allowedCount(): number;
  /** Undoes the last steps, also those after the end of the text. */
  rollback(count?: number): void;
  fork(): Matcher;
  reset(): void;
  /** Whether the text is complete. It may still be possible to continue it. */
  readonly isComplete: boolean;
  /** Whether the text has ended. */
  readonly isFinished: boolean;
  readonly tokens: Uint32Array;
  readonly stepCount: number;
  /** The number of tokens that the text may still have, its end token included; undefined without a budget. */
  budget: number | undefined;
  /** The least sufficient budget. */
  tokensToFinish(): number;
  shortestCompletion(): { tokens: Uint32Array; bytes: Uint8Array };
  /** The longest common prefix of all continuations. */
  forcedBytes(limit?: number): Uint8Array;
  /** The tokens of which each is the only legal one. */
  forcedTokens(limit?: number): Uint32Array;
  /** The terminals that can come next, those that have begun first. */
  expected(): Expectation[];
  explain(id: number): Explanation;
  /**
   * The legal tokens by the terminals with which a reading of them can begin, the largest groups first, with at most
   * `limit` tokens of each.
   */
  tokensByTerminal(limit?: number): TerminalTokens[];
  /**
   * The parse of the text so far: one derivation, in which rules that can continue are not complete. For grammars with a
   * lexer and LALR(1) tables, the parts that are derived so far, with terminals; undefined with the Earley parser.
   */
  tree(): ParseNode | undefined;
  /**
   * The ways to read the text as lexemes. There is mostly one; there are several while the end of a lexeme is undecided,
   * and none without a lexer.
   */
  lexemes(): LexerReading[];
  /** The state of the engine as text, for debugging. */
  describe(): string;
  free(): void;
}
