// The examples as cards in a dialog.

import {$, element} from "../dom.js";
import {EXAMPLES} from "../examples.js";

const TITLES = {kbnf: "KBNF", gbnf: "GBNF", regex: "Regular expression", schema: "JSON Schema", choices: "Choices", bundled: "Language"};

export function mountGallery({open}) {
  const dialog = $("examples-dialog");
  $("examples-button").onclick = () => dialog.showModal();
  $("examples-close").onclick = () => dialog.close();
  dialog.addEventListener("click", ({target}) => target === dialog && dialog.close());
  $("gallery").append(...EXAMPLES.map((example) => element("button", {
    type: "button", class: "card", "data-example": example.id,
    onclick: () => {
      dialog.close();
      open(example.state);
    },
  }, element("span", {class: "chip"}, TITLES[example.state.notation]), element("b", {}, example.title), element("span", {class: "quiet"}, example.about))));
}
