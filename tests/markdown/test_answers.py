"""Answers in Markdown against their definition, and against a reader of CommonMark."""

from __future__ import annotations

import ast
import json
import pickle
import random
import warnings
from typing import TYPE_CHECKING, Any

import grammask
import pytest
from grammask import Grammar
from grammask.texts import markdown_answer
from markdown_answers import is_answer, random_answer

if TYPE_CHECKING:
    from collections.abc import Callable

_BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def _parses(read: Callable[[str], object]) -> Callable[[str], bool]:
    def is_valid(text: str) -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # About escapes in strings of Python.
                read(text)
        except (ValueError, SyntaxError):
            return False
        return True

    return is_valid


_VALIDATORS = {
    ("python", "py", "python3", "py3"): _parses(ast.parse),
    ("json",): _parses(json.loads),
}
_FENCES = ("```", "````", "~~~")


@pytest.mark.parametrize("other", ["free", "refuse"])
@pytest.mark.parametrize(("max_indent", "max_quotations"), [(0, 0), (3, 0), (5, 0), (1, 2)])
def test_texts_are_those_of_the_definition(other: str, max_indent: int, max_quotations: int) -> None:
    grammar = markdown_answer(
        ["python", "json"],
        other=other,  # type: ignore[arg-type]
        fences=_FENCES,
        max_indent=max_indent,
        max_quotations=max_quotations,
    )
    compiled = grammar.compile(_BYTES)
    rng = random.Random(f"{other} {max_indent}")
    counts = {True: 0, False: 0}
    for _ in range(3_000):
        text = random_answer(rng)
        expected = is_answer(
            text,
            _VALIDATORS,
            fences=_FENCES,
            max_indent=max_indent,
            max_quotations=max_quotations,
            is_other_free=other == "free",
        )
        assert compiled.is_valid(text.encode()) == expected, text
        counts[expected] += 1
    assert min(counts.values()) > 200


@pytest.mark.parametrize(("max_indent", "max_quotations"), [(5, 0), (3, 2)])
def test_a_reader_of_commonmark_finds_the_same_blocks(max_indent: int, max_quotations: int) -> None:
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    grammar = markdown_answer(
        ["python", "json"], fences=_FENCES, max_indent=max_indent, max_quotations=max_quotations
    )
    compiled = grammar.compile(_BYTES)
    rng = random.Random(0)
    answers = blocks = 0
    while answers < 1_000:
        text = random_answer(rng)
        if not compiled.is_valid(text.encode()):
            continue
        answers += 1
        for token in reader.parse(text):
            if token.type == "fence":
                names = token.info.split()
                for known, is_valid in _VALIDATORS.items():
                    if names and names[0].lower() in known:
                        assert is_valid(token.content), text
                        blocks += 1
    assert blocks > 200


def test_the_method_is_the_function() -> None:
    method = Grammar.markdown_answer(code=["json"], min_blocks=1)
    assert (
        method.digest()
        == markdown_answer(["json"], min_blocks=1).digest()
        != markdown_answer(["json"]).digest()
    )


def test_other_lengths_of_fences() -> None:
    answer = markdown_answer(["python"], fences=["````"]).compile(_BYTES)
    assert answer.is_valid(b"````python\nx = '''\n```\n'''\n````")
    assert not answer.is_valid(b"````python\nx = '''\n````\n'''\n````")
    assert not answer.is_valid(b"```python\nx\n```")


