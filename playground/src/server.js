// The server behind the page, if there is one. Only paths beside the page are asked.

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

  async probabilities(query) {
    const answer = await fetch("playground/probabilities", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(query),
    });
    return (await checked(answer)).json();
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error?.message ?? `status ${answer.status}`);
}
