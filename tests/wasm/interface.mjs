// Checks of the interface in JavaScript. Argument: the folder of the package.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const { CompiledGrammar, GrammaskError, Grammar, Vocabulary, load } = await import(
  pathToFileURL(`${folder}/grammask.js`)
);

function fails(action, code) {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof GrammaskError, `${error}`);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`no error ${code}`);
}

function idsOf(words) {
  return [...words].flatMap((word, index) =>
    Array.from({ length: 32 }, (_, bit) => 32 * index + bit).filter((id) => (word >>> (id & 31)) & 1),
  );
}

const text = (bytes) => new TextDecoder().decode(bytes);

fails(() => Vocabulary.bytes(), "not-loaded");
await load();

// Vocabularies.
const bytes = Vocabulary.bytes();
assert.equal(bytes.size, 257);
assert.deepEqual([...bytes.eos], [256]);
assert.deepEqual(bytes.special, { "<eos>": 256 });
assert.deepEqual([...bytes.token(65)], [65]);
assert.equal(bytes.token(256), undefined);
assert.equal(bytes.token(9999), undefined);
assert.equal(bytes.nameOf(256), "<eos>");
assert.deepEqual([...bytes.trieOrder()], Array.from({ length: 256 }, (_, byte) => byte));
const words = Vocabulary.fromTokens(["a", "b", "ab", null, "é", "ba"], { special: { end: 3 }, eos: "end" });
assert.deepEqual([...words.trieOrder()], [0, 2, 1, 5, 4]);
assert.deepEqual([...words.tokenize("abaé")], [2, 0, 4]);
fails(() => words.tokenize("abc"), "no-such-token");
fails(() => Vocabulary.fromTokens(["a"], { eos: "end" }), "unknown-eos");
fails(() => Vocabulary.fromTokens(["a"], { eos: 5 }), "eos-out-of-range");
fails(() => Vocabulary.fromTokenizerJson("{"), "damaged-file");
fails(() => Vocabulary.fromTokenizerJson({ model: { vocab: {} } }), "unsupported-tokenizer");
fails(() => Vocabulary.fromTiktoken("no ranks"), "damaged-file");
for (const wrong of [null, 5, {}, ["a"], new Float32Array(1)]) {
  fails(() => words.tokenize(wrong), "invalid-argument");
  fails(() => Vocabulary.fromTiktoken(wrong), "invalid-argument");
  fails(() => Vocabulary.fromBytes(wrong), "invalid-argument");
}
for (const wrong of [-1, 1.5, NaN, 2 ** 32, 1n, "a"]) {
  fails(() => words.token(wrong), "invalid-argument");
  fails(() => Vocabulary.fromTokens(["a"], { size: wrong }), "invalid-argument");
}
fails(() => Vocabulary.fromTokens("ab"), "invalid-argument");
fails(() => Vocabulary.fromTokens(["a"], { eos: 2 ** 32 }), "invalid-argument");
fails(() => Vocabulary.fromTokens(["a"], { end: 0 }), "invalid-argument");
const saved = Vocabulary.fromBytes(words.toBytes());
assert.deepEqual([...saved.trieOrder()], [...words.trieOrder()]);
fails(() => Vocabulary.fromBytes(Uint8Array.of(1, 2, 3)), "invalid-saved-vocabulary");

// Errors have places in UTF-16 code units.
const source = 'start ::= "𝄞é" undefined;';
const error = fails(() => Grammar.fromKbnf(source), "undefined-symbol");
assert.equal(source.slice(error.start, error.end), "undefined");
assert.equal(error.line, 1);
assert.match(error.help, /define it/);
assert.equal(error.diagnostics.length, 1);
assert.equal(error.diagnostics[0].severity, "error");
assert.equal(fails(() => Grammar.fromJsonSchema({ pattern: "(a)\\1" }), "unsupported-schema").pointer, "#/pattern");
for (const make of [Grammar.fromKbnf, Grammar.fromGbnf, Grammar.fromRegex, Grammar.fromChoices]) {
  for (const wrong of [undefined, null, 5, {}, new Uint8Array(3), Symbol("s")]) {
    fails(() => make(wrong), "invalid-argument");
  }
}
fails(() => Grammar.fromJsonSchema(undefined), "invalid-argument");
fails(() => Grammar.fromKbnf(source, { strat: "s" }), "invalid-argument");
fails(() => Grammar.fromKbnf(source, { lexer: "none" }), "invalid-argument");
fails(() => Grammar.fromKbnf(source, { lexer: "dynamic", parser: "lalr" }), "invalid-argument");
fails(() => Grammar.fromJsonSchema({}, { whitespace: "some" }), "invalid-argument");
fails(() => Grammar.fromJsonSchema({}, { separators: [";", ":"] }), "invalid-argument");
fails(() => Grammar.fromKbnf('start ::= "a";', { limits: { grammarBytes: 3 } }), "limit-exceeded");

