// The tabs below: one panel at a time, with the keyboard as in the ARIA Authoring Practices (tabs, automatic activation).

import {$, element} from "../dom.js";

// `tabs` is a list of `{id, title, panel}`; `document.tab` is the id of the selected one.
export function mountTabs({document}, tabs) {
  const buttons = tabs.map(({id, title, panel}) => {
    const button = element("button", {
      type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, onclick: () => document.set({tab: id}),
    }, title);
    $("tabs").append(button);
    $("tab-panels").append(element("div", {role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: "0"}, panel));
    return button;
  });
  $("tabs").addEventListener("keydown", (event) => {
    const index = buttons.indexOf(event.target);
    const last = buttons.length - 1;
    const next = {ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index === 0 ? last : index - 1, Home: 0, End: last}[event.key];
    if (index < 0 || next === undefined) return;
    event.preventDefault();
    document.set({tab: tabs[next].id});
    buttons[next].focus();
  });
  const show = ({tab}) => {
    const selected = tabs.some(({id}) => id === tab) ? tab : tabs[0].id;
    tabs.forEach(({id}, index) => {
      buttons[index].setAttribute("aria-selected", String(id === selected));
      buttons[index].tabIndex = id === selected ? 0 : -1;
      $(`panel-${id}`).hidden = id !== selected;
    });
  };
  document.on(["tab"], show);
  show(document.state);
}
