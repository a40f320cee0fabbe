// The program for what the page shows, to copy.

import {codeSample, PROGRAM_LANGUAGES} from "../code_samples.js";
import {$, element} from "../dom.js";

// Where `grammask serve` listens unless it is told otherwise.
const DEFAULT_SERVER = "http://127.0.0.1:8000";

export function mountCode({document, server}) {
  const select = $("code-language");
  const address = server ? location.origin : DEFAULT_SERVER;
  select.append(...Object.entries(PROGRAM_LANGUAGES).map(([value, title]) => element("option", {value}, title)));
  select.onchange = () => document.set({code: select.value});
  const show = (state) => {
    const language = state.code in PROGRAM_LANGUAGES ? state.code : "python";
    select.value = language;
    $("code").textContent = codeSample(language, state, address);
    $("code-said").textContent = "";
  };
  document.on(["code", "notation", "grammar", "lexer", "keyOrder", "text", "vocabulary", "prompt"], show);
  show(document.state);

  $("code-copy").onclick = async () => {
    try {
      await navigator.clipboard.writeText($("code").textContent);
      $("code-said").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren($("code"));
      $("code-said").textContent = "Selected: this browser lets you copy it by its own command.";
    }
  };
}
