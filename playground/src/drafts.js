// The grammar and the text of each notation: first those of a sample, later what was left there.

const FIELDS = ["grammar", "lexer", "keyOrder", "text"];

export class Drafts {
  #samples;
  #left = new Map();

  // `samples` are states of the page, of which the first of a notation, or of a programming language, is its sample.
  constructor(samples) {
    this.#samples = samples;
  }

  // The changes of a state that show another notation; with the notation "bundled", `language` names the grammar.
  enter(state, notation, language) {
    this.#left.set(keyOf(state.notation, state.grammar), pick(state));
    const sample = this.#samples.find((each) => each.notation === notation && (!language || each.grammar === language));
    const grammar = language ?? sample?.grammar ?? "";
    const first = {lexer: "", keyOrder: "", text: "", ...(sample && pick(sample)), grammar};
    return {...(this.#left.get(keyOf(notation, grammar)) ?? first), notation, step: null};
  }
}

function keyOf(notation, grammar) {
  return notation === "bundled" ? `${notation} ${grammar}` : notation;
}

function pick(state) {
  return Object.fromEntries(FIELDS.filter((name) => name in state).map((name) => [name, state[name]]));
}
