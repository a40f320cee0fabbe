// The examples as cards in a dialog.

import {$, element} from "../dom.js";
import {EXAMPLES} from "../examples.js";

const TITLES = {kbnf: "KBNF", gbnf: "GBNF", regex: "Regular expression", schema: "JSON Schema", choices: "Choices", bundled: "Language"};

function pictureOf({picture}) {
  const drawing = document.importNode(new DOMParser().parseFromString(picture, "image/svg+xml").documentElement, true);
  // The left end of a wide diagram, at the height of the card.
  const attributes = {class: "grammask-diagram picture", width: "100%", height: "76", preserveAspectRatio: "xMinYMid slice", "aria-hidden": "true"};
  for (const [name, value] of Object.entries(attributes)) drawing.setAttribute(name, value);
  drawing.removeAttribute("role");
  drawing.querySelector("title")?.remove();
  return drawing;
}

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
  }, pictureOf(example), element("span", {class: "chip"}, TITLES[example.state.notation]), element("b", {}, example.title), element("span", {class: "quiet"}, example.about))));
}