def test_grammars_of_blocks() -> None:
    schema = Grammar.from_json_schema({"type": "array", "items": {"type": "integer"}})
    word = Grammar.from_regex("(?s:[a-z`~]|\n)*")
    answer = markdown_answer({"json": schema, "word": word}).compile(_BYTES)
    assert answer.is_valid(b"```json\n[1, 2]\n```\n```word\nab\nc```\n~~~\n```")
    assert not answer.is_valid(b"```json\n[true]\n```")
    assert not answer.is_valid(b"```word\nA\n```")
    # The block ends at the first line that closes it.
    assert answer.first_error(b"```word\na\n```b\n```") == 13
    assert answer.is_valid(b"```word\na\n```\nb\n~~") is True
    for grammar in (
        Grammar.from_kbnf('start ::= "a" | "(" start ")";'),
        Grammar.bundled("python", start="expression"),
        "(" + Grammar.bundled("json") + ")",
    ):
        with pytest.raises(grammask.UnsupportedGrammar, match="closes its fence"):
            markdown_answer({"x": grammar})
    expression = 'start: NAME ("+" NAME)*\nNAME: /[a-z]+/\nCOMMENT: /#.*/\n%ignore COMMENT\n%ignore " "'
    for parser, lexer in (("lalr", "basic"), ("lalr", "contextual"), ("earley", "basic")):
        grammar = Grammar.from_lark(expression, parser=parser, lexer=lexer)  # type: ignore[arg-type]
        sums = markdown_answer({"c++": grammar}).compile(_BYTES)
        assert sums.is_valid(b"```C++\na + b # ```\n```")
        for text in (b"```c++\n\na\n```", b"```c++\na +\n```", b" ```c++\na\n```", b"```c++\n```c++\na\n```"):
            assert not sums.is_valid(text)
    with pytest.raises(grammask.UnsupportedGrammar, match="closes its fence"):
        markdown_answer({"x": Grammar.from_lark(expression, parser="earley", lexer="dynamic")})
    statements = markdown_answer({"py": Grammar.bundled("python", start="statements")}).compile(_BYTES)
    assert statements.is_valid(b"```python\nx\n```")
    for text in (
        b"```python\n```",
        b"```python\nx\n\x0c```",
        b"```python\nx\n ```",
        b"```python\n  x\n```",
        b"```py x\n```",
    ):
        assert not statements.is_valid(text)


def test_masks_and_ends_of_random_answers() -> None:
    pieces = [
        b"```",
        b"```json\n",
        b"\n```\n",
        b"```\n",
        b"\n",
        b"[1",
        b"]",
        b'"a',
        b"<!-- ",
        b"-->",
        b"<b>",
        b"~~~",
        b"  ",
        b"- ",
    ]
    vocabulary = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), *pieces], eos=300, size=2048)
    grammar = markdown_answer(["json"], fences=_FENCES, max_indent=1)
    compiled = grammar.compile(vocabulary)
    rng = random.Random(5)
    for _ in range(150):
        matcher = compiled.matcher()
        text = b""
        for _ in range(rng.randint(1, 25)):
            allowed = matcher.allowed_ids().tolist()
            if rng.random() < 0.1:
                tried = [token for token in range(270) if matcher.fork().accept(token)]
                assert tried == [token for token in allowed if token < 270]
            likely = [token for token in allowed if 256 <= token < 300 or token in {*b"x`~1,]"}] or allowed
            token = rng.choice(likely)
            assert matcher.accept(token)
            text += vocabulary.token(token) or b""
            if matcher.is_finished:
                break
        else:
            text += matcher.shortest_completion().text
        written = text.decode()
        assert is_answer(
            written, {("json",): _VALIDATORS[("json",)]}, fences=_FENCES, max_indent=1, is_other_free=True
        ), written


def test_languages_where_backticks_are_lexemes() -> None:
    answer = markdown_answer(["js", "sql", "go"], fences=["```", "~~~"]).compile(_BYTES)
    for code, is_valid in (
        ("js\nlet a = `\n`", True),
        ("js\nlet a = `\n``` `;", False),
        ("js\nlet a = `\n``\n`;", True),
        ("js\n``` `;", False),
        ("js\nlet a = `\n\\``;", True),
        ("sql\nselect `\n```` ", False),
        ("sql\nselect 'a\n    ```\n'", True),
        ("sql\nselect 'a\n```sql\n'", False),
        ("go\npackage a\nvar x = `\n`", True),
    ):
        assert answer.is_valid(f"```{code}\n```".encode()) == is_valid, code
    assert answer.is_valid(b"~~~js\nx = `\n```\n```\n``\n`\n~~~") is True
    assert not answer.is_valid(b"~~~js\nx = (\n~~~\n1)\n~~~")


