// The gallery: small grammars in all notations, each with a text that shows something.

export const EXAMPLES = [
  {id: "list", title: "Nested lists", about: "A recursive rule, and the reason why `hello` is refused.",
    state: {notation: "kbnf", text: "[1, [2", tab: "diagrams", grammar: `start ::= "[" [ item { ", " item } ] "]";
item  ::= number | start;
number ::= #r"-?(0|[1-9][0-9]*)";
`}},
  {id: "person", title: "A person as JSON", about: "Forced text: Tab accepts the only possible continuation.",
    state: {notation: "schema", text: '{"name": "Ada", ', tab: "keywords", grammar: `{
  "title": "Person",
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 20, "description": "The full name"},
    "born": {"type": "integer", "minimum": 1800, "maximum": 2030},
    "languages": {"type": "array", "items": {"enum": ["English", "French", "Polish"]}, "maxItems": 3}
  },
  "required": ["name", "born"],
  "additionalProperties": false
}
`}},
  {id: "moves", title: "Moves of a game", about: "GBNF as llama.cpp reads it.",
    state: {notation: "gbnf", text: "move no", tab: "diagrams", grammar: `root ::= move ("\\n" move)*
move ::= "move " direction (" " steps)?
direction ::= "north" | "south" | "north-east"
steps ::= [1-9] [0-9]? " step" "s"?
`}},
  {id: "date", title: "A date", about: "A regular expression, byte by byte.",
    state: {notation: "regex", text: "2026-1", tab: "diagrams", grammar: "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"}},
  {id: "cities", title: "One of some names", about: "Choices: a shared beginning is forced.",
    state: {notation: "choices", text: "San", tab: "tree", grammar: "San Francisco\nSan Diego\nSan José\nSantiago\nSão Paulo\n"}},
  {id: "python", title: "Python", about: "Indentation, and a lexer that holds lexemes open.",
    state: {notation: "bundled", text: "def double(x):\n    return x", tab: "lexer", grammar: "python"}},
  {id: "sql", title: "SQL", about: "A keyword or the beginning of a name: two lexemes are open.",
    state: {notation: "bundled", text: "SELECT name FROM people WHERE age > 30 OR", tab: "lexer", grammar: "sql"}},
  {id: "go", title: "Go", about: "A bundled language with automatic semicolons.",
    state: {notation: "bundled", text: "package main\n\nfunc main() {\n\tx := 1", tab: "lexer", grammar: "go"}},
  {id: "lexed", title: "Sums with a lexer", about: "Directives: white space is ignored between lexemes.",
    state: {notation: "kbnf", lexer: "contextual", text: "let total = 1 + le", tab: "lexer", grammar: `start ::= "let" NAME "=" sum;
sum   ::= value | sum "+" value;
value ::= NAME | NUMBER;
NAME   ::= #r"[a-z]+";
NUMBER ::= #r"[0-9]+";
SPACE  ::= #r"[ \\n]+";
%terminal NAME, NUMBER;
%ignore SPACE;
`}},
  {id: "tags", title: "Matched tags", about: "The end tag repeats the name of the start tag.",
    state: {notation: "kbnf", text: "<list><item>one</", tab: "tree", grammar: `start   ::= element;
element ::= "<" bind!(tag, #"[a-z]+") ">" { #"[^<]+" | element } "</" same!(tag) ">";
`}},
  {id: "arithmetic", title: "Arithmetic", about: "Operators with precedence: the tree shows it.",
    state: {notation: "kbnf", text: "2*(3+4)-x", tab: "tree", grammar: `start   ::= sum;
sum     ::= product | sum ("+" | "-") product;
product ::= factor | product ("*" | "/") factor;
factor  ::= number | name | "(" sum ")";
number  ::= #r"[0-9]+";
name    ::= #r"[a-z]+";
`}},
  {id: "compare", title: "Two schemas", about: "A text that only one of two schemas has.",
    state: {notation: "schema", text: '{"days": 7}', tab: "compare", otherNotation: "schema", grammar: `{
  "type": "object",
  "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 14}},
  "required": ["days"], "additionalProperties": false
}
`, otherGrammar: `{
  "type": "object",
  "properties": {"days": {"type": "integer", "minimum": 0, "maximum": 10}},
  "required": ["days"], "additionalProperties": false
}
`}},
];
