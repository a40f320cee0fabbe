// The text as coloured tokens, the first wrong byte with the reason, forced text as a suggestion, and the slider of steps.

import {characterOffsets, decoded, shown} from "../bytes.js";
import {withAxes} from "../chart.js";
import {$, allowedSaid, element, number, plural} from "../dom.js";
import {MarkedEditor} from "../editor.js";
import {listed} from "./expectations.js";

const REPLAY_MS = 350;

export function mountText({document, results, showPlace}) {
  const editor = new MarkedEditor($("text-input"));
  const slider = $("step");
  const area = editor.textarea;
  let replay;

  area.addEventListener("input", () => document.set({text: editor.value, step: null}));
  area.addEventListener("keydown", (event) => {
    if (!editor.ghost || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Tab") {
      event.preventDefault();
      append(document, editor.ghost);
    } else if (event.key === "Escape") {
      editor.ghost = ""; // Tab then leaves the text area.
    }
  });
  area.addEventListener("mousemove", (event) => {
    const data = editor.under(event);
    area.title = data?.said ?? "";
  });
  slider.addEventListener("input", () => {
    stop();
    goTo(Number(slider.value));
  });
  $("step-play").onclick = () => (replay ? stop() : play());

  function goTo(step) {
    document.set({step: step >= Number(slider.max) ? null : step});
  }

  function play() {
    let step = Number(slider.value) >= Number(slider.max) ? 0 : Number(slider.value);
    const advance = () => {
      goTo(step);
      if (step++ >= Number(slider.max)) stop();
    };
    replay = setInterval(advance, REPLAY_MS);
    $("step-play").textContent = "■";
    $("step-play").setAttribute("aria-label", "Stop the replay");
    advance();
  }

  function stop() {
    clearInterval(replay);
    replay = undefined;
    $("step-play").textContent = "▶";
    $("step-play").setAttribute("aria-label", "Replay all steps");
  }

  const show = ({text}) => {
    if (editor.value !== text) editor.ghost = "";
    editor.value = text;
  };
  document.on(["text"], show);
  area.addEventListener("beforeinput", () => (editor.ghost = ""));
  show(document.state);

  results.on(["mask", "isStale"], ({mask, isStale}) => {
    if (!mask || isStale) {
      for (const layer of ["tokens", "wrong"]) editor.mark(layer, document.state.text, []);
      editor.ghost = "";
      $("text-said").replaceChildren();
      verdict(isStale ? "the grammar has errors" : "", "bad");
      return;
    }
    const {text, fits, offsets, legal, step} = mask;
    const characters = characterOffsets(text);
    editor.mark("tokens", text, tokenMarks(mask, characters));
    editor.mark("wrong", text, wrongMarks(text, fits, characters));
    const isWhole = mask.wrong === undefined;
    const forced = isWhole && step === legal ? decoded(mask.forced) : undefined;
    if (text === editor.value) editor.ghost = forced ?? "";
    slider.max = legal;
    slider.value = step;
    slider.setAttribute("aria-valuetext", `${step} of ${plural(legal, "token")}`);
    const following = step < offsets.length - 1 ? shownToken(mask, step) : undefined;
    $("step-said").textContent = `step ${step} of ${legal}: ${allowedSaid(results.state)}` +
      (following && step < legal ? `; token ${mask.ids[step]} “${following}” follows` : "");
    $("text-said").replaceChildren(...(isWhole ? nextSaid(mask, forced) : [wrongSaid(mask, characters, showPlace)]));
    if (!isWhole) verdict("does not fit", "bad");
    else if (mask.isFinished) verdict("has ended", "good");
    else if (mask.isComplete) verdict(step === legal ? "complete" : "complete here", "good");
    else verdict("a valid beginning", "warn");
  });

  const curve = $("steps-curve");
  const {chart, set} = withAxes(curve, {x: "tokens read", y: "Allowed tokens at each step, on a logarithmic scale"});
  results.on(["steps", "mask"], ({steps, mask}) => {
    const counts = steps?.counts ?? [];
    chart.style.visibility = counts.length < 2 ? "hidden" : ""; // Its place stays.
    set({top: number(largest(counts)), bottom: "0", first: "0", last: number(counts.length - 1)});
    drawCurve(curve, counts, mask?.step ?? 0);
  });
  return editor;
}