@pytest.mark.parametrize("options", [{}, {"max_indent": 1}, {"max_quotations": 1}])
def test_python_does_not_end_with_a_continued_line(options: dict[str, int]) -> None:
    compiled = markdown_answer(["python"], **options).compile(_BYTES)
    prefix = "> " * ("max_quotations" in options) + " " * ("max_indent" in options)
    for code in (
        "\\\n",
        "x\n\\\n",
        "x\n \f\\\n",
        "if x:\n y\n\\\n\\\n",
        "x\\\n",
        "x\\\n\n",
        "\\\n\n",
        "# \\\n",
        "# x\n# \\\n",
    ):
        is_valid = _parses(ast.parse)(code)
        text = f"{prefix}```python\n{code}```".replace("\n", f"\n{prefix}")
        assert compiled.is_valid(text.encode()) == is_valid, text


def test_blank_lines_of_indented_blocks() -> None:
    flexible = Grammar.from_json_schema({"type": "array"}, whitespace="flexible")
    grammars = {name: Grammar.bundled(name) for name in ("python", "javascript", "sql", "go")}
    compiled = markdown_answer({**grammars, "json": flexible}, max_indent=4).compile(_BYTES)
    blocks = (
        ("python", "\nif x:\n\n    y\n\n\nz\n\n"),
        ("python", 'x = """\n\n a\n"""  # \n'),
        ("javascript", "\nlet a = `\n\n\n`;\n// b\n\nf(\n\n)\n"),
        ("sql", "\nSELECT a\n\nFROM b -- c\n\nWHERE 'd\n\n' = e;\n"),
        ("go", "package a\n\nfunc f() {\n\n\tg()\n\n}\n"),
        ("json", "[1,\n\n  2\n\n]\n"),
    )
    for language, code in blocks:
        for indent in range(5):
            for blank in range(indent + 1):
                lines = [" " * (indent if line else blank) + line for line in code[:-1].split("\n")]
                block = "\n".join([f"```{language}", *lines, " " * indent + "```"])
                text = f"- a\n\n{' ' * indent}{block}\n"
                assert compiled.is_valid(text.encode()), text
                if indent:
                    last = max(index for index, line in enumerate(lines) if line.strip())
                    lines[last] = lines[last][1:]
                    block = "\n".join([f"```{language}", *lines, " " * indent + "```"])
                    assert not compiled.is_valid(f"- a\n\n{' ' * indent}{block}\n".encode()), block


def test_tabs_before_a_fence() -> None:
    """In an item or a quotation a tab may be less than four columns wide, so the fence after it closes the block."""
    compiled = markdown_answer(["python"], max_indent=4, max_quotations=1).compile(_BYTES)
    for prefix, tabs_close in (("", False), ("  ", True), ("   ", True), ("    ", False), ("> ", True)):
        for info in ("python", "text"):
            lines = [f"```{info}", '"""', "\t```", '"""', "```"]
            text = "\n".join(prefix + line for line in lines)
            assert compiled.is_valid(f"- a\n\n{text}".encode()) != tabs_close, text
            assert compiled.is_valid(f"- a\n\n{text}".replace("\t`", "\t  ` ``").encode()), text


