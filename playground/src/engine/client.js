// The page's side of the worker: the newest request wins, answers to older ones are dropped, and a worker that answers
// nothing for a while is replaced.

// Time without an answer after which a newer request replaces the worker, in milliseconds.
const PATIENCE_MS = 15_000;

export class EngineClient {
  #worker;
  #make;
  #assets;
  #onAnswer;
  #sequence = 0;
  #vocabulary;
  #since;
  #wantsVocabulary;

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

  // Asks for everything about a text. Answers have the kinds "grammar", "keywords", "mask", "groups", "details", "steps".
  analyse(request) {
    if (this.#since !== undefined && performance.now() - this.#since > PATIENCE_MS) {
      this.#worker.terminate();
      this.#begin();
      if (this.#vocabulary) this.useVocabulary(this.#vocabulary);
    }
    this.#since ??= performance.now();
    this.#sequence++;
    this.#worker.postMessage({kind: "analyse", sequence: this.#sequence, ...request});
  }

  explain(id) {
    this.#worker.postMessage({kind: "explain", sequence: this.#sequence, id});
  }

  compare(request) {
    this.#worker.postMessage({kind: "compare", sequence: this.#sequence, ...request});
  }

  #begin() {
    this.#since = undefined;
    this.#worker = this.#make();
    this.#worker.onmessage = ({data}) => {
      this.#since = undefined;
      if (data.sequence === undefined || data.sequence === this.#sequence || data.kind === "compared") this.#onAnswer(data);
    };
    this.#worker.onerror = (event) => {
      this.#since = undefined;
      this.#onAnswer({kind: "failed", failure: {message: event.message, diagnostics: []}});
    };
    this.#worker.postMessage({kind: "start", ...this.#assets});
  }
}
