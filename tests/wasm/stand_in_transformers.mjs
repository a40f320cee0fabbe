// The parts of transformers.js that the example uses, with a model that chooses random tokens from the logits.

import { readFile } from "node:fs/promises";
import process from "node:process";

export class Tensor {
  constructor(type, data, dims) {
    Object.assign(this, { type, data, dims });
  }

  /** Only rows as a whole and a range of columns. */
  slice(rows, [start, end]) {
    const [height, width] = this.dims;
    const columns = (end ?? width) - start;
    const data = Array.from({ length: height * columns }, (_, place) => {
      const row = Math.floor(place / columns);
      return this.data[row * width + start + (place % columns)];
    });
    return new Tensor(this.type, data, [height, columns]);
  }

  tolist() {
    const [height, width] = this.dims;
    return Array.from({ length: height }, (_, row) => [...this.data.slice(row * width, (row + 1) * width)]);
  }
}

export class LogitsProcessorList {
  processors = [];

  push(processor) {
    this.processors.push(processor);
  }

  call(ids, logits) {
    return this.processors.reduce((changed, processor) => processor(ids, changed), logits);
  }
}

async function spellings() {
  const { model, added_tokens: added } = JSON.parse(await readFile(process.argv[3], "utf8"));
  const texts = Object.fromEntries(Object.entries(model.vocab).map(([text, id]) => [id, text]));
  return { texts, width: Object.keys(texts).length + added.length };
}

export class AutoTokenizer {
  static async from_pretrained() {
    const { texts } = await spellings();
    const tokenizer = () => ({ input_ids: new Tensor("int64", [1n, 2n, 3n], [1, 3]) });
    tokenizer.decode = (ids) => ids.map((id) => texts[Number(id)] ?? "").join("");
    return tokenizer;
  }
}

/** The generator of Park and Miller: the same numbers in each run. */
function randomNumbers(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

export class AutoModelForCausalLM {
  static async from_pretrained() {
    const { width } = await spellings();
    const eos = width - 1;
    const random = randomNumbers(7);
    return {
      generation_config: { eos_token_id: eos },
      async generate({ input_ids: inputs, max_new_tokens: max, logits_processor: processors }) {
        const ids = [[...inputs.data]];
        for (let count = 0; count < max; count += 1) {
          const logits = new Tensor("float32", Float32Array.from({ length: width }, random), [1, width]);
          const { data } = processors.call(ids, logits);
          const best = data.reduce((top, logit, id) => (logit > data[top] ? id : top), 0);
          if (data[best] === -Infinity || best === eos) {
            break;
          }
          ids[0].push(BigInt(best));
        }
        return new Tensor("int64", ids[0], [1, ids[0].length]);
      },
    };
  }
}
