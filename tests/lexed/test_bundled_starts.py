"""Tests of the start symbols of bundled grammars, and of the definitions that the package stores."""

from __future__ import annotations

import ast
import random
import sqlite3
import warnings

import grammask
import pytest
from grammask.lark_grammars import BUNDLED
from grammask.lark_grammars.bundled import definition_text

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)

TEXTS: dict[tuple[str, str], tuple[list[str], list[str]]] = {
    ("c", "statements"): (
        ["int x = 1; f(x);", "for (;;) { break; }", "return;"],
        ["", "int f(void) {} ", "x", "#include <a.h>"],
    ),
    ("c", "expression"): (["a + b, c", "f(x)[1]", "(int) x"], ["", "a;", "int", "return"]),
    ("c", "type"): (["int", "const char *", "unsigned (*)(int)", "struct s"], ["", "int x", "1"]),
    ("go", "statements"): (
        ["x := 1\nf(x)", "\nfor { break }\n", "return", ";"],
        ["", "package main", "x :=", "import \"a\""],
    ),
    ("go", "expression"): (["a + f(b)", "[]int{1, 2}", "func() {}"], ["", "x := 1", "return", "a;"]),
    ("go", "type"): (["int", "map[string][]*T", "chan<- int", "struct{ a int }"], ["", "1 +", "return"]),
    ("java", "statements"): (
        ["int x = 1; f(x);", "class A {}", "for (;;) { break; }"],
        ["", "package a;", "x", "public void f() {}"],
    ),
    ("java", "expression"): (["a + b", "x -> x + 1", "new A<B>(c)"], ["", "a;", "int x", "return"]),
    ("java", "type"): (["int", "List<Map<String, Integer>>", "a.B[]"], ["", "int x", "1", "List<"]),
    ("javascript", "statements"): (
        ["let x = 1; f(x)", "if (a) b(); else c()", "return x"],
        ["", "#!/bin/node\nx", "let", "}"],
    ),
    ("javascript", "expression"): (
        ["a + b, c", "{a: 1}", "x => ({})", "function () {}"],
        ["", "a;", "let x", "if (a) b"],
    ),
    ("json", "object"): (["{}", ' { "a" : [1] } '], ["", "[]", "1", "{"]),
    ("json", "array"): (["[]", "[1, {}]"], ["", "{}", "1", "[1,]"]),
    ("python", "statements"): (
        ["x = 1\n", "\n# a\nif x:\n  y\nz\n", "class A: pass\n"],
        ["", "\n", "x = 1", "if x:\n"],
    ),
    ("python", "expression"): (
        ["a if b else c", "lambda: 0, 1", "(a\n)", "[x for x in y]"],
        ["", "x = 1", "a\n", "class", "pass", "yield 1"],
    ),
    ("sql", "statement"): (
        ["select 1", "insert into t values (1)", "drop table t"],
        ["", "select 1;", "1", "select 1; select 2"],
    ),
    ("sql", "query"): (
        ["select a from t where b = 1", "with x as (select 1) select * from x", "values (1)"],
        ["", "drop table t", "select", "select 1;"],
    ),
    ("sql", "expression"): (["a + 1 and not b", "count(*)", "exists (select 1)"], ["", "select 1", "a,b"]),
    ("sql", "type"): (["integer", "varchar(10)", "double precision"], ["", "1", "select"]),
}  # fmt: skip


def test_every_start_symbol_has_cases() -> None:
    starts = {(name, start) for name, grammar in BUNDLED.items() for start in grammar.starts}
    assert starts == TEXTS.keys() | {(name, "file") for name in BUNDLED}


@pytest.mark.parametrize(("name", "start"), TEXTS)
def test_texts(name: str, start: str) -> None:
    grammar = grammask.Grammar.bundled(name, start=start)
    assert grammar.check() == []
    compiled = grammar.compile(BYTES)
    legal, illegal = TEXTS[name, start]
    for text in legal:
        assert compiled.is_valid(text.encode()), text
    for text in illegal:
        assert not compiled.is_valid(text.encode()), text


def is_python_expression(text: str) -> bool | None:
    """Returns the verdict of the interpreter; None if its compiler gives it, which knows more than a grammar.

    White space before the expression is removed, as `eval` does.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.lstrip(), mode="eval")
    except SyntaxError as error:
        words = ("assign", "parenthesized", "keyword argument", "must be")
        return None if any(word in str(error) for word in words) else False
    return True


def is_sqlite_query(text: str) -> bool | None:
    """Returns the verdict of SQLite; None if the text is well formed and cannot be run."""
    database = sqlite3.connect(":memory:")
    database.execute("create table t (a, b)")
    try:
        database.execute(f"explain {text}")
    except sqlite3.Error as error:
        return False if "syntax error" in str(error) or "incomplete input" in str(error) else None
    return True


def test_python_expressions_are_those_of_the_interpreter() -> None:
    compiled = grammask.Grammar.bundled("python", start="expression").compile(BYTES)
    chance = random.Random(1)
    pieces = [
        "a", "1", "'s'", "(", ")", "[", "]", "{", "}", ",", " + ", ".", ":", " if ", " else ", "lambda ", " for ",
        " in ", "x", "*", "**", "not ", "None", " is ", "await ", "class ", "print", "...",
    ]  # fmt: skip
    accepted = 0
    for _ in range(20_000):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 6)))
        expected = is_python_expression(text)
        assert expected is None or compiled.is_valid(text.encode()) == expected, text
        accepted += expected is True
    assert accepted > 1_000


def test_sql_queries_are_those_of_sqlite() -> None:
    # Keywords that SQLite also takes as names, such as `desc`, are left out: the grammar does not take them so.
    compiled = grammask.Grammar.bundled("sql", start="query").compile(BYTES)
    chance = random.Random(2)
    pieces = [
        "select ", "a", "b", ", ", " from t", " where ", " = ", "1", "(", ")", " order by ", " limit ", "*",
        " union ", "values ", " group by ", " having ", "count", " as ", " and ", " not ", " drop ",
    ]  # fmt: skip
    accepted = 0
    for _ in range(10_000):
        text = "".join(["select ", "a", *chance.choices(pieces, k=chance.randint(0, 5))])
        expected = is_sqlite_query(text)
        assert expected is None or compiled.is_valid(text.encode()) == expected, text
        accepted += expected is True
    assert accepted > 50


@pytest.mark.parametrize("name", BUNDLED)
def test_stored_definitions_are_those_of_the_library(name: str) -> None:
    grammar = BUNDLED[name]
    loaded = grammar.loaded_definition()
    assert grammar.definition() == loaded, "the grammar has changed: run `make grammars`"
    assert grammar.definition_path.read_text("utf-8") == definition_text(grammar, loaded)


def test_there_are_no_other_start_symbols() -> None:
    with pytest.raises(ValueError, match="it has file, object, array"):
        grammask.Grammar.bundled("json", start="value")
