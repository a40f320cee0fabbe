// Grammars with a lexer: the lexemes that have been read, those that the unfinished lexeme can still be, and the stacks of
// the parser.

import {encode, shown} from "../bytes.js";
import {element} from "../dom.js";

export function mountLexer({results}) {
  const panel = element("div", {class: "scroll"});
  const show = ({details, mask, grammar}) => {
    if (!mask || !details) return panel.replaceChildren();
    if (!grammar?.hasLexer) {
      return panel.replaceChildren(element("p", {class: "quiet"},
        "This grammar has no lexer: it matches bytes. Programming languages have one, and so have KBNF and GBNF if you select one above."));
    }
    if (!details.lexemes) return panel.replaceChildren();
    const {read, open, stacks} = details.lexemes;
    const bytes = encode(mask.text);
    const piece = ({start, end}) => element("span", {class: "code"}, shown(bytes.subarray(start, end)));
    panel.replaceChildren(
      element("h3", {}, "Lexemes read"),
      element("ol", {class: "boxes", id: "lexemes-read", "aria-label": "Lexemes read"},
        ...read.map((lexeme) => element("li", {class: "box"}, lexeme.terminal, piece(lexeme)))),
      element("h3", {}, open.length === 1 ? "Open lexeme" : `Open lexeme: ${open.length} terminals are possible`),
      element("ul", {class: "boxes", id: "lexemes-open", "aria-label": "Terminals of the open lexeme"},
        ...(open.length ? open.map((lexeme) => element("li", {class: "box open"}, lexeme.terminal, piece(lexeme)))
          : [element("li", {class: "quiet"}, "none: the text ends between two lexemes")])),
      element("h3", {}, stacks.length === 1 ? "LALR(1) stack, from the bottom" : "LALR(1) stacks, from the bottom"),
      ...stacks.map((stack) => element("ol", {class: "boxes", "aria-label": "Stack"}, ...stack.map((name) => element("li", {class: "box"}, name)))));
    return undefined;
  };
  results.on(["details", "grammar"], show);
  return panel;
}
