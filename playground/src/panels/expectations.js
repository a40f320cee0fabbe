// Terminals that a grammar expects, and the place in a schema that says so, as parts of a message.

import {element} from "../dom.js";

const MAX_LISTED = 6;

// What messages call a terminal and its rule.
export function labels({terminal, terminalLabel, rule, ruleLabel}) {
  return {terminal: terminalLabel ?? terminal, rule: ruleLabel ?? rule};
}

// `place` is the JSON pointer of a place in a schema, or nothing for other grammars, whose rules are named instead.
// `showPlace(pointer)` selects it in the editor.
export function listed(expected, place, showPlace) {
  const names = [...new Set(expected.map((expectation) => {
    const {terminal, rule} = labels(expectation);
    return `${terminal}${rule && !place ? ` in ${rule}` : ""}`;
  }))];
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  const parts = names.slice(0, MAX_LISTED).flatMap((name, index) => [index > 0 ? ", " : "", element("code", {}, name)]);
  return [...parts, more, ...(place ? [" at ", placeLink(place, showPlace)] : [])];
}

// Several places are joined by " or ": they are no pointer, and no link.
function placeLink(place, showPlace) {
  if (!showPlace || place.includes(" or ")) return element("code", {}, place);
  return element("button", {type: "button", class: "link code", onclick: () => showPlace(place)}, place);
}
