// Colours for the notations: comments, strings, defined names and operators. The engine reads the grammar; this only
// helps the eye, and never reports an error.

const PATTERNS = {
  kbnf: /(?<comment>\(\*[^]*?\*\))|(?<string>#?[a-z]*(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|(?<name>\b[A-Za-z_]\w*(?=\s*(?:::)?=))|(?<operator>::=|[|;{}()[\]?*+!]|%\w+)/g,
  gbnf: /(?<comment>#[^\n]*)|(?<string>"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\])|(?<name>\b[A-Za-z][\w-]*(?=\s*::=))|(?<operator>::=|[|(){}?*+]|%\w+)/g,
  schema: /(?<name>"(?:\\.|[^"\\])*"(?=\s*:))|(?<string>"(?:\\.|[^"\\])*")|(?<operator>[{}[\],:])/g,
  regex: /(?<name>\\[A-Za-z])|(?<string>\[(?:\\.|[^\]\\])*\])|(?<operator>[|(){}?*+.^$])/g,
};

export function highlighted(notation, text) {
  const pattern = PATTERNS[notation];
  if (!pattern || text.length > 50_000) return [];
  return Array.from(text.matchAll(pattern), (match) => {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    return {start: match.index, end: match.index + match[0].length, class: `hl-${kind}`};
  });
}
