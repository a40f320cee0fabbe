// The parse of the text so far as a tree that can be folded.

import {encode, shown} from "../bytes.js";
import {element} from "../dom.js";

// Deeper nodes are folded at first.
const OPEN_DEPTH = 12;
const MAX_NODES = 2000;
const MAX_EXCERPT_BYTES = 80;

export function mountTree({results}) {
  const panel = element("div", {class: "wide"});
  results.on(["details"], ({details, mask}) => {
    if (!details || !mask) return panel.replaceChildren();
    if (!details.tree) return panel.replaceChildren(element("p", {class: "quiet"}, "There is no tree of this text."));
    const bytes = encode(mask.text);
    panel.replaceChildren(element("ul", {class: "tree"}, nodeOf(details.tree, bytes)));
    return undefined;
  });
  return panel;
}

// Nodes are made from an explicit stack: a text can nest deeply.
function nodeOf(root, bytes) {
  const list = element("ul");
  const stack = [{node: root, depth: 0, into: list}];
  for (let count = 0; stack.length > 0 && count < MAX_NODES; count++) {
    const {node, depth, into} = stack.pop();
    const text = shown(bytes.subarray(node.start, Math.min(node.end, node.start + MAX_EXCERPT_BYTES)));
    const name = element("span", {class: node.kind}, node.name);
    const excerpt = element("span", {class: "leaf"}, ` ${text}${node.end - node.start > MAX_EXCERPT_BYTES ? "…" : ""}`);
    const item = element("li", {class: node.complete ? undefined : "open"});
    into.append(item);
    if (node.children.length === 0) {
      item.append(name, excerpt);
      continue;
    }
    const inner = element("ul");
    item.append(element("details", {open: depth < OPEN_DEPTH}, element("summary", {}, name, excerpt), inner));
    for (const child of node.children.toReversed()) stack.push({node: child, depth: depth + 1, into: inner});
  }
  return list.firstChild;
}
