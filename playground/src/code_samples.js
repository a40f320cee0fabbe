// Programs for what the page shows: the grammar, the vocabulary and the verdict about the text, or a request to a server.

// The program of a state of the page in a language of PROGRAM_LANGUAGES. `server` is the address of `grammask serve`.
export function codeSample(language, state, server) {
  return SAMPLES[language](state, server);
}

export const PROGRAM_LANGUAGES = {python: "Python", curl: "curl", javascript: "JavaScript"};

const SAMPLES = {
  python: (state, server) => lines(
    state.vocabulary === "model" && "from urllib.request import urlopen\n",
    "from grammask import Grammar, Vocabulary",
    "",
    `grammar = ${PYTHON_READERS[state.notation](state)}`,
    `vocabulary = ${pythonVocabulary(state.vocabulary, server)}`,
    "compiled = grammar.compile(vocabulary)",
    "",
    `text = ${pythonText(state.text)}`,
    "matcher = compiled.matcher()",
    "if matcher.accept_bytes(text.encode()):",
    '    print(len(matcher.allowed_ids()), "tokens are allowed; complete:", matcher.is_complete)',
    "else:",
    "    print(compiled.explain_text(text))",
  ),
  javascript: (state, server) => lines(
    'import { readFile } from "node:fs/promises";',
    'import { Grammar, Vocabulary, load } from "grammask";',
    "",
    "await load();",
    `const grammar = ${JAVASCRIPT_READERS[state.notation](state)};`,
    state.vocabulary === "o200k_base" && SAVED_VOCABULARY,
    `const vocabulary = ${javascriptVocabulary(state.vocabulary, server)};`,
    `const compiled = grammar.compile(vocabulary${vocabularyKind(state.vocabulary) === "file" ? ', { end: "eager" }' : ""});`,
    "",
    `const text = ${javascriptText(state.text)};`,
    "const matcher = compiled.matcher();",
    "if (matcher.acceptBytes(text)) {",
    '  console.log(matcher.allowedCount(), "tokens are allowed; complete:", matcher.isComplete);',
    "} else {",
    "  console.log(compiled.explainText(text).message);",
    "}",
  ),
  curl: (state, server) => {
    const constraint = CONSTRAINTS[state.notation](state);
    if (constraint === undefined) return lines("# A request has no field for this grammar: use Python, or a grammar without a lexer.");
    const prompt = JSON.stringify(state.prompt || "Write an example.");
    const body = lines("{", `  "messages": [{"role": "user", "content": ${prompt}}],`, `  ${constraint}`, "}").trimEnd();
    return lines(`curl ${server}/v1/chat/completions -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`);
  },
};

// The package for JavaScript contains no vocabulary.
const SAVED_VOCABULARY = '// Python writes this file: Vocabulary.default().save("o200k_base.vocabulary").';

// Characters that editors and the rules of literals change.
const HAS_CONTROLS = /[\0-\x09\x0b-\x1f\x7f\u2028\u2029]|\p{Surrogate}/u;

const PYTHON_READERS = {
  kbnf: (state) => `Grammar.from_kbnf(${pythonText(state.grammar)}${pythonOption("lexer", state.lexer)})`,
  gbnf: (state) => `Grammar.from_gbnf(${pythonText(state.grammar)}${pythonOption("lexer", state.lexer)})`,
  regex: (state) => `Grammar.from_regex(${pythonText(pattern(state))}, syntax="rust")`,
  schema: (state) => `Grammar.from_json_schema(${pythonText(state.grammar)}${pythonOption("key_order", state.keyOrder)})`,
  choices: (state) => `Grammar.from_choices([${choices(state).map(pythonText).join(", ")}])`,
  bundled: (state) => `Grammar.bundled(${JSON.stringify(state.grammar)})`,
};

const JAVASCRIPT_READERS = {
  kbnf: (state) => `Grammar.fromKbnf(${javascriptText(state.grammar)}${javascriptOption("lexer", state.lexer)})`,
  gbnf: (state) => `Grammar.fromGbnf(${javascriptText(state.grammar)}${javascriptOption("lexer", state.lexer)})`,
  regex: (state) => `Grammar.fromRegex(${javascriptText(pattern(state))})`,
  schema: (state) => `Grammar.fromJsonSchema(${javascriptText(state.grammar)}${javascriptOption("keyOrder", state.keyOrder)})`,
  choices: (state) => `Grammar.fromChoices([${choices(state).map(javascriptText).join(", ")}])`,
  bundled: (state) => `Grammar.bundled(await readFile("node_modules/grammask/grammars/${state.grammar}.json", "utf8"))`,
};

