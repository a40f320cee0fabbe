// The part of webassembly.py that runs in node. Arguments: the folder of the package, and a file of recorded states.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { Grammar, Vocabulary, load } = await import(pathToFileURL(`${folder}/grammask.js`));
await load();

const { cases, runs, vocabularies } = JSON.parse(readFileSync(file, "utf8"));
const readers = {
  kbnf: (source, options) => Grammar.fromKbnf(source, options),
  gbnf: (source, options) => Grammar.fromGbnf(source, options),
  regex: (source, options) => Grammar.fromRegex(source, options),
  choices: (source, options) => Grammar.fromChoices(source, options),
  schema: (source, options) => Grammar.fromJsonSchema(JSON.stringify(source), options),
  bundled: (source) => Grammar.bundled(readFileSync(`${folder}/grammars/${source}.json`, "utf8")),
};

/** The CPU time of the process in seconds; compilers of node run in other threads until they are done. */
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const seconds = {};
const saved = Buffer.from(vocabularies.o200k, "base64");
// The last runs count: the first ones begin before the engine is optimised.
for (let run = 0; run < runs + 1; run += 1) {
  for (const { name, kind, source, options, end, walks } of cases) {
    const vocabulary = Vocabulary.fromBytes(saved);
    const begin = cpuSeconds();
    const grammar = readers[kind](source, options);
    const compiled = grammar.compile(vocabulary, { end });
    for (const { budget, tokens } of walks) {
      const matcher = compiled.matcher({ maxTokens: budget ?? undefined });
      for (const token of tokens) {
        matcher.fillMask();
        matcher.accept(token);
      }
      matcher.free();
    }
    if (run > 0) {
      (seconds[name] ??= []).push(cpuSeconds() - begin);
    }
    for (const owned of [compiled, grammar, vocabulary]) {
      owned.free();
    }
  }
}
console.log(JSON.stringify(seconds));
