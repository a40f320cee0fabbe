// Elements from descriptions. Texts are always text nodes, so no input becomes markup.

export function $(id) {
  return document.getElementById(id);
}

// `element("p", {class: "quiet", onclick: f}, "text", child)`: properties that begin with "on" are listeners, others attributes.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

export function number(value) {
  return value.toLocaleString("en");
}

export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// The number of tokens that a mask allows.
export function allowedSaid({mask, vocabulary}) {
  return `${number(mask.allowed)} of ${number(vocabulary.size)} tokens allowed`;
}