// The field of a request to `grammask serve`; undefined where there is none.
const CONSTRAINTS = {
  kbnf: (state) => (state.lexer ? undefined : `"grammar": ${JSON.stringify(state.grammar)}`),
  gbnf: (state) => (state.lexer ? undefined : `"grammar": ${JSON.stringify(state.grammar)}`),
  regex: (state) => `"response_format": {"type": "grammar", "syntax": "regex", "definition": ${JSON.stringify(pattern(state))}}`,
  schema: (state) => `"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": ${schemaWithOptions(state)}}}`,
  choices: (state) => `"structured_outputs": {"choice": ${JSON.stringify(choices(state))}}`,
  bundled: () => undefined,
};

function lines(...all) {
  return all.filter((line) => line !== false).map((line) => `${line}\n`).join("");
}

// The text of the schema, whose numbers stay as they are written, with the order of members as an option in it.
function schemaWithOptions({grammar, keyOrder}) {
  const schema = grammar.trim();
  if (!keyOrder || !schema.startsWith("{")) return schema;
  const rest = schema.slice(1).trimStart();
  return `{"x-grammask": {"key_order": ${JSON.stringify(keyOrder)}}${rest.startsWith("}") ? "" : ", "}${rest}`;
}

function pattern({grammar}) {
  return grammar.replace(/\n+$/, "");
}

function choices({grammar}) {
  return grammar.split("\n").filter((line) => line !== "");
}

function vocabularyKind(name) {
  return ["o200k_base", "bytes", "model"].includes(name) ? name : "file";
}

function pythonVocabulary(name, server) {
  return {
    o200k_base: () => "Vocabulary.default()",
    bytes: () => "Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)",
    model: () => `Vocabulary.from_bytes(urlopen("${server}/playground/vocabulary").read())`,
    file: () => `Vocabulary.from_${name.endsWith(".tiktoken") ? "tiktoken" : "tokenizer_json"}(${JSON.stringify(name)})`,
  }[vocabularyKind(name)]();
}

function javascriptVocabulary(name, server) {
  return {
    o200k_base: () => 'Vocabulary.fromBytes(await readFile("o200k_base.vocabulary"))',
    bytes: () => "Vocabulary.bytes()",
    model: () => `Vocabulary.fromBytes(new Uint8Array(await (await fetch("${server}/playground/vocabulary")).arrayBuffer()))`,
    file: () => `Vocabulary.from${name.endsWith(".tiktoken") ? "Tiktoken" : "TokenizerJson"}(await readFile(${JSON.stringify(name)}))`,
  }[vocabularyKind(name)]();
}

function pythonOption(name, value) {
  return value ? `, ${name}=${JSON.stringify(value)}` : "";
}

function javascriptOption(name, value) {
  return value ? `, { ${name}: ${JSON.stringify(value)} }` : "";
}

// A literal of Python: for reading, the first form that needs no escapes. The escapes of JSON are escapes of Python.
function pythonText(text) {
  const isLines = text.includes("\n");
  const fits = (quote) => !text.includes(quote) && !text.endsWith("\\") && (quote.length > 1 ? !text.endsWith('"') : !isLines);
  const quote = HAS_CONTROLS.test(text) ? undefined : ['"', "'", '"""'].find(fits);
  return quote ? `${text.includes("\\") ? "r" : ""}${quote}${text}${quote}` : JSON.stringify(text);
}

function javascriptText(text) {
  if (HAS_CONTROLS.test(text)) return JSON.stringify(text);
  const quote = /[\n\\]/.test(text) ? undefined : ['"', "'"].find((each) => !text.includes(each));
  if (quote) return `${quote}${text}${quote}`;
  return /`|\$\{|\\$/.test(text) ? JSON.stringify(text) : `String.raw\`${text}\``;
}
