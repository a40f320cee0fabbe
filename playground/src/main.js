// The page: the document, the results of the engine, and the panels between them.

import {asset} from "./assets.js";
import {decoded, encode, shown} from "./bytes.js";
import {$, element} from "./dom.js";
import {EngineClient} from "./engine/client.js";
import {EXAMPLES} from "./examples.js";
import {mountCode} from "./panels/code_panel.js";
import {mountCompare} from "./panels/compare_panel.js";
import {mountDiagrams} from "./panels/diagrams_panel.js";
import {mountGallery} from "./panels/gallery.js";
import {mountGrammar} from "./panels/grammar_panel.js";
import {mountKeywords} from "./panels/keywords_panel.js";
import {mountLexer} from "./panels/lexer_panel.js";
import {mountMask} from "./panels/mask_panel.js";
import {mountModel} from "./panels/model_panel.js";
import {mountTabs} from "./panels/tabs.js";
import {append, mountText} from "./panels/text_panel.js";
import {mountTokens} from "./panels/tokens_panel.js";
import {mountTree} from "./panels/tree_panel.js";
import {mountWriting} from "./panels/writing_panel.js";
import {findServer} from "./server.js";
import {fragmentOf, stateOf} from "./share.js";
import {Store} from "./store.js";
import {mountTheme} from "./theme.js";

const LANGUAGES = {c: "C", go: "Go", java: "Java", javascript: "JavaScript", json: "JSON", python: "Python", sql: "SQL"};
const DEFAULTS = {
  notation: "kbnf", grammar: "", lexer: "", keyOrder: "", text: "", vocabulary: "o200k_base", step: null, tab: "diagrams",
  otherNotation: "schema", otherGrammar: "", prompt: "", code: "python",
};
const FIRST = {...DEFAULTS, ...EXAMPLES[0].state};

async function begin() {
  // A shared link contains this state.
  const document = new Store((await stateOf(location.hash, DEFAULTS)) ?? FIRST);
  const results = new Store({
    vocabulary: undefined, grammar: undefined, report: undefined, keywords: undefined, mask: undefined, groups: undefined,
    details: undefined, steps: undefined, written: undefined, explained: undefined, compared: undefined, theme: undefined,
    isStale: false, isSettled: false,
  });
  const server = await findServer();
  const engine = new EngineClient(await workerMaker(), await engineAssets(), (answer) => receive(answer, document, results));
  const appendToken = (id, bytes) => {
    const text = bytes === undefined ? undefined : decoded(bytes);
    if (bytes !== undefined && text !== undefined) return append(document, text);
    if (bytes !== undefined) return notice(`“${shown(bytes)}” is a part of a character: a text of the page has whole characters.`);
    return notice("A token without text cannot be appended to the text.");
  };
  // A pixel of the mask is known by its id only; its bytes come with the explanation.
  const appendById = (id) => {
    const {explained} = results.state;
    if (id !== undefined && explained?.id === id && explained.explanation?.isAllowed) appendToken(id, explained.bytes);
  };

  const panel = {document, results, engine, server, appendToken, languages: LANGUAGES};
  mountTheme(results);
  const {showPlace} = mountGrammar(panel);
  mountText({...panel, showPlace});
  mountWriting(panel);
  mountMask({...panel, appendToken: appendById, showPlace});
  mountTokens(panel);
  mountCode(panel);
  mountTabs(panel, [
    {id: "diagrams", title: "Diagrams", panel: mountDiagrams(panel)},
    {id: "tree", title: "Parse tree", panel: mountTree(panel)},
    {id: "lexer", title: "Lexer", panel: mountLexer(panel)},
    {id: "keywords", title: "Schema keywords", panel: mountKeywords(panel)},
    {id: "model", title: "Model", panel: mountModel(panel)},
    {id: "compare", title: "Compare", panel: mountCompare(panel)},
  ]);
  mountGallery({open: (state) => document.set({...DEFAULTS, vocabulary: document.state.vocabulary, ...state})});
  mountVocabulary({document, results, engine, server});
  mountShare(document);

  results.on(["isStale"], ({isStale}) => $("main").classList.toggle("stale", isStale));
  const analyse = () => {
    const {notation, grammar, lexer, keyOrder, text, step} = document.state;
    results.set({isSettled: false});
    if (results.state.vocabulary) engine.analyse({document: {notation, source: grammar, lexer, keyOrder}, text, step});
  };
  document.on(["notation", "grammar", "lexer", "keyOrder", "text", "step"], analyse);
  results.on(["vocabulary"], analyse);
  // For tests and the console.
  window.playground = {document, results};
}

