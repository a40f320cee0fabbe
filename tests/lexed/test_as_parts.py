"""Grammars with a lexer, and limited parts that are not regular, as parts of other grammars."""

from __future__ import annotations

import json
import pickle
import random
import re
import sqlite3
from pathlib import Path

import grammask
import pytest
from grammask import Grammar
from grammask.templates import Template

_PIECES = [
    b"```",
    b"``",
    b"```python\n",
    b"\n```",
    b"    ",
    b"):\n",
    b"return ",
    b'"`',
    b'{"',
    b'":',
    b"}}",
    b"))",
    b"((",
]
_BYTES = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), *_PIECES], eos=300, size=301)
_PYTHON = Grammar.bundled("python")
_FENCED = Grammar.text_until("```python\n") + _PYTHON.named("code") + "```" + Grammar.text()


def _tokens(text: bytes, vocabulary: grammask.Vocabulary) -> list[int]:
    """Returns the longest tokens, from the beginning."""
    tokens = []
    position = 0
    while position < len(text):
        length, ids = next(
            (length, ids)
            for length in range(32, 0, -1)
            if (ids := vocabulary.ids_of(text[position : position + length]))
        )
        tokens.append(ids[0])
        position += min(length, len(text) - position)
    return tokens


def _text(tokens: list[int]) -> bytes:
    return b"".join(_BYTES.token(token) or b"" for token in tokens)


def _sample(compiled: grammask.CompiledGrammar, rng: random.Random, budget: int) -> list[int]:
    matcher = compiled.matcher(max_tokens=budget)
    tokens: list[int] = []
    while not matcher.is_finished:
        token = int(rng.choice(matcher.allowed_ids()))
        assert matcher.accept(token)
        tokens.append(token)
    assert len(tokens) <= budget
    return tokens


@pytest.mark.parametrize("vocabulary", [_BYTES, grammask.Vocabulary.default()], ids=["bytes", "o200k"])
def test_programs_in_fenced_blocks(vocabulary: grammask.Vocabulary) -> None:
    compiled = _FENCED.compile(vocabulary)
    for file in ("composition.py", "sources.py", "errors.py"):
        code = (Path(grammask.__file__).parent / file).read_bytes()
        matcher = compiled.matcher()
        for token in _tokens(b"See:\n\n```python\n" + code + b"```\n\nThat is all.", vocabulary):
            assert matcher.is_allowed(token)
            assert matcher.accept(token)
        assert matcher.is_complete
    assert compiled.stats()["masks_walked"] == 0
    inside = compiled.matcher()
    for token in _tokens(b"```python\nx = (1 +", vocabulary):
        assert inside.accept(token)
    # Only complete programs are followed by the fence, and by a program only bytes of it.
    assert not inside.is_allowed(vocabulary.ids_of(b"`")[0])
    assert not inside.is_allowed(vocabulary.ids_of(b"]")[0])
    for token in _tokens(b" 2)\n", vocabulary):
        assert inside.accept(token)
    assert inside.is_allowed(vocabulary.ids_of(b"```")[0])
    assert "code" in str(inside.explain(vocabulary.ids_of(b"]")[0]))


def test_a_choice_of_languages() -> None:
    block = "```python\n" + _PYTHON + "```\n" | "```json\n" + Grammar.bundled("json") + "```\n"
    compiled = (block.repeat(1) + "end").compile(_BYTES)
    assert compiled.is_valid(b'```python\nx = 1\n```\n```json\n{"a": [1]}```\nend')
    assert not compiled.is_valid(b"```json\nx = 1\n```\nend")
    assert not compiled.is_valid(b"```python\nx = \n```\nend")


def test_adjacent_parts_and_all_their_ends() -> None:
    numbers = Grammar.from_lark('start: NUMBER ("," NUMBER)*\nNUMBER: /[0-9]+/')
    pair = "[" + numbers + numbers.named("second") + "]"
    compiled = pair.compile(_BYTES)
    assert compiled.is_valid(b"[12]")
    assert compiled.is_valid(b"[1,23,4]")
    assert not compiled.is_valid(b"[1]")
    assert not compiled.is_valid(b"[1,]")
    # A part within a part, and the same part twice.
    quoted = '"' + pair + '"' + pair
    assert quoted.compile(_BYTES).is_valid(b'"[12]"[1,2,33]')


