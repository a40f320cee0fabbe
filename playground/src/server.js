// The server behind the page, if there is one. Only paths beside the page are asked.

import {fromBase64} from "./bytes.js";

// Returns the server of `grammask serve` with the name of its model, or undefined.
export async function findServer() {
  if (!location.protocol.startsWith("http")) return undefined;
  try {
    const answer = await fetch("playground/model");
    if (!answer.ok) return undefined;
    return new Server((await answer.json()).name);
  } catch {
    return undefined;
  }
}

class Server {
  constructor(name) {
    this.name = name;
  }

  // The saved vocabulary of the model.
  async vocabulary() {
    return (await checked(await fetch("playground/vocabulary"))).arrayBuffer();
  }

  // The probabilities after the tokens of a mask under the grammar of a state of the page: `steps`, and `candidates` for the next
  // token. With `maxTokens` they are those of the next token under this token budget.
  async probabilities({notation, grammar, lexer, keyOrder, prompt}, mask, maxTokens) {
    const query = {
      notation, grammar, lexer, key_order: keyOrder, prompt, tokens: Array.from(mask.ids.subarray(0, mask.step)), max_tokens: maxTokens,
    };
    const answer = await fetch("playground/probabilities", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(query),
    });
    const {steps, candidates} = await (await checked(answer)).json();
    return {steps, candidates: candidates.map(({text, ...others}) => ({...others, bytes: text === null ? undefined : fromBase64(text)}))};
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error?.message ?? `status ${answer.status}`);
}
