"""The program that joins the modules of the playground, and the modules that need no page, in node."""

from __future__ import annotations

import ast
import json

import pytest
from playground_scripts import bundler, run


@pytest.fixture
def bundle():
    return bundler().bundle


def test_forms_of_imports_and_exports(tmp_path):
    (tmp_path / "a.js").write_text(
        "export const one = 1;\nexport function $(x) {\n  return x;\n}\nexport class A {}\n"
    )
    (tmp_path / "b.js").write_text(
        'import {one as uno, $} from "./a.js";\nlet count = 0;\n'
        "function more() {\n  count += uno;\n  return $(count);\n}\n"
        "export { more as default, count };\n"
    )
    source = """import more, * as b from "./b.js";
import * as a from "./a.js";
more();
more();
console.log(b.count, a.one, typeof a.A);
"""
    assert run(tmp_path, source) == "2 1 function\n"


def test_modules_are_errors_in_other_forms(bundle, tmp_path):
    entry = tmp_path / "entry.js"
    entry.write_text("export default class {}\n")
    with pytest.raises(ValueError, match="not supported: export default class"):
        bundle(entry, {})
    entry.write_text('import {a} from "./other.js";\n')
    (tmp_path / "other.js").write_text('import {b} from "./entry.js";\n')
    with pytest.raises(ValueError, match="imports itself"):
        bundle(entry, {})


def test_the_curve_visits_each_cell_and_neighbours(tmp_path):
    source = """import {curve, sideFor} from "./hilbert.js";
const side = 32;
const cells = curve(side);
let jumps = 0;
for (let i = 1; i < cells.length; i++) {
  const [a, b] = [cells[i - 1], cells[i]];
  jumps += Math.abs(a % side - b % side) + Math.abs(Math.floor(a / side) - Math.floor(b / side)) === 1 ? 0 : 1;
}
console.log(new Set(cells).size, jumps, [1, 2, 4, 5, 257, 200019].map(sideFor).join());
"""
    assert run(tmp_path, source) == "1024 0 1,2,2,4,32,512\n"


def test_places_of_json(tmp_path):
    text = '{"a b": [1, {"c/~": "x\\"y"}, []], "é": {}, "z": tru'
    source = f"""import {{jsonPlaces}} from "./json_places.js";
const text = {json.dumps(text)};
const places = [...jsonPlaces(text)];
console.log(JSON.stringify(places.map(([pointer, {{key, value}}]) =>
  [pointer, key && text.slice(...key), text.slice(...value)])));
"""
    assert json.loads(run(tmp_path, source)) == [
        ["#", None, text],
        ["#/a b", '"a b"', '[1, {"c/~": "x\\"y"}, []]'],
        ["#/a b/0", None, "1"],
        ["#/a b/1", None, '{"c/~": "x\\"y"}'],
        ["#/a b/1/c~1~0", '"c/~"', '"x\\"y"'],
        ["#/a b/2", None, "[]"],
        ["#/é", '"é"', "{}"],
        ["#/z", '"z"', "tru"],
    ]


@pytest.mark.parametrize(
    "text", ["", "{", "[", "}", '{"a', '{"a"', '{"a":', "[1,,2]", "[" * 10_000, '{"a":}', '"\\']
)
def test_places_of_texts_that_are_no_json(bundle, tmp_path, text):
    source = f"""import {{jsonPlaces}} from "./json_places.js";
console.log([...jsonPlaces({json.dumps(text)})].length >= 0);
"""
    assert run(tmp_path, source) == "true\n"


def test_shared_states(tmp_path):
    source = """import {fragmentOf, stateOf} from "./share.js";
const defaults = {text: "", step: null, tab: "a"};
(async () => {
  const fragment = await fragmentOf({text: "né\\u0000😀".repeat(1000), step: 3, tab: "b", other: 1});
  const state = await stateOf(fragment, defaults);
  console.log(fragment.length < 200, state.text.length, state.step, state.tab, state.other);
  console.log(JSON.stringify(await stateOf(await fragmentOf({text: 1, step: "x", tab: null}), defaults)));
  console.log(await stateOf("#s=AAAA", defaults), await stateOf("#text", defaults), await stateOf("", defaults));
})();
"""
    assert run(tmp_path, source).splitlines() == [
        "true 5000 3 b undefined",
        '{"text":"","step":null,"tab":"a"}',
        "undefined undefined undefined",
    ]