def test_budgets() -> None:
    rng = random.Random(1)
    answer = Grammar.text_until("```json\n", max_tokens=3) + Grammar.bundled("json") + "\n```"
    compiled = answer.compile(_BYTES)
    least = compiled.matcher().tokens_to_finish
    assert least is not None
    for budget in (least, least + 1, least + 6, 40):
        for _ in range(30):
            text = _text(_sample(compiled, rng, budget))
            json.loads(text.split(b"```json\n", 1)[1][:-4], strict=False)
    with pytest.raises(grammask.BudgetTooSmall):
        compiled.matcher(max_tokens=least - 1)
    assert answer.shortest_text().endswith(b"\n```")


def test_sampled_programs() -> None:
    rng = random.Random(2)
    compiled = _FENCED.compile(_BYTES)
    alone = _PYTHON.compile(_BYTES)
    for _ in range(20):
        text = _text(_sample(compiled, rng, 120)).split(b"```python\n", 1)[1]
        # The code ends at some fence; a string or comment may contain others.
        ends = [match.start() for match in re.finditer(b"```", text)]
        assert any(alone.is_valid(text[:end]) for end in ends), text


def test_sql_in_a_tag() -> None:
    query = "<sql>" + Grammar.bundled("sql") + "</sql>"
    compiled = query.compile(grammask.Vocabulary.default())
    text = b"<sql>SELECT name, count(*) FROM t WHERE a < 3 GROUP BY name</sql>"
    assert compiled.is_valid(text)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (name, a)")
    database.execute(text[5:-6].decode())
    assert not compiled.is_valid(b"<sql>SELECT name FROM WHERE</sql>")


def test_structural_tags() -> None:
    sql = {"type": "tag", "begin": "<sql>", "content": {"type": "bundled", "name": "sql"}, "end": "</sql>"}
    shout = {"type": "grammar", "grammar": Grammar.bundled("python", start="expression")}
    python = {"type": "tag", "begin": "<py>", "content": shout, "end": "</py>"}
    tag = {"format": {"type": "triggered_tags", "triggers": ["<sql>", "<py>"], "tags": [sql, python]}}
    compiled = Grammar.from_structural_tag(tag).compile(_BYTES)
    assert compiled.is_valid(b"First <sql>SELECT a < b FROM t</sql>, then <py>f(x)[1:]</py>.")
    assert not compiled.is_valid(b"<sql>SELECT FROM</sql>")
    assert not compiled.is_valid(b"<py>x = 1</py>")
    assert pickle.loads(pickle.dumps(Grammar.from_structural_tag(tag))).compile(_BYTES) is compiled
    for content, pointer in (
        ({"name": "cobol"}, "#/format"),
        ({"name": "sql", "start": "table"}, "#/format"),
    ):
        with pytest.raises(grammask.GrammarError, match=pointer):
            Grammar.from_structural_tag({"format": {"type": "bundled", **content}})


def test_templates_capture_parts() -> None:
    template = Template(
        "Code: {code}\nDone: {count}", code=Grammar.bundled("json"), count=Grammar.from_regex("[0-9]+")
    )
    result = template.parse('Code: {"a": [1, "\\nDone: 2"]}\nDone: 12')
    assert result["code"] == '{"a": [1, "\\nDone: 2"]}'
    assert result["count"] == "12"


def test_pickles_and_the_compile_cache() -> None:
    compiled = _FENCED.compile(_BYTES)
    assert pickle.loads(pickle.dumps(_FENCED)).compile(_BYTES) is compiled


