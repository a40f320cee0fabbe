// The axes of a chart: their names and the values at their ends, as texts beside the drawing.

import {element} from "./dom.js";

// Puts axes around a drawing, at its place in the page if it has one. Returns the element `chart` around both, and
// `set({top, bottom, first, last})`, which writes the values at the ends.
export function withAxes(svg, {x, y}) {
  const ends = Object.fromEntries(["top", "bottom", "first", "last"].map((name) => [name, element("span", {class: `axis-${name}`})]));
  const chart = element("div", {class: "chart quiet"});
  svg.replaceWith(chart);
  chart.append(element("div", {class: "axis-name"}, y),
    element("div", {class: "plot"}, svg, ends.top, ends.bottom),
    element("div", {class: "axis-x"}, ends.first, element("span", {}, x), ends.last));
  const set = (values) => {
    for (const [name, end] of Object.entries(ends)) end.textContent = values[name];
  };
  return {chart, set};
}
