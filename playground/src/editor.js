// A text area whose text is drawn by an element behind it, so that ranges can have colours and a suggestion can follow
// the text. The text area keeps the keyboard, the selection, undo, input methods and screen readers as browsers have them.

import {element} from "./dom.js";

export class MarkedEditor {
  #back = element("pre", {"aria-hidden": "true"});
  #layers = {};
  #ghost = "";

  constructor(textarea) {
    this.textarea = textarea;
    textarea.before(this.#back);
    textarea.addEventListener("input", () => this.#draw());
  }

  get value() {
    return this.textarea.value;
  }

  set value(text) {
    if (this.textarea.value === text) return;
    this.textarea.value = text;
    this.#draw();
  }

  // The suggestion after the end of the text.
  get ghost() {
    return this.#ghost;
  }

  set ghost(text) {
    this.#ghost = text;
    this.#draw();
  }

  // Replaces the marks of a layer: a list of `{start, end, class}` with UTF-16 offsets, sorted and disjoint within the
  // layer. Marks are for the text `of`; while another text is there they are not drawn.
  mark(layer, of, marks) {
    this.#layers[layer] = {of, marks};
    this.#draw();
  }

  // The elements drawn at a point of the window.
  under(event) {
    return this.#spanAt(event.clientX, event.clientY)?.dataset;
  }

  select(start, end) {
    this.textarea.focus();
    this.textarea.setSelectionRange(start, end);
  }

  #spanAt(x, y) {
    for (const span of this.#back.children) {
      for (const box of span.getClientRects()) {
        if (x >= box.left && x < box.right && y >= box.top && y < box.bottom) return span;
      }
    }
    return undefined;
  }

  #draw() {
    const text = this.textarea.value;
    const marks = Object.values(this.#layers).filter(({of}) => of === text).flatMap((layer) => layer.marks);
    const bounds = [...new Set([0, text.length, ...marks.flatMap(({start, end}) => [start, end])])].sort((a, b) => a - b);
    const opening = Map.groupBy(marks, ({start}) => start);
    let active = [];
    const parts = [];
    for (let index = 0; index + 1 < bounds.length; index++) {
      const [start, end] = [bounds[index], bounds[index + 1]];
      active = active.filter((mark) => mark.end > start).concat(opening.get(start) ?? []);
      const piece = text.slice(start, end);
      if (active.length === 0) {
        parts.push(piece);
        continue;
      }
      const span = element("span", {class: active.map((mark) => mark.class).join(" ")}, piece);
      for (const mark of active) Object.assign(span.dataset, mark.data);
      parts.push(span);
    }
    if (this.#ghost) parts.push(element("span", {class: "ghost"}, this.#ghost));
    // A line feed at the end has a line only if something follows it.
    this.#back.replaceChildren(...parts, "\u200b");
  }
}
