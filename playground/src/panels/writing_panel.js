// The button Write: a small language model in the page, or the model of the server, continues the text under the mask,
// token by token.

import {$, plural} from "../dom.js";
import {writeByServer} from "../server_writer.js";
import {append} from "./text_panel.js";

// Maximum number of tokens, which is the token budget, so that the text is complete at the end.
const MAX_TOKENS = 120;
// Time between the mask and the next token, in milliseconds, so that both can be seen.
const PAUSE_MS = 90;

export function mountWriting({document, results, engine, server}) {
  const usesServer = () => server && results.state.vocabulary?.name === "model";
  const button = $("write-button");
  // Of the text that is being written: the text so far, the number of tokens, and how many may still follow.
  let writing;

  button.onclick = () => {
    if (writing) return stop("");
    writing = {tokensLeft: MAX_TOKENS, text: document.state.text, count: 0};
    document.set({step: null});
    showState();
    return askSoon();
  };

  function stop(message) {
    clearTimeout(writing?.timer);
    writing = undefined;
    showState();
    $("write-said").textContent = message;
  }

  function showState() {
    button.textContent = writing ? "Stop" : "Write";
    $("mask-count").setAttribute("aria-busy", String(Boolean(writing)));
    button.disabled = !writing && !canWrite(results.state);
    if (writing) $("write-said").textContent = "";
  }

  // Asks for the next token as soon as the mask after the text is there.
  function askSoon() {
    const {mask} = results.state;
    if (!writing || !mask || mask.text !== writing.text || mask.step < mask.legal) return;
    clearTimeout(writing.timer);
    writing.timer = setTimeout(() => (usesServer() ? askServer(mask) : askEngine()), PAUSE_MS);
  }

  function askEngine() {
    engine.write({tokensLeft: writing.tokensLeft, mayEnd: writing.count > 0});
  }

  async function askServer(mask) {
    const asked = writing;
    const written = await writeByServer(server, document.state, mask, writing.tokensLeft).catch((failure) => ({failure}));
    if (writing === asked) results.set({written});
  }

  results.on(["written"], ({written, mask}) => {
    if (!writing || mask.text !== writing.text) return;
    if (written.failure) return stop(written.failure.message);
    writing.tokensLeft = written.tokensLeft;
    if (written.addition) {
      writing.count += written.count;
      writing.text += written.addition;
      append(document, written.addition);
    }
    if (written.hasEnded) stop(`${written.isComplete ? "The text is complete" : "Stopped"} after ${plural(writing.count, "token")}.`);
    return undefined;
  });
  // Another text, step, grammar or vocabulary ends the writing.
  document.on(["text", "step"], ({text, step}) => text === writing?.text && step === null || stop(""));
  document.on(["notation", "grammar", "lexer", "keyOrder", "vocabulary"], () => stop(""));
  results.on(["vocabulary"], () => {
    $("write-model").textContent = usesServer() ? `with the model ${server.name} of the server`
      : "with a small language model in this page: n-grams of its example texts and of the grammar";
  });
  results.on(["mask", "isStale"], () => {
    showState();
    askSoon();
  });
  showState();
}

// The text has to fit, token by token.
function canWrite({mask, isStale}) {
  return Boolean(mask) && !isStale && mask.wrong === undefined && mask.legal === mask.ids.length && !mask.isFinished;
}
