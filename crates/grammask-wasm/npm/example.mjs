// A model of transformers.js that answers in JSON under a schema.
//
// Usage: node example.mjs MODEL TOKENIZER.json
//
// MODEL is the name of a model for transformers.js, and TOKENIZER.json the file of that name in its repository.

import { readFile } from "node:fs/promises";

import { AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList } from "@huggingface/transformers";
import { Grammar, Vocabulary, load } from "grammask";
import { GrammarLogitsProcessor } from "grammask/transformers";

const MAX_TOKENS = 80;

const [name, file] = process.argv.slice(2);
await load();
const tokenizer = await AutoTokenizer.from_pretrained(name);
const model = await AutoModelForCausalLM.from_pretrained(name);

const vocabulary = Vocabulary.fromTokenizerJson(await readFile(file), { eos: model.generation_config.eos_token_id });
const grammar = Grammar.fromJsonSchema({
  type: "object",
  properties: { city: { type: "string", maxLength: 20 }, degrees: { type: "integer", minimum: -60, maximum: 60 } },
  required: ["city", "degrees"],
  additionalProperties: false,
});

const inputs = tokenizer("The weather in Paris, as JSON: ");
const processors = new LogitsProcessorList();
processors.push(new GrammarLogitsProcessor(grammar.compile(vocabulary), { maxTokens: MAX_TOKENS }));
const output = await model.generate({ ...inputs, max_new_tokens: MAX_TOKENS, logits_processor: processors });
const prompt = inputs.input_ids.dims.at(-1);
console.log(tokenizer.decode(output.slice(null, [prompt, null]).tolist()[0], { skip_special_tokens: true }));