def test_rollback_forks_and_drafts() -> None:
    matcher = _FENCED.compile(_BYTES).matcher()
    tokens = _tokens(b"```python\ndef f(x):\n    return [x]\n```", _BYTES)
    masks = []
    for token in tokens:
        masks.append(matcher.allowed_ids().tolist())
        assert matcher.accept(token)
    fork = matcher.fork()
    for expected in reversed(masks):
        fork.rollback(1)
        assert fork.allowed_ids().tolist() == expected
    assert fork.validate(tokens) == len(tokens)
    rows = grammask.allocate_mask(len(tokens) + 1, _BYTES.size)
    assert fork.draft_masks(tokens, rows) == len(tokens) + 1
    for row, expected in zip(rows, masks, strict=False):
        assert [token for token in range(_BYTES.size) if row[token // 32] >> token % 32 & 1] == expected


def test_limited_parts_that_are_not_regular() -> None:
    rng = random.Random(3)
    nested = Grammar.from_kbnf('start ::= "(" start ")" | "x" | start "y";')
    compiled = ("[" + nested.limited(max_tokens=6) + "]").compile(_BYTES)
    for _ in range(200):
        text = _text(_sample(compiled, rng, 60))
        assert text[:1] + text[-1:] == b"[]"
        assert text.count(b"(") == text.count(b")")
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b"[")
    for _ in range(2):
        assert matcher.accept(ord("("))
    # Six tokens: `x`, `)` and `)` must still fit.
    assert matcher.accept(ord("("))
    assert not matcher.is_allowed(ord("("))


def test_limited_schemas_and_nested_maxima() -> None:
    rng = random.Random(4)
    schema = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 9}}
    value = Grammar.from_json_schema(schema, whitespace="compact")
    inner = value.limited(max_tokens=9)
    outer = ("<" + inner + "|" + inner.optional() + ">").limited(max_tokens=16)
    compiled = ("!" + outer + "!").compile(_BYTES)
    for _ in range(200):
        tokens = _sample(compiled, rng, 80)
        text = _text(tokens)
        assert len(tokens) <= 16 + 3
        left, right = text[2:-2].split(b"|")
        json.loads(left)
        if right:
            json.loads(right)


def test_limited_programs() -> None:
    rng = random.Random(5)
    alone = _PYTHON.compile(_BYTES)
    compiled = ("```python\n" + _PYTHON.limited(max_tokens=12) + "```").compile(_BYTES)
    for _ in range(30):
        tokens = _sample(compiled, rng, 40)
        code = _text(tokens)[len(b"```python\n") : -3]
        assert alone.is_valid(code), code
    assert len(tokens) <= 12 + 10 + 4


def test_limited_parts_that_are_refused() -> None:
    named = Grammar.token("a") + Grammar.from_kbnf('start ::= "(" start ")" | "x";')
    with pytest.raises(grammask.UnsupportedGrammar, match="a token"):
        named.limited(max_tokens=3).compile(_BYTES)
    endless = Grammar.from_kbnf('start ::= "(" start ")";')
    with pytest.raises(grammask.GrammarError, match="ends"):
        endless.limited(max_tokens=3).compile(_BYTES)
    with pytest.raises(grammask.GrammarError, match="maximum of tokens"):
        Grammar.from_kbnf('start ::= "((((" start "))))" | "xxxxx";').limited(max_tokens=2).compile(_BYTES)


def test_parts_through_encodings() -> None:
    block = "```python\n" + _PYTHON.named("code") + "```"
    call = ('{"answer": "' + block.encoded("json-string") + '"}').compile(_BYTES)
    good, bad = '```python\nif x:\n    print("a")\n```', '```python\nif x:\nprint("a")\n```'
    assert call.is_valid(json.dumps({"answer": good}).encode())
    assert not call.is_valid(json.dumps({"answer": bad}).encode())
    rng = random.Random(6)
    plain = block.compile(_BYTES)
    for _ in range(5):
        text = json.loads(_text(_sample(call, rng, 40)), strict=False)["answer"]
        assert plain.is_valid(text.encode("utf-8", "surrogatepass")), text
    quote = block.encoded("block-quote").compile(_BYTES)
    assert quote.is_valid(b"> ```python\n> if x:\n>     pass\n> ```")
    assert not quote.is_valid(b"> ```python\n> if x:\n>  pass\n>   pass\n> ```")
    # A limited part that is not regular counts the tokens of the encoded text.
    nested = Grammar.from_kbnf('start ::= "(" start ")" | "x";').limited(max_tokens=5)
    texts = nested.encoded("json-string").compile(_BYTES)
    assert texts.is_valid(b"((x))")
    matcher = texts.matcher()
    assert matcher.accept_bytes(rb"((")
    assert matcher.is_allowed(ord("x"))
    assert not matcher.is_allowed(ord("\\"))


def test_eager_ends_and_forced_text() -> None:
    call = "<py>" + Grammar.bundled("python", start="expression") + "</py>"
    matcher = call.compile(_BYTES, end="eager").matcher()
    assert matcher.forced_bytes() == b"<py>"
    for token in _tokens(b"<py>f(x)</py>", _BYTES):
        assert not matcher.is_finished
        assert matcher.accept(token)
    assert matcher.is_finished
    # The end of the tag is not forced, since the expression may go on.
    matcher.reset()
    assert matcher.accept_bytes(b"<py>f(x)")
    assert matcher.forced_bytes() == b""
    assert matcher.accept_bytes(b"</")
    assert matcher.forced_bytes() == b"py>"
