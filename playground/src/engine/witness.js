// A text that one of two grammars has and the other has not.
//
// Breadth-first search over pairs of states from the empty text, byte by byte. Where a byte is legal for one grammar only,
// or one text is complete and the other is not, a shortest completion makes a witness. States are merged by their masks and
// forced texts, so a difference can be missed, but each witness is one: both grammars are asked about the whole text.

import {GrammaskError} from "./grammask.js";

const MAX_STATES = 4000;
const MAX_BYTES_OF_A_STATE = 40;

// `step` is called between states, and returns a promise of whether to go on. Returns `{left, right, states}`: a text of
// the left grammar only, and one of the right only, where they were found.
export async function witnesses(left, right, bytesOf, step) {
  const found = {left: undefined, right: undefined, states: 0, isExhausted: true};
  const seen = new Set();
  let queue = [[left.matcher(), right.matcher(), []]];
  while (queue.length > 0 && !(found.left && found.right)) {
    const [a, b, prefix] = queue.shift();
    found.states++;
    if (found.states > MAX_STATES) {
      found.isExhausted = false;
      break;
    }
    if (!await step()) return undefined;
    compareEnds(a, b, prefix, found);
    const [legalOfA, legalOfB] = [legal(a), legal(b)];
    const signature = `${a.isComplete}${b.isComplete}${legalOfA}|${legalOfB}|${a.forcedBytes(64)}|${b.forcedBytes(64)}`;
    if (seen.has(signature)) {
      found.isExhausted = false;
      continue;
    }
    seen.add(signature);
    const common = [];
    for (const id of new Set([...legalOfA, ...legalOfB])) {
      const inA = legalOfA.includes(id);
      const inB = legalOfB.includes(id);
      if (inA && inB) common.push(id);
      else if (inA && !found.left) found.left = completed({matcher: a, id, prefix, grammar: left, other: right, bytesOf});
      else if (inB && !found.right) found.right = completed({matcher: b, id, prefix, grammar: right, other: left, bytesOf});
    }
    if (common.length > MAX_BYTES_OF_A_STATE) found.isExhausted = false;
    for (const id of spread(common, MAX_BYTES_OF_A_STATE)) {
      const [nextA, nextB] = [a.fork(), b.fork()];
      nextA.accept(id);
      nextB.accept(id);
      queue.push([nextA, nextB, [...prefix, ...bytesOf(id)]]);
    }
    a.free();
    b.free();
  }
  return found;
}

function compareEnds(a, b, prefix, found) {
  if (a.isComplete && !b.isComplete) found.left ??= Uint8Array.from(prefix);
  if (b.isComplete && !a.isComplete) found.right ??= Uint8Array.from(prefix);
}

// The ids of single bytes that can come next.
function legal(matcher) {
  if (matcher.isFinished) return [];
  matcher.fillMask();
  const words = matcher.maskWords();
  const ids = [];
  for (let id = 0; id < 256; id++) if (words[id >> 5] >>> (id & 31) & 1) ids.push(id);
  return ids;
}

// A text of `grammar` that `other` does not have: a shortest completion of the prefix and the byte `id`. Undefined if no
// completion is known.
function completed({matcher, id, prefix, grammar, other, bytesOf}) {
  const extended = matcher.fork();
  try {
    extended.accept(id);
    const text = Uint8Array.from([...prefix, ...bytesOf(id), ...extended.shortestCompletion().bytes]);
    return grammar.isValid(text) && !other.isValid(text) ? text : undefined;
  } catch (error) {
    if (error instanceof GrammaskError) return undefined;
    throw error;
  } finally {
    extended.free();
  }
}

// At most `count` of the ids, spread over all of them.
function spread(ids, count) {
  if (ids.length <= count) return ids;
  return Array.from({length: count}, (_, index) => ids[Math.floor(index * ids.length / count)]);
}
