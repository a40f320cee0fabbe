// Grammars with a lexer: the lexemes that have been read, those that the unfinished lexeme can still be, and the stacks of
// the parser.

import {encode, shown} from "../bytes.js";
import {element} from "../dom.js";

export function mountLexer({results}) {
  const panel = element("div", {class: "wide"});
  const show = ({details, mask, grammar}) => {
    if (!mask || !details) return panel.replaceChildren();
    if (!grammar?.hasLexer) {
      return panel.replaceChildren(element("p", {class: "quiet"},
        "This grammar has no lexer: it matches bytes. Programming languages have one, and so have KBNF and GBNF if you select one above."));
    }
    const bytes = encode(mask.text).subarray(0, mask.offsets[mask.step]);
    panel.replaceChildren(...details.readings.flatMap((reading, index) => readingOf(reading, index, details.readings.length, bytes)));
    return undefined;
  };
  results.on(["details", "grammar"], show);
  return panel;
}

// Mostly there is one reading; there are several while the end of a lexeme is undecided.
function readingOf({lexemes, open, stack}, index, count, bytes) {
  const piece = (start, end) => element("span", {class: "code"}, shown(bytes.subarray(start, end)));
  const title = (text) => element("h3", {}, count > 1 ? `Reading ${index + 1}: ${text}` : text);
  const isOpen = open.start < bytes.length;
  return [
    title("lexemes read"),
    element("ol", {class: "boxes lexemes-read", "aria-label": "Lexemes read"},
      ...lexemes.map(({terminal, start, end}) => element("li", {class: "box"}, terminal, piece(start, end)))),
    title(!isOpen ? "no open lexeme" : open.terminals.length === 1 ? "open lexeme" : `open lexeme with ${open.terminals.length} possible terminals`),
    element("ul", {class: "boxes lexemes-open", "aria-label": "Possible terminals of the open lexeme"},
      ...(isOpen ? open.terminals.map((terminal) => element("li", {class: "box open"},
        terminal === open.completeAs ? `${terminal} (if it ends here)` : terminal, piece(open.start, bytes.length))) : [])),
    title("stack of the LALR(1) parser, from the bottom"),
    element("ol", {class: "boxes", "aria-label": "Stack"}, ...stack.map((name) => element("li", {class: "box"}, name))),
  ];
}
