// Light, dark, or as the system: `color-scheme` of the root decides, since all colours are `light-dark()`.

import {$} from "./dom.js";

const SCHEMES = {"": ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"]};

export function mountTheme(results) {
  const root = document.documentElement;
  const button = $("theme-button");
  const names = Object.keys(SCHEMES);
  const set = (scheme) => {
    root.style.colorScheme = scheme;
    root.dataset.scheme = scheme;
    [button.textContent] = SCHEMES[scheme];
    button.setAttribute("aria-label", `Colours: ${SCHEMES[scheme][1]}`);
    results.set({theme: scheme + matchMedia("(prefers-color-scheme: dark)").matches});
  };
  button.onclick = () => set(names[(names.indexOf(root.dataset.scheme ?? "") + 1) % names.length]);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => set(root.dataset.scheme ?? ""));
}
