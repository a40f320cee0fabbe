// Prints the tokens of a tokenizer's file as JSON. Arguments: the folder of the package, the file, the end token.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file, eos] = process.argv.slice(2);
const { Vocabulary, load } = await import(pathToFileURL(`${folder}/grammask.js`));
await load();

const bytes = readFileSync(file);
const vocabulary = file.endsWith(".json")
  ? Vocabulary.fromTokenizerJson(bytes.toString("utf8"), { eos })
  : Vocabulary.fromTiktoken(bytes, { special: { [eos]: 3 }, eos });
const tokens = Array.from({ length: vocabulary.size }, (_, id) => {
  const token = vocabulary.token(id);
  return token === undefined ? null : Buffer.from(token).toString("base64");
});
console.log(JSON.stringify({ tokens, eos: [...vocabulary.eos], special: vocabulary.special }));
