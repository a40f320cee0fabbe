// Railroad diagrams of the rules; those of the rules that the grammar is in now are highlighted.

import {element} from "../dom.js";

export function mountDiagrams({results}) {
  const panel = element("div", {class: "diagrams"});
  const empty = element("p", {class: "quiet"}, "This grammar has no diagrams.");
  results.on(["grammar"], ({grammar}) => {
    if (grammar?.failure && panel.querySelector(".diagram")) return; // The last diagrams stay, stale.
    const diagrams = grammar?.diagrams ?? [];
    panel.replaceChildren(...(diagrams.length ? diagrams.map(figureOf) : [empty]));
  });
  results.on(["mask", "grammar"], ({mask}) => {
    const figures = [...panel.querySelectorAll(".diagram")];
    const active = new Set((mask?.expected ?? []).map(({rule}) => figureWith(rule, figures)));
    for (const figure of figures) figure.classList.toggle("active", active.has(figure));
  });
  return panel;
}

// The diagram of a rule, or of the schema around a place that has no diagram of its own.
function figureWith(rule, figures) {
  const around = figures.filter(({dataset: {of}}) => rule === of || rule.startsWith(`${of}/`));
  return around.sort((a, b) => b.dataset.of.length - a.dataset.of.length)[0];
}

function figureOf({rule, svg}) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const drawing = document.importNode(parsed, true);
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `Railroad diagram of ${rule}`);
  const figure = element("div", {class: "diagram"}, element("h3", {class: "visually-hidden"}, rule), drawing);
  figure.dataset.of = rule;
  figure.addEventListener("click", ({target}) => {
    const name = target.closest("[data-rule]")?.dataset.rule;
    const other = name !== rule && [...figure.parentElement.children].find((each) => each.dataset.of === name);
    if (other) other.scrollIntoView({behavior: "smooth", block: "center"});
  });
  return figure;
}
