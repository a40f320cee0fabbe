// The mask as an image: each token is a pixel on a Hilbert curve over the order of the tokens' bytes, so tokens with the
// same prefix lie together. Allowed tokens are lit.

import {shown} from "../bytes.js";
import {$, allowedSaid, element} from "../dom.js";
import {curve, sideFor} from "../hilbert.js";
import {listed} from "./expectations.js";

// Hues of the classes of tokens, with their names.
const CLASSES = [
  ["letters", 212], ["space and more", 165], ["digits", 32], ["punctuation", 285], ["control and non-ASCII", 345], ["no text", 60],
];

// Classes of marks in the style sheet, with their meaning.
const MARKS = [["lit", "bright: allowed"], ["dim", "pale: refused"], ["ring", "ring: follows in the text"]];

// Runs of tokens of one class that are at least this part of the vocabulary have a label in the picture.
const MIN_LABELLED_SHARE = 0.03;

export function mountMask({results, engine, appendToken, showPlace}) {
  const canvas = $("mask-picture");
  const context = canvas.getContext("2d");
  // Of the vocabulary: the cell of each id, the id of each cell, and the two colours of each class.
  let side = 0;
  let cells;
  let idAt;
  let image;
  let cursor;

  $("mask-legend").append(...CLASSES.map(([name, hue]) =>
    element("li", {}, element("i", {style: `background: hsl(${hue} 75% 50%)`}), name)));
  $("mask-legend").append(...MARKS.map(([kind, name]) => element("li", {}, element("i", {class: `key ${kind}`}), name)));

  const setUp = ({vocabulary}) => {
    if (!vocabulary) return;
    side = sideFor(vocabulary.size);
    const path = curve(side);
    cells = new Uint32Array(vocabulary.size);
    idAt = new Int32Array(side * side).fill(-1);
    vocabulary.order.forEach((id, index) => {
      cells[id] = path[index];
      idAt[path[index]] = id;
    });
    canvas.width = side;
    canvas.height = side;
    image = context.createImageData(side, side);
    cursor = undefined;
    $("mask-labels").replaceChildren(...labelsOf(vocabulary, path, side));
  };
  results.on(["vocabulary"], setUp);

  const draw = ({mask, vocabulary, isStale}) => {
    if (!image || !vocabulary) return;
    const isDark = matchesDark();
    const pixels = new Uint32Array(image.data.buffer);
    const [dim, lit] = [0, 1].map((strength) => CLASSES.map(([, hue]) => colour(hue, strength, isDark)));
    const words = mask?.words;
    pixels.fill(0);
    for (let id = 0; id < cells.length; id++) {
      const isAllowed = words !== undefined && words[id >> 5] >>> (id & 31) & 1;
      pixels[cells[id]] = (isAllowed ? lit : dim)[vocabulary.classes[id]];
    }
    if (mask !== undefined && mask.allowed < 2 * side) drawHalos(pixels, mask, vocabulary.classes, isDark);
    context.putImageData(image, 0, 0);
    const share = mask ? mask.allowed / vocabulary.size : 0;
    const percent = share === 0 ? "" : share < 0.001 ? " (less than 0.1 %)" : ` (${(share * 100).toFixed(1)} %)`;
    $("mask-count").textContent = mask
      ? `${allowedSaid({mask, vocabulary})}${percent}, ${
        isStale ? "by the last grammar without errors" : duration(mask.milliseconds)}` : "";
    const following = mask && mask.step < mask.ids.length ? mask.ids[mask.step] : undefined;
    place($("mask-next"), following);
    if (cursor !== undefined) engine.explain(cursor);
  };
  results.on(["mask", "theme", "isStale"], draw);

  // Single pixels are hard to see: where few tokens are allowed, each has a disc of a weaker colour.
  function drawHalos(pixels, mask, classes, isDark) {
    const radius = Math.round(Math.min(side / 100, 48 / Math.sqrt(mask.allowed + 1)));
    const halo = CLASSES.map(([, hue]) => colour(hue, 0.55, isDark));
    const isAllowed = (id) => id >= 0 && mask.words[id >> 5] >>> (id & 31) & 1;
    for (let id = 0; id < cells.length; id++) {
      if (!isAllowed(id)) continue;
      const [x, y] = [cells[id] % side, Math.floor(cells[id] / side)];
      for (let v = Math.max(0, y - radius); v <= Math.min(side - 1, y + radius); v++) {
        for (let u = Math.max(0, x - radius); u <= Math.min(side - 1, x + radius); u++) {
          const isInside = (u - x) ** 2 + (v - y) ** 2 <= radius ** 2 + 1;
          if (isInside && !isAllowed(idAt[v * side + u])) pixels[v * side + u] = halo[classes[id]];
        }
      }
    }
  }

  function place(marker, id) {
    marker.hidden = id === undefined || !cells || id >= cells.length;
    if (marker.hidden) return;
    marker.style.left = `${(cells[id] % side + 0.5) / side * 100}%`;
    marker.style.top = `${(Math.floor(cells[id] / side) + 0.5) / side * 100}%`;
  }

  function point(id) {
    cursor = id;
    place($("mask-cursor"), id);
    if (id === undefined) $("mask-said").replaceChildren();
    else engine.explain(id);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((part) => Math.floor(part * side));
    const id = idAt?.[Math.min(side - 1, Math.max(0, y)) * side + Math.min(side - 1, Math.max(0, x))];
    return id === -1 ? undefined : id;
  }

  canvas.addEventListener("pointermove", (event) => {
    const id = under(event);
    if (id !== cursor) point(id);
  });
  canvas.addEventListener("click", (event) => appendToken(under(event)));
  canvas.addEventListener("keydown", (event) => {
    const {vocabulary} = results.state;
    if (!vocabulary) return;
    const [dx, dy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key] ?? [0, 0];
    if (dx || dy) {
      event.preventDefault();
      const far = event.shiftKey ? 16 : 1;
      const cell = cursor === undefined ? cells[vocabulary.order[0]] : cells[cursor];
      const x = Math.min(side - 1, Math.max(0, cell % side + dx * far));
      const y = Math.min(side - 1, Math.max(0, Math.floor(cell / side) + dy * far));
      if (idAt[y * side + x] >= 0) point(idAt[y * side + x]);
    } else if (event.key === "Enter" && cursor !== undefined) {
      appendToken(cursor);
    } else if (event.key === "Escape") {
      point(undefined);
    }
  });

  results.on(["explained"], ({explained}) => {
    if (!explained || explained.id !== cursor) return;
    const {id, bytes, name, explanation, failure} = explained;
    const label = bytes ? `“${shown(bytes)}”` : name ?? "a token without text";
    $("mask-said").replaceChildren(
      element("b", {class: "code"}, label), ` (${id}) `,
      ...(explanation ? saidOf(explanation, bytes, showPlace) : [failure?.message ?? "there is no grammar"]));
  });
}

