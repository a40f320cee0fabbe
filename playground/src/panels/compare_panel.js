// A second grammar, and a text that only one of the two has.

import {shown, decoded} from "../bytes.js";
import {element, number} from "../dom.js";
import {MarkedEditor} from "../editor.js";
import {highlighted} from "../highlight.js";

const NOTATIONS = {kbnf: "KBNF", gbnf: "GBNF", regex: "Regular expression", schema: "JSON Schema", choices: "Choices, one per line"};

export function mountCompare({document, results, engine}) {
  const area = element("textarea", {id: "compare-input", "aria-label": "Second grammar", spellcheck: "false"});
  const notation = element("select", {id: "compare-notation"}, ...Object.entries(NOTATIONS).map(([value, title]) => element("option", {value}, title)));
  const run = element("button", {type: "button", id: "compare-run"}, "Find a difference");
  const take = element("button", {type: "button", id: "compare-take"}, "Copy the grammar above");
  const said = element("div", {id: "compare-said", role: "status"});
  const panel = element("div", {class: "compare"},
    element("div", {},
      element("div", {class: "title"}, element("h3", {}, "Second grammar"), element("label", {for: "compare-notation"}, "Notation"), notation, take),
      element("div", {class: "editor"}, area)),
    element("div", {}, element("div", {class: "title"}, element("h3", {}, "Difference"), run), said));
  const editor = new MarkedEditor(area);

  area.addEventListener("input", () => document.set({otherGrammar: area.value}));
  notation.onchange = () => document.set({otherNotation: notation.value});
  take.onclick = () => document.set({otherGrammar: document.state.grammar, otherNotation: document.state.notation});
  run.onclick = () => {
    const {notation: kind, grammar, lexer, keyOrder, otherNotation, otherGrammar, text} = document.state;
    said.replaceChildren("Searching …");
    engine.compare({
      left: {notation: kind, source: grammar, lexer, keyOrder},
      right: {notation: otherNotation, source: otherGrammar, lexer: "", keyOrder},
      text,
    });
  };
  const show = ({otherGrammar, otherNotation}) => {
    editor.value = otherGrammar;
    notation.value = otherNotation;
    editor.mark("syntax", otherGrammar, highlighted(otherNotation, otherGrammar));
  };
  document.on(["otherGrammar", "otherNotation"], show);
  document.on(["grammar", "notation", "otherGrammar", "otherNotation"], () => said.replaceChildren());
  show(document.state);

  results.on(["compared"], ({compared}) => {
    if (!compared) return;
    if (compared.failure) return said.replaceChildren(element("div", {class: "diagnostic error"}, compared.failure.message));
    const lines = [
      verdict("Only the first grammar has", compared.left, document),
      verdict("Only the second grammar has", compared.right, document),
    ].filter(Boolean);
    if (lines.length === 0) {
      lines.push(element("p", {}, compared.isExhausted
        ? "The grammars have the same texts: all pairs of states were compared."
        : `No difference was found in ${number(compared.states)} pairs of states. There may be one that the search has not reached.`));
    }
    const [first, second] = compared.accepts;
    lines.push(element("p", {class: "quiet"},
      `The text above: ${first === second ? (first ? "both grammars have it" : "neither grammar has it")
        : `only the ${first ? "first" : "second"} grammar has it`}.`));
    return said.replaceChildren(...lines);
  });
  return panel;
}

function verdict(title, bytes, document) {
  if (!bytes) return undefined;
  const text = decoded(bytes);
  return element("p", {}, `${title} `, element("code", {class: "witness"}, bytes.length ? shown(bytes) : "the empty text"), " ",
    text === undefined ? undefined
      : element("button", {type: "button", onclick: () => document.set({text, step: null})}, "Show it above"));
}
