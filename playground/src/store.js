// A store of values by key, whose listeners are called with the whole state after a change of one of their keys.

export class Store {
  #state;
  #listeners = [];

  constructor(state) {
    this.#state = state;
  }

  get state() {
    return this.#state;
  }

  // Merges the patch. Listeners run in the order of their registration, once per call.
  set(patch) {
    const changed = Object.keys(patch).filter((key) => !Object.is(this.#state[key], patch[key]));
    if (changed.length === 0) return;
    this.#state = {...this.#state, ...patch};
    for (const {keys, listener} of this.#listeners) {
      if (keys.some((key) => changed.includes(key))) listener(this.#state);
    }
  }

  on(keys, listener) {
    this.#listeners.push({keys, listener});
  }
}
