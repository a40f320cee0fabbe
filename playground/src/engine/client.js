// The page's side of the worker: the newest request wins, answers to older ones are dropped, and a worker that answers
// nothing for a while is replaced.
//
// Requests have a sequence number, and grammars a revision number: the answers about a grammar are those of its revision,
// also if a request about another text has come before them.

// Time without an answer after which a newer request replaces the worker, in milliseconds.
const PATIENCE_MS = 15_000;

export class EngineClient {
  #worker;
  #make;
  #assets;
  #onAnswer;
  #sequence = 0;
  #revision = 0;
  #grammar;
  #vocabulary;
  #since;

  // `make()` makes a worker, `assets` is its first message, and `onAnswer` gets each answer that is not stale.
  constructor(make, assets, onAnswer) {
    this.#make = make;
    this.#assets = assets;
    this.#onAnswer = onAnswer;
    this.#begin();
  }

  // `vocabulary` is `{name}` with `saved`, `json` or `tiktoken`, or neither for the vocabulary of bytes.
  useVocabulary(vocabulary) {
    this.#vocabulary = vocabulary;
    this.#worker.postMessage({kind: "vocabulary", ...vocabulary});
  }

  // Asks for everything about a text under the grammar of a document. Answers have the kinds "grammar", "keywords", "mask",
  // "groups", "details", "steps".
  analyse({document, text, step}) {
    if (this.#since !== undefined && performance.now() - this.#since > PATIENCE_MS) {
      this.#worker.terminate();
      this.#begin();
      if (this.#vocabulary) this.useVocabulary(this.#vocabulary);
    }
    this.#since ??= performance.now();
    this.#sequence++;
    const grammar = JSON.stringify(document);
    if (grammar !== this.#grammar) this.#revision++;
    this.#grammar = grammar;
    this.#worker.postMessage({kind: "analyse", sequence: this.#sequence, revision: this.#revision, document, text, step});
  }

  explain(id) {
    this.#worker.postMessage({kind: "explain", sequence: this.#sequence, id});
  }

  // Asks for the next characters of the text, which the answer of the kind "written" has.
  write({tokensLeft, mayEnd}) {
    this.#worker.postMessage({kind: "write", sequence: this.#sequence, tokensLeft, mayEnd});
  }

  compare(request) {
    this.#worker.postMessage({kind: "compare", sequence: this.#sequence, ...request});
  }

  #isCurrent({kind, sequence, revision}) {
    if (revision !== undefined) return revision === this.#revision;
    return sequence === undefined || sequence === this.#sequence || kind === "compared";
  }

  #begin() {
    this.#since = undefined;
    this.#worker = this.#make();
    this.#worker.onmessage = ({data}) => {
      this.#since = undefined;
      if (this.#isCurrent(data)) this.#onAnswer(data);
    };
    this.#worker.onerror = (event) => {
      this.#since = undefined;
      this.#onAnswer({kind: "failed", failure: {message: event.message, diagnostics: []}});
    };
    this.#worker.postMessage({kind: "start", ...this.#assets});
  }
}