// Appends to the part of the text that fits.
export function append(document, addition) {
  document.set({text: document.state.text + addition, step: null});
  const area = $("text-input");
  area.setSelectionRange(area.value.length, area.value.length);
}

function verdict(text, kind) {
  $("text-verdict").textContent = text;
  $("text-verdict").className = `chip ${kind}`;
}

function shownToken({text, offsets}, index) {
  return shown(new TextEncoder().encode(text).subarray(offsets[index], offsets[index + 1]));
}

function tokenMarks({ids, offsets, fits, step}, characters) {
  const marks = [];
  for (let index = 0; index < ids.length && offsets[index] < fits; index++) {
    const [start, end] = [characters[offsets[index]], characters[Math.min(offsets[index + 1], fits)]];
    if (start === end) continue; // It begins and ends inside one character.
    const later = index >= step ? " tok-later" : "";
    const data = {said: `token ${ids[index]}, step ${index + 1}`};
    marks.push({start, end, class: `tok-${index % 4} tok-begin${later}`, data});
  }
  return marks;
}

function wrongMarks(text, fits, characters) {
  const start = characters[fits];
  if (start >= text.length) return [];
  const end = start + String.fromCodePoint(text.codePointAt(start)).length;
  return [{start, end, class: "text-wrong"}, ...(end < text.length ? [{start: end, end: text.length, class: "text-rest"}] : [])];
}

function wrongSaid({text, fits, wrong}, characters, showPlace) {
  const {line, column, expected, couldEnd, place, help} = wrong;
  const character = String.fromCodePoint(text.codePointAt(characters[fits]));
  const ending = couldEnd ? "the text could end here" : "";
  return element("div", {class: "wrong"},
    element("b", {}, `“${shown(new TextEncoder().encode(character))}”`),
    ` at line ${line}, column ${column} (byte ${fits}) is refused: `,
    ...(expected.length ? ["the grammar expects ", ...listed(expected, place, showPlace)] : []),
    expected.length && ending ? `, or ${ending}` : ending, help ? `; ${help}` : "", ".");
}

function nextSaid(mask, forced) {
  if (mask.isFinished) return ["The text has ended."];
  const parts = [mask.isComplete ? "The text could end here. " : ""];
  if (forced) parts.push("Only ", element("code", {}, shown(mask.forced)), " can follow; Tab accepts it. ");
  if (mask.expected.length) parts.push("Expected: ", ...listed(mask.expected), ".");
  return parts;
}

function largest(counts) {
  return counts.reduce((most, count) => Math.max(most, count), 1);
}

// Allowed tokens per step on a logarithmic scale, with the present step.
function drawCurve(svg, counts, step) {
  svg.replaceChildren();
  if (counts.length < 2) return;
  const top = Math.log2(largest(counts) + 1);
  const points = Array.from(counts, (count, index) => `${index},${(1 - Math.log2(count + 1) / top).toFixed(3)}`);
  svg.setAttribute("viewBox", `0 -0.05 ${counts.length - 1} 1.1`);
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", points.join(" "));
  for (const [key, value] of Object.entries({fill: "none", stroke: "currentColor", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke"})) {
    line.setAttribute(key, value);
  }
  const cursor = document.createElementNS(svg.namespaceURI, "path");
  cursor.setAttribute("d", `M${step} -0.05V1.05`);
  for (const [key, value] of Object.entries({stroke: "currentColor", "stroke-dasharray": "3 3", "vector-effect": "non-scaling-stroke"})) {
    cursor.setAttribute(key, value);
  }
  svg.append(line, cursor);
  svg.dataset.counts = counts.length > 200 ? String(counts.length) : Array.from(counts, (count) => number(count)).join(" ");
}
