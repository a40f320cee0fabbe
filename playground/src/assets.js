// The data that the page carries: elements `<script type="application/octet-stream" id="asset-NAME">` with base64 of gzip.

import {fromBase64, through} from "./bytes.js";

export function asset(name) {
  const holder = document.getElementById(`asset-${name}`);
  return through(fromBase64(holder.textContent), new DecompressionStream("gzip"));
}
