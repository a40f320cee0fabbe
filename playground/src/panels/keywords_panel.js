// The keywords of a JSON Schema by kind; the editor has the same colours.

import {element} from "../dom.js";
import {KINDS, keywordsOf} from "../keywords.js";

export function mountKeywords({document, results}) {
  const panel = element("div", {class: "wide"});
  const show = ({report}) => {
    const {notation, grammar} = document.state;
    if (notation !== "schema" || !report) {
      results.set({keywords: undefined});
      panel.replaceChildren(element("p", {class: "quiet"}, "This view is for JSON Schema."));
      return;
    }
    const keywords = keywordsOf(grammar, report);
    const marks = keywords.map(({start, end, kind}) => ({start, end, class: `kw-${kind}`}));
    results.set({keywords: {source: grammar, marks}});
    const rows = keywords.map(({name, pointer, kind, message}) => element("tr", {},
      element("td", {}, element("code", {class: `kw-${kind}`}, name)),
      element("td", {}, kind),
      element("td", {}, element("code", {}, pointer)),
      element("td", {class: "quiet"}, message ?? KINDS[kind])));
    panel.replaceChildren(element("table", {},
      element("thead", {}, element("tr", {}, ...["Keyword", "Kind", "Place", "Meaning"].map((title) => element("th", {scope: "col"}, title)))),
      element("tbody", {}, ...rows)));
  };
  results.on(["report"], show);
  document.on(["notation"], () => results.set({report: undefined}));
  show(results.state);
  return panel;
}
