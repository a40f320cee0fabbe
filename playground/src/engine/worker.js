// The worker of the page. It answers the newest request first: between the stages of an answer it lets newer messages in,
// and leaves an answer that nobody waits for any more.

import {encode} from "../bytes.js";
import {failure, readGrammar, Session} from "./session.js";
import {load, Vocabulary} from "./grammask.js";
import {NgramModel} from "./ngram_model.js";
import {witnesses} from "./witness.js";
import {writeCharacters} from "./writer.js";

// Time after which a stage lets messages in, in milliseconds.
const SLICE_MS = 12;
// Time after a mask before the rest of its answer, in milliseconds: the tokens by terminal take longest where many are
// allowed, and would delay the mask after the next key.
const TYPING_PAUSE_MS = 150;
// Steps that are counted before the pause: those of a key or a written token.
const MAX_EARLY_STEPS = 8;

// A promise of the engine.
let started;
let definitions;
// The texts of the page, and the language model that has read them and the grammar.
let texts;
let model;
let vocabulary;
let session;
// The revision of the grammar in the session.
let compiledRevision;
let newest;
let comparing;
// The tokens of the text and the step of the last answer.
let shownState = {bytes: new Uint8Array(), ids: [], step: 0};

const waiting = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => waiting.shift()();

// Lets the messages that have arrived be handled.
function breath() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(undefined);
  });
}

async function isCurrent(sequence) {
  await breath();
  return sequence === newest;
}

const HANDLERS = {
  start({wasm, ...data}) {
    ({definitions, texts} = data);
    started = load(wasm);
    started.catch((error) => postMessage({kind: "failed", failure: failure(error)}));
  },

  // `{name, bytes}` of a saved vocabulary, `{name, text}` of a tokenizer.json, or neither for the bytes.
  vocabulary({name, saved, json, tiktoken}) {
    try {
      const made = saved ? Vocabulary.fromBytes(new Uint8Array(saved))
        : json ? Vocabulary.fromTokenizerJson(json)
        : tiktoken ? Vocabulary.fromTiktoken(new Uint8Array(tiktoken)) : Vocabulary.bytes();
      session?.free();
      vocabulary?.free();
      vocabulary = made;
      session = new Session(vocabulary, definitions);
      compiledRevision = undefined;
      newest = undefined;
      const {order, classes} = picture();
      postMessage({kind: "vocabulary", name, size: vocabulary.size, order, classes}, [order.buffer, classes.buffer]);
    } catch (error) {
      postMessage({kind: "vocabulary", name, failure: failure(error)});
    }
  },

  analyse({sequence, revision, document, text, step}) {
    newest = sequence;
    return analyse({sequence, revision, document, text, step}).catch((error) => {
      if (sequence === newest) postMessage({kind: "failed", sequence, failure: failure(error)});
    });
  },

  explain({sequence, id}) {
    try {
      const bytes = vocabulary.token(id);
      const explanation = session.isReady && session.moveTo(shownState.ids, shownState.step) ? session.explain(id) : undefined;
      postMessage({kind: "explained", sequence, id, bytes, name: vocabulary.nameOf(id), explanation});
    } catch (error) {
      postMessage({kind: "explained", sequence, id, failure: failure(error)});
    }
  },

  // Writes the next characters of the text of the last answer.
  write({sequence, tokensLeft, mayEnd}) {
    try {
      session.moveTo(shownState.ids, shownState.step);
      const matcher = session.fork();
      const written = writeCharacters({matcher, vocabulary, model, text: shownState.bytes, tokensLeft, mayEnd});
      matcher.free();
      postMessage({kind: "written", sequence, ...written});
    } catch (error) {
      postMessage({kind: "written", sequence, failure: failure(error)});
    }
  },

  async compare({sequence, left, right, text}) {
    comparing = sequence;
    try {
      postMessage({kind: "compared", sequence, ...await compare(sequence, left, right, text)});
    } catch (error) {
      postMessage({kind: "compared", sequence, failure: failure(error)});
    }
  },
};

onmessage = async ({data}) => {
  if (data.kind !== "start") await started;
  await HANDLERS[data.kind](data);
};

