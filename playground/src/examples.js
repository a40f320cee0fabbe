// The gallery: small grammars in all notations, each with a text that shows something, and a picture. `gallery.py` writes
// them into the page, from the folder `examples`.

export const EXAMPLES = JSON.parse(document.getElementById("gallery-data").textContent);