def test_bytes_for_display(tmp_path):
    source = """import {characterOffsets, encode, shown} from "./bytes.js";
console.log(shown(encode("a b\\n\\u200b\\u00e9")), shown(Uint8Array.of(0xc3, 0x41)));
console.log(Array.from(characterOffsets("aé😀")).join());
"""
    assert run(tmp_path, source).splitlines() == ["a␣b\\n\\u{200b}é \\xc3A", "0,1,1,2,2,2,2,4"]


_TEXTS = [
    "",
    "plain",
    'say "yes"',
    "it's",
    "'\"",
    "two\nlines",
    'two\nlines "',
    "three \"\"\" and '''\n",
    "back\\slash",
    "at the end\\",
    "lines\nand \\d `${x}`",
    "tab\t, return\r\n, nul\0, \u2028",
    "né😀\x7f",
]


@pytest.mark.parametrize("text", _TEXTS)
def test_texts_in_programs(tmp_path, text):
    source = f"""import {{codeSample}} from "./code_samples.js";
const state = {{notation: "choices", grammar: "a", vocabulary: "bytes", text: {json.dumps(text)}}};
const [python, javascript] = ["python", "javascript"].map((language) => codeSample(language, state, ""));
const literal = /const text = ([^]*?);\\nconst matcher/.exec(javascript)[1];
console.log(JSON.stringify([python, eval(literal) === state.text]));
"""
    python, is_equal = json.loads(run(tmp_path, source))
    assert is_equal
    assigned = [node for node in ast.parse(python).body if isinstance(node, ast.Assign)]
    (value,) = (node.value for node in assigned if node.targets[0].id == "text")
    assert ast.literal_eval(value) == text


def test_the_language_model(tmp_path):
    source = """import {NgramModel} from "./engine/ngram_model.js";
const tokens = ["a", "b", "ab", "abc", "x"];
const bytes = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const choices = (legal) => ({
  isLegal: (id) => legal.includes(id), legal: () => legal, lengthOf: (id) => tokens[id].length,
  longestToken: (rest) => {
    const text = String.fromCharCode(...rest);
    const id = tokens.findLastIndex((token) => text.startsWith(token));
    return id < 0 ? undefined : id;
  },
});
const model = new NgramModel([bytes("12abc"), bytes("3b")]);
const drawn = (text, legal) => model.draw(bytes(text), choices(legal));
// The longest continuation, a shorter legal one, a shorter context, and tokens that no text has.
console.log(JSON.stringify(
  [drawn("12", [0, 2, 3]), drawn("12", [0, 1]), drawn("93", [1, 4]), drawn("", [4]), drawn("", [])]));
"""
    assert json.loads(run(tmp_path, source)) == [3, 0, 1, 4, None]


def test_drafts_of_notations(tmp_path):
    source = """import {Drafts} from "./drafts.js";
const drafts = new Drafts([
  {notation: "regex", grammar: "a+", text: "a"}, {notation: "bundled", grammar: "sql", text: "SELECT"},
]);
let state = {notation: "kbnf", grammar: "mine", text: "my", lexer: "basic", keyOrder: "", step: 2};
const enter = (...where) => {
  state = {...state, ...drafts.enter(state, ...where)};
  return [state.notation, state.grammar, state.text, state.lexer, state.step].join();
};
console.log([enter("regex"), enter("bundled"), enter("bundled", "go"), enter("gbnf"), enter("kbnf")].join(" "));
"""
    assert (
        run(tmp_path, source)
        == "regex,a+,a,, bundled,sql,SELECT,, bundled,go,,, gbnf,,,, kbnf,mine,my,basic,\n"
    )