function receive(answer, document, results) {
  const {kind, sequence: _, revision: __, ...fields} = answer;
  switch (kind) {
    case "vocabulary":
      if (fields.failure) return notice(`The vocabulary ${fields.name} cannot be read: ${fields.failure.message}`);
      notice("");
      return results.set({vocabulary: fields, mask: undefined, isSettled: false});
    case "grammar":
      // An erroneous grammar leaves the results of the last one, which are then stale.
      return results.set(fields.failure ? {grammar: fields, isStale: true} : {grammar: fields, isStale: false, steps: undefined});
    case "keywords":
      return results.set({report: fields});
    case "failed":
      results.set({isSettled: true});
      return notice(fields.failure.message);
    case "settled":
      return results.set({isSettled: true});
    default:
      return results.set({[kind]: fields});
  }
}

function notice(text) {
  $("notice").textContent = text;
}

// The engine is in a worker from a Blob, which works in a page from a file.
async function workerMaker() {
  const source = $("worker-source").textContent;
  const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  return () => new Worker(url);
}

async function engineAssets() {
  return {
    wasm: await asset("engine"), definitions: JSON.parse(decoded(await asset("languages"))),
    texts: [await asset("texts"), ...EXAMPLES.map(({state}) => encode(state.text))],
  };
}

function mountVocabulary({document, results, engine, server}) {
  const select = $("vocabulary");
  const add = (value, title) => select.append(element("option", {value}, title));
  if (server) add("model", `of the model ${server.name}`);
  add("o200k_base", "o200k_base (200,019 tokens)");
  add("bytes", "bytes (256 tokens)");
  let opened;

  const use = async ({vocabulary}) => {
    select.value = vocabulary;
    results.set({isSettled: false});
    if (vocabulary === "model" && server) engine.useVocabulary({name: "model", saved: await server.vocabulary()});
    else if (vocabulary === "bytes") engine.useVocabulary({name: "bytes"});
    else if (vocabulary === opened?.name) engine.useVocabulary(opened);
    else if (vocabulary === "o200k_base") engine.useVocabulary({name: vocabulary, saved: (await asset(vocabulary)).buffer});
    else {
      notice(`This page has no vocabulary ${vocabulary}: open its tokenizer.json or .tiktoken file. Until then it shows o200k_base.`);
      engine.useVocabulary({name: "o200k_base", saved: (await asset("o200k_base")).buffer});
    }
  };
  document.on(["vocabulary"], use);
  select.onchange = () => document.set({vocabulary: select.value});

  const open = async (file) => {
    const name = file.name;
    opened = name.endsWith(".tiktoken") ? {name, tiktoken: await file.arrayBuffer()} : {name, json: await file.text()};
    if (![...select.options].some((option) => option.value === name)) add(name, name);
    if (document.state.vocabulary === name) use({vocabulary: name});
    else document.set({vocabulary: name});
  };
  $("vocabulary-file").onchange = ({target}) => target.files[0] && open(target.files[0]);
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
  if (server && !location.hash && document.state.vocabulary !== "model") document.set({vocabulary: "model"});
  else use(document.state);
}

function mountShare(document) {
  $("share-button").onclick = async () => {
    const fragment = await fragmentOf(document.state);
    history.replaceState(undefined, "", fragment);
    try {
      await navigator.clipboard.writeText(location.href);
      notice("The link is in the clipboard and in the address bar. It contains the grammar and the text, and no server stores them.");
    } catch {
      notice("The link is in the address bar. It contains the grammar and the text, and no server stores them.");
    }
  };
  window.addEventListener("hashchange", async () => {
    const state = await stateOf(location.hash, DEFAULTS);
    if (state) document.set(state);
  });
}

begin().catch((error) => notice(`The page cannot start: ${error.message}`));
