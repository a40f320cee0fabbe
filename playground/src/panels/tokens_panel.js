// The next tokens, grouped by the terminal that they continue.

import {shown} from "../bytes.js";
import {$, element, number, plural} from "../dom.js";
import {labels} from "./expectations.js";

export function mountTokens({results, appendToken}) {
  // The first token of each group is a stop of the tab key; arrow keys go from token to token.
  $("tokens").addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    const buttons = [...$("tokens").querySelectorAll("button")];
    const next = buttons[buttons.indexOf(event.target) + step];
    if (!step || !buttons.includes(event.target) || !next) return;
    event.preventDefault();
    next.focus();
  });
  results.on(["groups", "mask"], ({groups, mask}) => {
    if (!mask || !groups) {
      $("tokens").replaceChildren();
      $("tokens-said").textContent = "";
      return;
    }
    const shownCount = groups.groups.reduce((sum, group) => sum + group.tokens.length, 0);
    $("tokens-said").textContent = mask.isFinished ? "none: the text has ended"
      : `${plural(mask.allowed, "token")}${shownCount < mask.allowed ? `, ${number(shownCount)} shown` : ""}`;
    $("tokens").replaceChildren(...groups.groups.map((group) => groupOf(group, appendToken)));
  });
}

function groupOf(group, appendToken) {
  const {count, tokens} = group;
  const {terminal, rule} = labels(group);
  const head = element("div", {class: "head"},
    terminal === null ? "tokens without text" : element("code", {}, terminal),
    rule ? element("span", {class: "quiet"}, `in ${rule}`) : undefined,
    element("span", {class: "quiet"}, plural(count, "token")));
  const items = tokens.map(({id, bytes, name}, index) => {
    const label = bytes ? shown(bytes) : name ?? `token ${id}`;
    const button = element("button", {
      type: "button", class: "token", title: `token ${id}`, tabindex: index === 0 ? undefined : "-1", onclick: () => appendToken(id, bytes),
    }, label);
    return element("li", {}, button);
  });
  return element("div", {class: "group"}, head, element("ul", {"aria-label": terminal ?? "tokens without text"}, ...items));
}
