// Compares the masks of recorded states with those of the engine in WebAssembly, and prints the number of states as JSON.
//
// Arguments: the folder of the package, and the file that recorded_states.py wrote.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { Grammar, Vocabulary, load } = await import(pathToFileURL(`${folder}/grammask.js`));
await load();

const recorded = JSON.parse(readFileSync(file, "utf8"));
const vocabularies = Object.fromEntries(
  Object.entries(recorded.vocabularies).map(([name, saved]) => [
    name,
    Vocabulary.fromBytes(Buffer.from(saved, "base64")),
  ]),
);

const readers = {
  kbnf: (source, options) => Grammar.fromKbnf(source, options),
  gbnf: (source, options) => Grammar.fromGbnf(source, options),
  regex: (source, options) => Grammar.fromRegex(source, options),
  choices: (source, options) => Grammar.fromChoices(source, options),
  schema: (source, options) => Grammar.fromJsonSchema(JSON.stringify(source), options),
  bundled: (source) => Grammar.bundled(readFileSync(`${folder}/grammars/${source}.json`, "utf8")),
};

function hashOf(matcher) {
  matcher.fillMask();
  const words = matcher.maskWords();
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

let states = 0;
const differences = [];
for (const recordedCase of recorded.cases) {
  const grammar = readers[recordedCase.kind](recordedCase.source, recordedCase.options);
  const compiled = grammar.compile(vocabularies[recordedCase.vocabulary], { end: recordedCase.end });
  for (const { budget, tokens, hashes } of recordedCase.walks) {
    const matcher = compiled.matcher({ maxTokens: budget ?? undefined });
    for (const [index, hash] of hashes.entries()) {
      const isEqual = hashOf(matcher) === hash && (index === tokens.length || matcher.accept(tokens[index]));
      if (!isEqual) {
        differences.push({ name: recordedCase.name, vocabulary: recordedCase.vocabulary, tokens: tokens.slice(0, index) });
        break;
      }
      states += 1;
    }
    matcher.free();
  }
  compiled.free();
  grammar.free();
}
console.log(JSON.stringify({ states, differences }));
