// With a model behind the page (`grammask serve`): probabilities of the next tokens before and after the mask, and the
// probability that the mask leaves at each step.

import {withAxes} from "../chart.js";
import {element, number} from "../dom.js";
import {shown} from "../bytes.js";

const PAUSE_MS = 250;

export function mountModel({document, results, server, appendToken}) {
  const prompt = element("input", {type: "text", id: "prompt", size: "40", autocomplete: "off"});
  const said = element("p", {class: "quiet", role: "status"});
  const curve = makeCurve();
  const {chart, set: setEnds} = withAxes(curve, {x: "tokens read", y: "Probability that the mask leaves at each step"});
  chart.hidden = true;
  const body = element("tbody");
  const table = element("table", {},
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "Token"), element("th", {scope: "col", class: "number"}, "Before"),
      element("th", {scope: "col"}, "the mask"), element("th", {scope: "col", class: "number"}, "After"), element("th", {scope: "col"}, "the mask"))),
    body);
  const panel = element("div", {},
    element("div", {class: "row"}, element("label", {for: "prompt"}, "Prompt"), prompt), said, chart, element("div", {class: "wide"}, table));
  if (!server) {
    panel.replaceChildren(element("p", {class: "quiet"},
      "This page has no model. ", element("code", {}, "grammask serve --model …"), " serves it with one."));
    return panel;
  }
  prompt.value = document.state.prompt;
  prompt.addEventListener("input", () => document.set({prompt: prompt.value}));

  let timer;
  let newest = 0;
  const ask = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const {mask, grammar, vocabulary} = results.state;
      if (!mask || grammar?.failure || vocabulary?.name !== "model" || document.state.tab !== "model") return;
      const turn = ++newest;
      try {
        const answer = await server.probabilities(document.state, mask);
        if (turn === newest) show(answer);
      } catch (error) {
        if (turn === newest) said.textContent = `The server has no answer: ${error.message}`;
      }
    }, PAUSE_MS);
  };
  results.on(["mask"], ask);
  document.on(["tab", "prompt"], ask);
  results.on(["vocabulary"], ({vocabulary}) => {
    if (vocabulary && vocabulary.name !== "model") said.textContent = "Select the vocabulary of the model to see its probabilities.";
  });

  function show({candidates, steps}) {
    const last = steps.at(-1);
    said.textContent = last ? `The mask leaves ${percent(last.mass)} of the probability.` : "The text has ended.";
    body.replaceChildren(...candidates.map(({id, bytes, before, after}) => {
      const label = element("button", {type: "button", class: "token", disabled: after === 0, onclick: () => appendToken(id, bytes)},
        bytes ? shown(bytes) : `token ${id}`);
      return element("tr", {class: after === 0 ? "refused" : undefined},
        element("td", {class: "code"}, label),
        element("td", {class: "number"}, percent(before)), element("td", {}, bar(before, "bar")),
        element("td", {class: "number"}, after === 0 ? "refused" : percent(after)), element("td", {}, bar(after, "bar after")));
    }));
    chart.hidden = steps.length === 0;
    const first = Math.max(0, results.state.mask.step + 1 - steps.length);
    setEnds({top: "100 %", bottom: "0 %", first: number(first), last: number(first + steps.length - 1)});
    drawMass(curve, steps, document);
  }
  return panel;
}

function makeCurve() {
  const svg = window.document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "curve");
  svg.setAttribute("role", "img");
  svg.setAttribute("preserveAspectRatio", "none");
  return svg;
}

function bar(probability, kind) {
  return element("span", {class: kind, style: `width: ${(probability * 8).toFixed(3)}rem`});
}

function percent(probability) {
  return probability > 0 && probability < 0.0005 ? "< 0.1 %" : `${number(Math.round(probability * 1000) / 10)} %`;
}

// The allowed mass at each step; a click on a dip goes to the step.
function drawMass(svg, steps, document) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${Math.max(1, steps.length)} 1`);
  svg.setAttribute("aria-label", `Probability that the mask leaves at each of ${steps.length} steps; the least is ${
    percent(Math.min(1, ...steps.map(({mass}) => mass)))}`);
  steps.forEach(({mass, preferred}, index) => {
    const box = window.document.createElementNS(svg.namespaceURI, "rect");
    for (const [key, value] of Object.entries({x: index + 0.08, y: 1 - mass, width: 0.84, height: Math.max(mass, 0.004)})) {
      box.setAttribute(key, value);
    }
    box.setAttribute("fill", mass < 0.5 ? "var(--bad)" : "var(--accent)");
    const title = window.document.createElementNS(svg.namespaceURI, "title");
    title.textContent = `step ${index}: ${percent(mass)}` + (preferred === null ? "" : `; the model wanted “${preferred}”, which the grammar refuses`);
    box.append(title);
    box.addEventListener("click", () => document.set({step: index}));
    svg.append(box);
  });
}