// Grammars and matchers.
const grammar = Grammar.fromKbnf('start ::= "(" number ")"; number ::= #"[0-9]+"; spare ::= "x";');
assert.deepEqual(grammar.warnings().map((warning) => warning.severity), ["warning"]);
assert.deepEqual(grammar.relaxations(), []);
assert.deepEqual(grammar.ruleNames().toSorted(), ["number", "spare", "start"]);
assert.ok(grammar.diagrams().some(({ rule, svg }) => rule === "number" && svg.startsWith("<svg")));
const compiled = grammar.compile(bytes);
assert.ok(compiled instanceof CompiledGrammar);
assert.equal(compiled.hasLexer, false);
assert.ok(compiled.memoryBytes > 0);
assert.ok(compiled.precompute({ maxSets: 3 }) > 0);
assert.equal(compiled.firstError("(12)"), undefined);
assert.equal(compiled.firstError("(1"), 2);
assert.equal(compiled.firstError("(x"), 1);
assert.ok(compiled.isValid("(1)"));
assert.equal(compiled.explainText("(12)"), undefined);
const refusal = compiled.explainText("(\né");
assert.deepEqual([refusal.position, refusal.line, refusal.column, refusal.couldEnd, refusal.place], [1, 1, 2, false, null]);
assert.deepEqual(refusal.expected.map(({ rule, ruleLabel }) => [rule, ruleLabel]), [["start", null]]);
assert.match(refusal.message, /^byte 1 does not fit/);
const colours = Grammar.fromJsonSchema({ properties: { colour: { enum: ["red", "green"] } }, type: "object" }).compile(bytes);
const noColour = colours.explainText('{"colour": "blue"}');
assert.equal(noColour.place, "#/properties/colour");
assert.match(noColour.message, /expected: more of "red" or "green" at #\/properties\/colour$/);
const inColour = colours.matcher();
assert.ok(inColour.acceptBytes('{"colour": "'));
assert.equal(inColour.explain(98).place, "#/properties/colour");
assert.ok(colours.matcher().expected().some(({ terminal, terminalLabel }) => terminal === '"{"' && terminalLabel === null));
const matcher = compiled.matcher();
assert.deepEqual(idsOf(matcher.maskWords()), [40]);
assert.equal(matcher.allowedCount(), 1);
assert.equal(text(matcher.forcedBytes()), "(");
assert.deepEqual([...matcher.forcedTokens()], [40]);
assert.equal(matcher.accept(65), false);
assert.equal(matcher.accept(40), true);
fails(() => matcher.accept(257), "invalid-argument");
for (const wrong of [undefined, -1, 97.5, 2 ** 32 + 97, "97", NaN]) {
  const before = matcher.stepCount;
  fails(() => matcher.accept(wrong), "invalid-argument");
  fails(() => matcher.validate([wrong]), "invalid-argument");
  fails(() => matcher.explain(wrong), "invalid-argument");
  fails(() => matcher.forcedBytes(wrong ?? null), "invalid-argument");
  fails(() => matcher.acceptBytes(typeof wrong === "string" ? 97 : wrong), "invalid-argument");
  fails(() => compiled.matcher({ maxTokens: wrong ?? "1" }), "invalid-argument");
  fails(() => (matcher.budget = wrong ?? "1"), "invalid-argument");
  assert.equal(matcher.stepCount, before);
}
fails(() => compiled.matcher({ maxtokens: 9 }), "invalid-argument");
const freed = compiled.matcher();
freed.free();
freed.free();
fails(() => freed.accept(97), "freed");
matcher.fillMask();
assert.deepEqual(idsOf(matcher.maskWords()), Array.from({ length: 10 }, (_, digit) => 48 + digit));
const explanation = matcher.explain(65);
assert.equal(explanation.isAllowed, false);
assert.equal(explanation.reason, "refused-byte");
assert.equal(explanation.position, 0);
assert.match(explanation.message, /^token 65 "A" is refused/);
assert.equal(matcher.expected()[0].rule, "start");
assert.equal(matcher.validate([49, 50, 41, 256, 49]), 4);
assert.deepEqual(matcher.shortestCompletion(), {
  tokens: Uint32Array.of(48, 41, 256),
  bytes: Uint8Array.of(48, 41),
});
const fork = matcher.fork();
assert.equal(matcher.acceptBytes("12"), true);
assert.equal(matcher.acceptBytes(new Uint8Array(0)), true);
assert.deepEqual(matcher.tree(), {
  name: "start", kind: "rule", start: 0, end: 3, complete: false,
  children: [{ name: "number", kind: "rule", start: 1, end: 3, complete: false, children: [] }],
});
assert.deepEqual(matcher.lexemes(), []);
assert.equal(matcher.stepCount, 2);
assert.deepEqual([...matcher.tokens], [40]);
assert.equal(matcher.accept(41), true);
assert.ok(matcher.isComplete && !matcher.isFinished);
assert.deepEqual(matcher.tokensByTerminal(), [
  { terminal: null, terminalLabel: null, rule: null, ruleLabel: null, hasBegun: false, count: 1, tokens: [256] },
]);
assert.equal(matcher.accept(256), true);
assert.ok(matcher.isFinished);
matcher.rollback(2);
assert.ok(!matcher.isComplete);
fails(() => matcher.rollback(9), "invalid-argument");
matcher.reset();
assert.equal(matcher.stepCount, 0);
assert.equal(fork.tokensToFinish(), 3);
assert.equal(fork.budget, undefined);
fork.budget = 3;
assert.equal(fork.budget, 3);
assert.equal(fails(() => (fork.budget = 2), "budget-too-small").minimum, 3);
fork.budget = undefined;
assert.equal(fork.budget, undefined);
assert.equal(fails(() => compiled.matcher({ maxTokens: 1 }), "budget-too-small").minimum, 4);
const groups = fork.tokensByTerminal(2);
assert.equal(groups[0].count, 10);
assert.deepEqual(groups[0].tokens, [48, 49]);
assert.match(fork.describe(), /set/);

// Views of masks stay right when the memory grows.
matcher.fillMask();
const before = matcher.maskWords();
Vocabulary.fromTokens(Array.from({ length: 200_000 }, (_, id) => `token ${id} of a large vocabulary`));
assert.equal(before.byteLength, 0);
assert.deepEqual(idsOf(matcher.maskWords()), [40]);

// Grammars that end eagerly, other notations, and a lexer.
const eager = Grammar.fromChoices(["yes", "no"]).compile(words.size ? bytes : words, { end: "eager" });
const answer = eager.matcher();
assert.ok(answer.acceptBytes("no") && answer.isFinished);
assert.ok(Grammar.fromGbnf("root ::= [a-z]+").compile(bytes).isValid("abc"));
assert.ok(Grammar.fromRegex("a|b+").compile(bytes).isValid("bb"));
assert.ok(Grammar.fromRegex("^\\d$", { syntax: "ecma" }).compile(bytes).isValid("7"));
const lines = `
  %declare RAW_STRING;
  %terminal NAME;
  %ignore SPACE;
  start ::= { NAME "=" (NAME | RAW_STRING) ";" };
  NAME  ::= #"[a-z]+";
  SPACE ::= #"[ \\n]+";
`;
const rawString = Grammar.fromKbnf(`start ::= 'r' bind!(hashes, "#"*) '"' #"(?s:.)*" '"' same!(hashes);`);
for (const [read, start] of [[Grammar.fromKbnf, "start"], [Grammar.fromGbnf, "root"]]) {
  const text = start === "root" ? `
root  ::= (NAME "=" (NAME | RAW_STRING) ";")*
NAME  ::= [a-z]+
SPACE ::= [ \\n]+
%declare RAW_STRING
%terminal NAME
%ignore SPACE
` : lines;
  const raw = read(text, { lexer: "contextual", terminals: { RAW_STRING: rawString } });
  assert.ok(raw.ruleNames().includes(start) && raw.diagrams().some(({ rule }) => rule === start));
  const rawCompiled = raw.compile(bytes);
  assert.ok(rawCompiled.isValid('a = r##"b "# c"##; d = r;'));
  assert.equal(rawCompiled.firstError('a = r#"b"##;'), 10);
  fails(() => read(text, { lexer: "contextual" }), "unsupported-grammar");
  fails(() => read(text, { terminals: { RAW_STRING: rawString } }), "invalid-argument");
  fails(() => read(text, { lexer: "contextual", terminals: { STRING: rawString } }), "undefined-symbol");
  fails(() => read(text, { lexer: "contextual", terminals: { RAW_STRING: raw } }), "invalid-argument");
  for (const wrong of [5, null, [rawString], { RAW_STRING: "a" }, { RAW_STRING: null }]) {
    fails(() => read(text, { lexer: "contextual", terminals: wrong }), "invalid-argument");
  }
  raw.free();
}
rawString.free();
const compact = Grammar.fromJsonSchema('{"const": [1, 2]}', { whitespace: "compact" }).compile(bytes);
assert.ok(compact.isValid("[1,2]") && !compact.isValid("[1, 2]"));
const relaxed = Grammar.fromJsonSchema({ type: "string", pattern: "(a)\\1" }, { onUnsupported: "relax" });
assert.equal(relaxed.relaxations()[0].pointer, "#/pattern");
const effects = Grammar.keywordEffects({ title: "t", type: "string", pattern: "(a)\\1", then: true });
assert.deepEqual(effects.map(({ keyword, kind }) => [keyword, kind]),
  [["title", "annotation"], ["type", "enforced"], ["pattern", "refused"], ["then", "idle"]]);
assert.equal(effects[2].pointer, "#/pattern");
assert.match(effects[2].message, /back-reference/);
assert.throws(() => Grammar.keywordEffects("{"), GrammaskError);

const python = Grammar.bundled(readFileSync(`${folder}/grammars/python.json`, "utf8")).compile(bytes);
assert.ok(python.hasLexer);
assert.ok(python.isValid("def f(x):\n    return x\n"));
const program = python.matcher();
assert.ok(program.acceptBytes("if x:\n    re"));
const [reading] = program.lexemes();
assert.deepEqual(
  reading.lexemes.filter(({ end, start }) => end > start).map(({ terminal, start, end }) => [terminal, start, end]).slice(0, 1),
  [["IF", 0, 2]],
);
assert.equal(reading.open.start, 10);
assert.ok(reading.open.terminals.includes("RETURN") && reading.open.terminals.includes("NAME"));
assert.ok(reading.stack.length > 2);
assert.equal(program.tree().kind, "rule");
assert.ok(program.tokensByTerminal().some(({ terminal, hasBegun }) => terminal === "NAME" && hasBegun));
fails(() => Grammar.bundled("{}"), "invalid-argument");
fails(() => Grammar.bundled(readFileSync(`${folder}/grammars/json.json`, "utf8"), { start: "x" }), "invalid-argument");

// The logits processor: the grammar takes precedence where other processors have excluded all legal tokens.
const { GrammarLogitsProcessor } = await import(pathToFileURL(`${folder}/transformers.js`));
const ofWords = Grammar.fromChoices(["a", "ba"]).compile(words);
const masked = (values) => {
  const logits = { dims: [1, 6], data: Float32Array.from(values) };
  return [...new GrammarLogitsProcessor(ofWords)([[0n]], logits).data];
};
const [none, last] = [-Infinity, -1000];
assert.deepEqual(masked([1, NaN, 3, 4, 5, 6]), [1, NaN, none, none, none, 6]);
assert.deepEqual(masked([none, NaN, 3, 4, 5, none]), [last, last, none, none, none, last]);
assert.deepEqual(masked([none, Infinity, 3, 4, 5, NaN]), [none, last, none, none, none, none]);
ofWords.free();

for (const owned of [program, python, fork, matcher, compiled, grammar, words, bytes]) {
  owned.free();
}
console.log(JSON.stringify("all checks have passed"));
