// The parse of the text so far as a tree that can be folded.

import {encode, shown} from "../bytes.js";
import {element} from "../dom.js";

// Deeper nodes are folded at first.
const OPEN_DEPTH = 12;
const MAX_NODES = 2000;

export function mountTree({results}) {
  const panel = element("div", {class: "scroll"});
  results.on(["details"], ({details, mask}) => {
    if (!details || !mask) return panel.replaceChildren();
    if (!details.tree) return panel.replaceChildren(element("p", {class: "quiet"}, "There is no tree of this text."));
    const bytes = encode(mask.text);
    const roots = Array.isArray(details.tree) ? details.tree : [details.tree];
    const budget = {nodes: MAX_NODES};
    panel.replaceChildren(element("ul", {class: "tree"}, ...roots.map((root) => nodeOf(root, bytes, 0, budget))));
    return undefined;
  });
  return panel;
}

// Nodes are made from an explicit stack: a text can nest deeply.
function nodeOf(root, bytes, depth, budget) {
  const list = [];
  const stack = [{node: root, depth, into: list}];
  while (stack.length > 0) {
    const {node, depth: level, into} = stack.pop();
    if (budget.nodes-- <= 0) break;
    const text = shown(bytes.subarray(node.start, Math.min(node.end, node.start + 80)));
    const more = node.end - node.start > 80 ? "…" : "";
    const rule = element("span", {class: "rule"}, node.rule);
    const children = node.children ?? [];
    const excerpt = element("span", {class: "leaf"}, ` ${text}${more}`);
    const item = element("li", {class: node.complete ? undefined : "open"});
    if (children.length === 0) {
      item.append(rule, excerpt);
    } else {
      const inner = element("ul");
      item.append(element("details", {open: level < OPEN_DEPTH}, element("summary", {}, rule, excerpt), inner));
      for (let index = children.length - 1; index >= 0; index--) stack.push({node: children[index], depth: level + 1, into: inner});
    }
    if (into.append) into.append(item);
    else into.push(item);
  }
  return list[0] ?? "…";
}