def test_blocks_in_quotations() -> None:
    compiled = markdown_answer(["python", "json"], max_indent=2, max_quotations=2).compile(_BYTES)
    for text, is_valid in (
        ("> ```py\n> if x:\n>     y\n>\n>\n> z\n> ```\n", True),
        ("So:\n> Text\n>   ```json\n>   [1,\n>\n> \n>   2]\n>   ```\nMore\n", True),
        ("> > ```py\n> > x\n> >\n> > y\n> > ```\n", True),
        ("> > ```py\n> > x\n>\n> > y\n> > ```\n", False),  # The inner quotation ends.
        ("> ```py\n> x\n\n> y\n> ```\n", False),
        ("> ```py\n> x\ny\n> ```\n", False),
        ("> ```py\n> x\n```\n", False),
        ("> ```py\n> x +\n> ```\n", False),
        ("> ```py\n>x\n> ```\n", False),  # Markers are followed by a space.
        ("> > > ```py\n> > > x\n> > > ```\n", False),
        ("> ```\n> free\n>\n> > text\n> ```\n", True),
    ):
        assert compiled.is_valid(text.encode()) == is_valid, text


def test_raw_html() -> None:
    compiled = markdown_answer(["json"], max_quotations=1).compile(_BYTES)
    no_blocks = markdown_answer([], other="refuse").compile(_BYTES)
    block = "```json\n1\n```"
    for html, is_closed in (
        ("<pre>\n```json\n</pre> a\n", True),
        ("<PRE\n```json\n</Script>\n", True),  # The end is a closing tag of any of the elements.
        ("<pre>\n</pre >\n", False),
        ("<pre>\n</pr</pre>\n", True),
        ("<style>\n\n\n", False),
        ("a\n<textarea>\n~~~\n</textarea>\n", True),
        ("<b>\n<pre>\n</pre>\n", False),  # `<pre>` belongs to the block that `<b>` begins.
        ("<b>\n\n<pre>\n</pre>\n", True),
        ("<!--\n```\n-->\n", True),
        ("<!--\n```\n--\n", False),
        ("<?php\n```\n?>\n", True),
        ("<!DOCTYPE a\n> >\n", True),
        ("<![CDATA[\n```\n]]>\n", True),
        ("- <!--\n  -->\n", True),
        ("> <pre>\n> </pre>\n", False),
        ("- <!--\n  ```json\n  -->\n", False),
        ("<! \n<!-\n<![CDATA\n", True),
    ):
        assert compiled.is_valid(f"{html}{block}".encode()) == is_closed, html
        assert compiled.is_valid(f"{block}\n{html}".encode()) == is_closed, html
        assert not compiled.is_valid(f"{html}```json\n[\n```".encode()), html
        assert no_blocks.is_valid(html.encode()) == is_closed, html


def test_a_minimum_of_blocks() -> None:
    compiled = markdown_answer(["json"], min_blocks=2).compile(_BYTES)
    block = b"```json\n1\n```"
    assert [compiled.is_valid(b"\n".join([block] * count)) for count in range(4)] == [
        False,
        False,
        True,
        True,
    ]
    assert not compiled.is_valid(b"Text\n" + block)


def test_options() -> None:
    assert markdown_answer([], other="refuse").compile(_BYTES).is_valid(b"Hello\n")
    wrong: tuple[dict[str, Any], ...] = (
        {"other": "some"},
        {"fences": ["``"]},
        {"fences": []},
        {"fences": ["`~`"]},
        {"max_indent": 9},
        {"min_blocks": -1},
    )
    for options in wrong:
        with pytest.raises(ValueError, match=r"."):
            markdown_answer(["json"], **options)
    for names in (["cobol"], ["py", "python3"], ["a b"], [""]):
        with pytest.raises(ValueError, match=r"."):
            markdown_answer(names)
    with pytest.raises(TypeError, match="code is a list of str, unlike None"):
        markdown_answer([None])  # type: ignore[list-item]
    grammar = markdown_answer(["json", "python"])
    assert pickle.loads(pickle.dumps(grammar)).digest() == grammar.digest()


def test_a_single_name_is_no_list() -> None:
    with pytest.raises(TypeError, match="not the single name 'python'"):
        markdown_answer("python")