const REASONS = {
  "too-many-tokens": "the part of the text may have no more tokens",
  "over-budget": "the text could not be finished within the budget",
  incomplete: "the text cannot end here",
  "no-text": "the token has no text, and the grammar does not name it",
  finished: "the text has ended",
};

// Labels at the middle of the large regions of the picture: runs of one class in the order of the tokens.
function labelsOf({order, classes}, path, side) {
  const labels = [];
  for (let begin = 0, end = 0; begin < order.length; begin = end) {
    const [name] = CLASSES[classes[order[begin]]];
    let [x, y] = [0, 0];
    for (end = begin; end < order.length && classes[order[end]] === classes[order[begin]]; end++) {
      x += path[end] % side;
      y += Math.floor(path[end] / side);
    }
    if (end - begin < MIN_LABELLED_SHARE * order.length) continue;
    const [left, top] = [x, y].map((sum) => `${(sum / (end - begin) + 0.5) / side * 100}%`);
    // Inside of the picture also at its edge.
    labels.push(element("span", {style: `left: clamp(4.5rem, ${left}, 100% - 4.5rem); top: ${top}`}, name));
  }
  return labels;
}

function saidOf({isAllowed, reason, position, expected, place}, bytes, showPlace) {
  if (isAllowed) return [element("span", {class: "chip good"}, "allowed")];
  const chip = element("span", {class: "chip bad"}, "refused");
  if (reason !== "refused-byte" || !bytes) return [chip, " ", REASONS[reason] ?? reason];
  const byte = shown(bytes.subarray(position, position + 1));
  const where = position === 0 ? `no text goes on with “${byte}”` : `after “${shown(bytes.subarray(0, position))}”, “${byte}” does not fit`;
  return [chip, ` ${where}`, ...(expected.length ? ["; expected ", ...listed(expected, place, showPlace)] : [])];
}

function duration(milliseconds) {
  return milliseconds < 1 ? "under 1 ms" : `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
}

function matchesDark() {
  const scheme = document.documentElement.style.colorScheme;
  return scheme ? scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// A colour as a pixel (little-endian RGBA) of an ImageData. `strength` is 0 for refused and 1 for allowed tokens.
function colour(hue, strength, isDark) {
  const [dim, lit] = isDark ? [0.17, 0.62] : [0.93, 0.42];
  const lightness = dim + strength * (lit - dim);
  const saturation = 0.22 + strength * 0.63;
  const channel = (offset) => {
    const k = (offset + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255);
  };
  return (255 << 24 | channel(4) << 16 | channel(8) << 8 | channel(0)) >>> 0;
}
