// The places of the members and values of a JSON text by JSON pointer, in UTF-16 offsets, for marks in the editor.

// Returns a map from the pointer ("#/properties/a") to `{key: [start, end] or undefined,
// value: [start, end]}`. Texts that are no JSON have the places before the error.
export function jsonPlaces(text) {
  const places = new Map();
  const reader = {text, at: 0};
  // The values that are open: their pointer, place, and the next index of an array.
  const open = [];
  let pointer = "#";
  let key;
  for (;;) {
    skipSpace(reader);
    const character = text[reader.at];
    if (character === undefined) return places;
    const top = open.at(-1);
    if (character === "}" || character === "]") {
      if (!top) return places;
      reader.at++;
      top.place.value[1] = reader.at;
      open.pop();
    } else if (character === ",") {
      reader.at++;
      continue;
    } else {
      if (top) {
        let name = top.index++;
        if (top.isObject) {
          const start = reader.at;
          name = readString(reader);
          key = [start, reader.at];
          skipSpace(reader);
          if (name === undefined || text[reader.at] !== ":") return places;
          reader.at++;
          skipSpace(reader);
        } else {
          key = undefined;
        }
        pointer = `${top.pointer}/${escaped(String(name))}`;
      }
      const place = {key, value: [reader.at, text.length]};
      places.set(pointer, place);
      const first = text[reader.at];
      if (first === "{" || first === "[") {
        reader.at++;
        open.push({pointer, place, index: 0, isObject: first === "{"});
      } else {
        if (first === '"') readString(reader);
        else while (/[^\s,\]}]/.test(text[reader.at] ?? " ")) reader.at++;
        if (reader.at === place.value[0]) return places;
        place.value[1] = reader.at;
      }
    }
    if (open.length === 0) return places;
  }
}

function skipSpace(reader) {
  while (/\s/.test(reader.text[reader.at] ?? "x")) reader.at++;
}

function readString(reader) {
  const start = reader.at;
  if (reader.text[start] !== '"') return undefined;
  do {
    reader.at += reader.text[reader.at] === "\\" ? 2 : 1;
    if (reader.at >= reader.text.length) return undefined;
  } while (reader.text[reader.at] !== '"');
  reader.at++;
  try {
    return JSON.parse(reader.text.slice(start, reader.at));
  } catch {
    return undefined;
  }
}

// As in a JSON pointer: RFC 6901, section 3. The engine does not encode pointers as URIs do.
function escaped(name) {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
