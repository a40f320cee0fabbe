// The grammar: notation, options, editor with the places of errors, and their messages.

import {$, element} from "../dom.js";
import {Drafts} from "../drafts.js";
import {MarkedEditor} from "../editor.js";
import {EXAMPLES} from "../examples.js";
import {highlighted} from "../highlight.js";
import {jsonPlaces} from "../json_places.js";

export function mountGrammar({document, results, languages}) {
  const editor = new MarkedEditor($("grammar-input"));
  const said = $("grammar-said");
  const drafts = new Drafts(EXAMPLES.map(({state}) => state));
  $("bundled").append(...Object.entries(languages).map(([name, title]) => element("option", {value: name}, title)));

  editor.textarea.addEventListener("input", () => document.set({grammar: editor.value}));
  $("notation").onchange = ({target}) => document.set(drafts.enter(document.state, target.value));
  $("lexer").onchange = ({target}) => document.set({lexer: target.value});
  $("key-order").onchange = ({target}) => document.set({keyOrder: target.value});
  $("bundled").onchange = ({target}) => document.set(drafts.enter(document.state, "bundled", target.value));

  const show = ({notation, grammar, lexer, keyOrder}) => {
    const isBundled = notation === "bundled";
    // Another notation with the name of a language, or the other way round, has no meaning.
    if (isBundled && !(grammar in languages)) return document.set({grammar: Object.keys(languages)[0]});
    editor.value = isBundled ? "" : grammar;
    $("notation").value = notation;
    $("lexer").value = lexer;
    $("key-order").value = keyOrder;
    $("bundled").value = grammar;
    $("grammar-editor").hidden = isBundled;
    $("bundled-choice").hidden = !isBundled;
    $("lexer-choice").hidden = notation !== "kbnf" && notation !== "gbnf";
    $("key-order-choice").hidden = notation !== "schema";
    editor.mark("syntax", grammar, highlighted(notation, grammar));
    return undefined;
  };
  document.on(["notation", "grammar", "lexer", "keyOrder"], show);
  show(document.state);

  results.on(["grammar"], ({grammar}) => {
    const source = document.state.grammar;
    const diagnostics = grammar?.failure?.diagnostics ?? grammar?.warnings ?? [];
    editor.mark("diagnostics", source, disjoint(diagnostics.map((diagnostic) => markOf(diagnostic, source)).filter(Boolean)));
    const messages = diagnostics.map((diagnostic) => message(diagnostic, source, editor));
    if (grammar?.failure && diagnostics.length === 0) {
      messages.push(element("div", {class: "diagnostic error"}, grammar.failure.message));
    }
    said.replaceChildren(...messages);
    editor.textarea.setAttribute("aria-invalid", String(Boolean(grammar?.failure)));
  });
  results.on(["keywords"], ({keywords}) => editor.mark("keywords", keywords?.source ?? "", keywords?.marks ?? []));

  // Selects the value at a place of a schema.
  return {
    showPlace(pointer) {
      const place = jsonPlaces(document.state.grammar).get(pointer)?.value;
      if (place) editor.select(...place);
    },
  };
}

// The place of a diagnostic in the source; at least one character wide.
function placeOf({start, end, pointer}, source) {
  if (typeof start === "number") {
    const from = Math.min(start, Math.max(0, source.length - 1));
    return [from, Math.max(end, from + 1)];
  }
  return pointer ? jsonPlaces(source).get(pointer)?.value : undefined;
}

function markOf(diagnostic, source) {
  const place = placeOf(diagnostic, source);
  return place && {start: place[0], end: Math.min(place[1], source.length), class: `mark-${diagnostic.severity}`};
}

function disjoint(marks) {
  let end = 0;
  return marks.sort((a, b) => a.start - b.start).filter((mark) => {
    if (mark.start < end || mark.start >= mark.end) return false;
    end = mark.end;
    return true;
  });
}

function message(diagnostic, source, editor) {
  const place = placeOf(diagnostic, source);
  const name = diagnostic.pointer ?? (diagnostic.line ? `line ${diagnostic.line}, column ${diagnostic.column}` : undefined);
  const jump = place && name
    ? element("button", {type: "button", onclick: () => editor.select(...place)}, name)
    : name ?? "";
  const expected = diagnostic.expected.length && !diagnostic.message.includes("expected") ? `; expected ${diagnostic.expected.join(", ")}` : "";
  return element("div", {class: `diagnostic ${diagnostic.severity}`},
    jump, name ? ": " : "", diagnostic.message, expected,
    diagnostic.help ? element("div", {class: "help"}, diagnostic.help) : undefined);
}
