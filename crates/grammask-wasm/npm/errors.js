/** The error that all functions of the package throw. */

export class GrammaskError extends Error {
  /** Takes the fields of a failure of the engine. */
  constructor({ code, message, diagnostics = [], minimum }) {
    super(message);
    this.name = "GrammaskError";
    this.code = code;
    this.diagnostics = diagnostics;
    const [first = {}] = diagnostics;
    for (const field of ["line", "column", "start", "end", "help", "pointer"]) {
      this[field] = first[field] ?? undefined;
    }
    this.minimum = minimum;
  }

  /** The error that the engine threw as JSON; another text becomes the message. */
  static of(text) {
    let fields;
    try {
      fields = JSON.parse(text);
    } catch {
      fields = { code: "internal-error", message: text };
    }
    return new GrammaskError(fields);
  }
}
