// Writes the next token of a text with the model of the server.

import {decoded} from "./bytes.js";

// Draws a token from the probabilities after the mask, within a token budget. The answer is that of `EngineClient.write`.
export async function writeByServer(server, state, mask, tokensLeft) {
  const {candidates} = await server.probabilities(state, mask, tokensLeft);
  const legal = candidates.filter(({after, bytes}) => after > 0 && (!bytes || decoded(bytes)));
  const drawn = draw(legal);
  // Tokens without text end the text, and parts of characters cannot be shown.
  if (!drawn?.bytes) return {addition: "", count: 0, tokensLeft, hasEnded: true, isComplete: mask.isComplete};
  const isLast = tokensLeft === 1; // A text that uses its budget up is complete.
  return {addition: decoded(drawn.bytes), count: 1, tokensLeft: tokensLeft - 1, hasEnded: isLast, isComplete: isLast};
}

function draw(candidates) {
  let rest = Math.random() * candidates.reduce((sum, {after}) => sum + after, 0);
  return candidates.find(({after}) => (rest -= after) <= 0);
}