// Each answer ends with "settled", unless a newer request has come.
async function analyse({sequence, revision, document, text, step}) {
  if (revision !== compiledRevision) {
    if (!await isCurrent(sequence)) return;
    compiledRevision = revision;
    model = new NgramModel([...texts, encode(document.source)]);
    try {
      postMessage({kind: "grammar", revision, ...session.compile(document)});
    } catch (error) {
      postMessage({kind: "grammar", revision, failure: failure(error)});
    }
    if (document.notation === "schema") postMessage({kind: "keywords", revision, effects: session.keywordEffects(document)});
  }
  if (!session.isReady) return postMessage({kind: "settled", sequence});
  if (!await isCurrent(sequence)) return;
  const read = session.read(text);
  const isWhole = read.fits === read.bytes.length;
  // A text that ends inside a token of its own is followed token by token as far as it fits.
  while (!session.moveTo(read.ids, step === null ? read.legal : Math.min(step, read.legal))) read.legal--;
  const wrong = isWhole ? undefined : session.refusal(read.bytes);
  const at = step === null ? read.legal : Math.min(step, read.legal);
  shownState = {bytes: read.bytes, ids: read.ids, step: at};
  const mask = session.mask();
  postMessage({
    kind: "mask", sequence, text, ids: read.ids, offsets: read.offsets, legal: read.legal, fits: read.fits, step: at,
    wrong, ...mask, ...session.next(),
  }, [mask.words.buffer]);
  const isEarly = read.legal + 1 - session.countedSteps(read.ids).length <= MAX_EARLY_STEPS;
  if (isEarly) await countSteps(sequence, read);
  await new Promise((resolve) => setTimeout(resolve, TYPING_PAUSE_MS));
  if (!await isCurrent(sequence)) return;
  session.moveTo(read.ids, at);
  postMessage({kind: "groups", sequence, groups: labelled(session.groups())});
  if (!await isCurrent(sequence)) return;
  postMessage({kind: "details", sequence, tree: session.tree(read.bytes), readings: session.readings()});
  if (!isEarly) await countSteps(sequence, read);
  if (await isCurrent(sequence)) postMessage({kind: "settled", sequence});
  return undefined;
}

// The number of allowed tokens at each step, in slices.
async function countSteps(sequence, {ids, legal}) {
  const counts = session.countedSteps(ids);
  let begin = performance.now();
  for (let step = counts.length; step <= legal; step++) {
    session.count(ids, step);
    if (performance.now() - begin > SLICE_MS) {
      if (!await isCurrent(sequence)) return;
      begin = performance.now();
    }
  }
  postMessage({kind: "steps", sequence, counts: Uint32Array.from(counts.slice(0, legal + 1))});
}

// The order of the ids for the picture, tokens without text last, and a class of each id for its colour.
function picture() {
  const sorted = vocabulary.trieOrder();
  const order = new Uint32Array(vocabulary.size);
  order.set(sorted);
  const listed = new Uint8Array(vocabulary.size);
  const classes = new Uint8Array(vocabulary.size).fill(5);
  for (const id of sorted) {
    listed[id] = 1;
    classes[id] = classOf(vocabulary.token(id));
  }
  let end = sorted.length;
  for (let id = 0; id < vocabulary.size; id++) if (!listed[id]) order[end++] = id;
  return {order, classes};
}

// 0 letters, 1 a space and more, 2 digits, 3 punctuation, 4 bytes above ASCII and control characters, 5 no text.
function classOf([first]) {
  if (first === 0x20) return 1;
  if (first < 0x20 || first > 0x7e) return 4;
  if (first >= 0x30 && first <= 0x39) return 2;
  return (first | 0x20) >= 0x61 && (first | 0x20) <= 0x7a ? 0 : 3;
}

function labelled(groups) {
  return groups.map((group) => ({
    ...group,
    tokens: Array.from(group.tokens, (id) => ({id, bytes: vocabulary.token(id), name: vocabulary.nameOf(id)})),
  }));
}

async function compare(sequence, left, right, text) {
  const bytes = Vocabulary.bytes();
  const [a, b] = [left, right].map((document) => readGrammar(document, definitions).compile(bytes));
  const encoded = new TextEncoder().encode(text);
  const accepts = [a, b].map((compiled) => {
    const matcher = compiled.matcher();
    return matcher.acceptBytes(encoded) && matcher.isComplete;
  });
  let begin = performance.now();
  const found = await witnesses(a, b, (id) => bytes.token(id), async () => {
    if (performance.now() - begin > SLICE_MS) {
      await breath();
      begin = performance.now();
    }
    return sequence === comparing;
  });
  return {accepts, ...found};
}
