// The keywords of a JSON Schema by kind; the editor has the same colours.

import {element} from "../dom.js";
import {jsonPlaces} from "../json_places.js";

const MEANINGS = {
  enforced: "the mask enforces it",
  structural: "names a schema, holds schemas, or selects the draft",
  annotation: "says nothing about validity",
  refused: "cannot be enforced exactly, so the schema is refused",
  idle: "constrains nothing here: it admits all values, the draft does not have it, a keyword that it belongs to is missing, "
    + "or no value is compared with its schema",
  unknown: "no keyword of JSON Schema: constrains nothing",
};

export function mountKeywords({document, results}) {
  const panel = element("div", {class: "wide"});
  const show = ({report}) => {
    const {notation, grammar} = document.state;
    if (notation !== "schema" || !report) {
      results.set({keywords: undefined});
      panel.replaceChildren(element("p", {class: "quiet"}, "This view is for JSON Schema."));
      return;
    }
    // The report may be about an earlier text, of which some places are gone.
    const places = jsonPlaces(grammar);
    const marks = report.effects.filter(({pointer}) => places.get(pointer)?.key).map(({pointer, kind}) => {
      const [start, end] = places.get(pointer).key;
      return {start, end, class: `kw-${kind}`};
    });
    results.set({keywords: {source: grammar, marks}});
    const rows = report.effects.map(({keyword, pointer, kind, message}) => element("tr", {},
      element("td", {}, element("code", {class: `kw-${kind}`}, keyword)),
      element("td", {}, kind),
      element("td", {}, element("code", {}, pointer)),
      element("td", {class: "quiet"}, message ?? MEANINGS[kind])));
    panel.replaceChildren(element("table", {},
      element("thead", {}, element("tr", {}, ...["Keyword", "Kind", "Place", "Meaning"].map((title) => element("th", {scope: "col"}, title)))),
      element("tbody", {}, ...rows)));
  };
  results.on(["report"], show);
  document.on(["notation"], () => results.set({report: undefined}));
  show(results.state);
  return panel;
}
