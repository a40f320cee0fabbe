"""Lexical rules: nested comments, and strings with expressions in them."""

from __future__ import annotations

import ast
import itertools
import random
import sys
import warnings

import grammask
import pytest

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)

NESTED_COMMENTS = r"""
    start: (NAME ";")*
    comment: "/*" (COMMENT_TEXT | inner_comment)* COMMENT_END
    inner_comment: INNER_COMMENT (COMMENT_TEXT | inner_comment)* COMMENT_END
    NAME: /[a-z]+/
    COMMENT_TEXT: /([^\/*]|\/+[^\/*]|\*+[^\/*])+/
    INNER_COMMENT: /\/+\*/
    COMMENT_END: /\*+\//
    %ignore / +/
"""

INTERPOLATED = r"""
    start: expression
    expression: operand ("+" operand)*
    operand: NAME | string | "{" (expression ("," expression)*)? "}"
    string: "\"" (TEXT | "$" | "${" expression "}")* "\""
    NAME: /[a-z]+/
    TEXT: /[^"$]+/
    %ignore / +/
"""


def accepts_nested(text: str) -> bool:
    """The language of ``NESTED_COMMENTS``, with a counter."""
    words: list[str] = []
    position = depth = 0
    while position < len(text):
        pair = text[position : position + 2]
        if pair == "/*":
            depth += 1
            position += 2
            words += [" "] if depth == 1 else []
        elif pair == "*/" and depth:
            depth -= 1
            position += 2
        else:
            words += [] if depth else [text[position]]
            position += 1
    if depth:
        return False
    # Comments and spaces separate names, so a name with a separator in it is two.
    *statements, rest = "".join(words).split(";")
    return not rest.strip(" ") and all(
        statement.strip(" ").isalpha() and statement.strip(" ").islower() for statement in statements
    )


@pytest.fixture(scope="module")
def nested() -> grammask.CompiledGrammar:
    grammar = grammask.Grammar.from_lark(
        NESTED_COMMENTS, lexer="basic", lexical_rules=["inner_comment"], ignored_rules=["comment"]
    )
    return grammar.compile(BYTES)


@pytest.fixture(scope="module")
def interpolated() -> grammask.CompiledGrammar:
    return grammask.Grammar.from_lark(INTERPOLATED, lexical_rules=["string"]).compile(BYTES)


def test_nested_comments_are_counted(nested: grammask.CompiledGrammar) -> None:
    for length in range(8):
        for letters in itertools.product("/*a;", repeat=length):
            text = "".join(letters)
            assert nested.is_valid(text.encode()) == accepts_nested(text), text
    choose = random.Random(1)
    for _ in range(5_000):
        text = "".join(choose.choices(["/*", "*/", "a", ";", " ", "/", "*", "b;"], k=choose.randrange(12)))
        assert nested.is_valid(text.encode()) == accepts_nested(text), text


def test_deep_nesting_is_read(nested: grammask.CompiledGrammar) -> None:
    depth = 20_000
    matcher = nested.matcher()
    assert matcher.accept_bytes(b"a;" + b"/*" * depth + b"*/" * (depth - 1))
    assert not matcher.is_complete
    assert matcher.accept_bytes(b"*/b;")
    assert matcher.is_complete


def test_strings_hold_expressions(interpolated: grammask.CompiledGrammar) -> None:
    valid = ['"a"', '"a ${b} $ c"', '"${"${ {a, "x"} }"} }" + a', '"${a + {}}{}"', '"  "']
    for text in valid:
        assert interpolated.is_valid(text.encode()), text
    invalid = ['"${}"', '"${ {a }"', '"a" "b"', '"${a}', "${a}", '"${a b}"']
    for text in invalid:
        assert not interpolated.is_valid(text.encode()), text


def test_names_begin_with_text_of_strings_outside(interpolated: grammask.CompiledGrammar) -> None:
    """The terminals of strings are not looked for outside, and spaces are not ignored inside."""
    assert interpolated.is_valid(b' "${ a }" + a ')
    assert interpolated.first_error(b'a "') == 2
    matcher = interpolated.matcher()
    assert matcher.accept_bytes(b'"a ${b')
    assert {expectation.terminal for expectation in matcher.expected()} == {"NAME", "PLUS", "RBRACE"}
    assert matcher.accept_bytes(b"} ")
    assert {expectation.terminal for expectation in matcher.expected()} == {
        "TEXT",
        "DOLLAR",
        '"${"',
        "DBLQUOTE",
    }


@pytest.mark.parametrize("budget", [9, 12, 20])
def test_texts_end_within_budgets(interpolated: grammask.CompiledGrammar, budget: int) -> None:
    choose = random.Random(budget)
    for _ in range(50):
        matcher = interpolated.matcher(max_tokens=budget)
        while not matcher.is_finished:
            words = matcher.mask()
            matcher.accept(
                choose.choice(
                    [token for token in range(BYTES.size) if words[token // 32] >> (token % 32) & 1]
                )
            )
        assert len(matcher.tokens) <= budget


def test_saved_grammars_keep_their_rules(
    nested: grammask.CompiledGrammar, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("saved") / "nested.grammask"
    nested.save(path)
    loaded = grammask.CompiledGrammar.load(path, BYTES)
    assert loaded.is_valid(b"/* /* */ */a;")
    assert not loaded.is_valid(b"/* /* */a;")


def test_encoded_texts_hold_lexical_rules() -> None:
    grammar = grammask.Grammar.from_lark(INTERPOLATED, lexical_rules=["string"])
    compiled = grammar.encoded("json-string").compile(BYTES)
    assert compiled.is_valid(rb"\"a ${ b } \u0024\"")
    assert not compiled.is_valid(rb"\"a ${ b \"")


def test_kbnf_and_gbnf_declare_lexical_rules(interpolated: grammask.CompiledGrammar) -> None:
    kbnf = r"""
        %terminal NAME, TEXT; %lexical string; %ignore SPACE;
        start      ::= expression;
        expression ::= operand { "+" operand };
        operand    ::= NAME | string | "{" [ expression { "," expression } ] "}";
        string     ::= "\"" { TEXT | "$" | "${" expression "}" } "\"";
        NAME ::= #"[a-z]+"; TEXT ::= #"[^\"$]+"; SPACE ::= #" +";
    """
    gbnf = r"""
        root       ::= expression
        expression ::= operand ("+" operand)*
        operand    ::= NAME | string | "{" (expression ("," expression)*)? "}"
        string     ::= "\"" (TEXT | "$" | "${" expression "}")* "\""
        NAME  ::= [a-z]+
        TEXT  ::= [^"$]+
        SPACE ::= " "+
        %terminal NAME TEXT
        %lexical string
        %ignore SPACE
    """
    compiled = [
        grammask.Grammar.from_kbnf(kbnf, lexer="contextual").compile(BYTES),
        grammask.Grammar.from_gbnf(gbnf, lexer="basic").compile(BYTES),
    ]
    choose = random.Random(2)
    accepted = 0
    for _ in range(3_000):
        text = "".join(choose.choices(['"', "${", "}", "{", "$", "a", " ", "+", ","], k=choose.randrange(10)))
        expected = interpolated.is_valid(text.encode())
        accepted += expected
        assert [one.is_valid(text.encode()) for one in compiled] == [expected, expected], text
    assert accepted > 50


def test_kbnf_declares_ignored_rules() -> None:
    text = r"""
        %terminal NAME, TEXT, OPEN, CLOSE; %lexical comment, inner; %ignore comment, SPACE;
        start   ::= { NAME ";" };
        comment ::= "/*" { TEXT | inner } CLOSE;
        inner   ::= OPEN { TEXT | inner } CLOSE;
        NAME ::= #"[a-z]+"; SPACE ::= #" +"; OPEN ::= #r"/+\*"; CLOSE ::= #r"\*+/";
        TEXT ::= #r"([^/*]|/+[^/*]|\*+[^/*])+";
    """
    compiled = grammask.Grammar.from_kbnf(text, lexer="basic").compile(BYTES)
    choose = random.Random(3)
    for _ in range(3_000):
        words = "".join(choose.choices(["/*", "*/", "a", ";", " ", "/", "*", "b;"], k=choose.randrange(12)))
        assert compiled.is_valid(words.encode()) == accepts_nested(words), words


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("start: a\na: B\nB: /b/", {"lexical_rules": ["c"]}, "the lexical rule `c` is not defined"),
        (
            "start: NAME\ncomment: B?\nNAME: /a/\nB: /b/",
            {"ignored_rules": ["comment"], "lexer": "basic"},
            "matches the empty text",
        ),
        (
            "start: NAME\ncomment: B\nNAME: /a/\nB: /b/",
            {"ignored_rules": ["comment"]},
            "ignored rules need the basic lexer",
        ),
        (
            "start: a\na: B x\nx: B\nB: /b/",
            {"lexical_rules": ["a"]},
            "`x` does not stand between two terminals",
        ),
        ("start: a\na: B\nB: /b/", {"lexical_rules": ["a"], "parser": "earley"}, "need LALR"),
        (
            "start: NAME comment\ncomment: B C\nNAME: /a/\nB: /b/\nC: /c/",
            {"ignored_rules": ["comment"], "lexer": "basic"},
            "begins an ignored rule and is used by other rules",
        ),
        (
            "start: a B\na: B+\nB: /b/",
            {"lexical_rules": ["a"]},
            "may end or go on",
        ),
    ],
)
def test_errors_name_the_rule(text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=message.replace("`", ".")):
        grammask.Grammar.from_lark(text, **options).compile(BYTES)  # type: ignore[arg-type]


# Verdicts of CPython 3.12 and 3.13. Before 3.13.4 a line break ends the format of a string in single quotes,
# so that some texts are read after it.
FORMATTED = {
    r'f"{x!r :3}"': True,
    r'f"{x! r}"': False,
    r'f"{x !r}"': True,
    r'f"{x = !r:>3}"': True,
    r'f"{x:=5}"': True,
    r'f"{lambda x:1}"': False,
    r'f"{lambda x:{1}}"': False,
    r'f"{(lambda x:1)}"': True,
    r'f"{a:{b:{c}}}"': True,
    r'f"{a:{b:{c:{d}}}}"': False,
    r'f"{x:{{1}}}"': True,
    r'f"{x:}}"': False,
    r'f"\{x}"': True,
    r'f"\N{DASH}"': True,  # The name is left to the interpreter.
    r'f"\N{DIGIT ONE}"': True,
    r'f"\N{DIGIT ONE}{x:\N{DIGIT ONE}}"': True,
    r'f"\N"': False,
    r'f"\N{{x}}"': False,
    r'f"\x41\u00e9\U0001f600\1\q"': True,
    r'f"\x4"': False,
    r'f"{x}\u12{{34"': False,
    r'f"\U00110000"': False,
    r'f"{x:\x4}"': False,
    r'rf"\x4"': True,
    r'f"\{{\}}\{x}"': True,
    r'f"{x:\n}"': True,
    'f"{x:\n}"': False,
    'f"{x:a\n}"': False,
    'f"{x:{y}\n}"': False,
    'f"{x:\n{y}}"': False,
    'f"{x!r\n:a}"': True,
    r'rf"{x:\d\u0041}"': True,
    r'rf"{x:\u}"': False,
    r'rf"{x:\N{y}}"': False,
    r'f"\N{a_b}"': False,
    r'f"\N{HANGUL JUNGSEONG O-E}\n{x}"': True,
    'f"{\nx # c\n}"': True,
    r'f"{yield x}"': True,
    r'f"{*a, b}"': True,
    r'f"{a,}"': True,
    r'f"{}"': False,
    r'f"{x!}"': False,
    r'f"{x!z}"': False,
    r'f"{x!ra}"': False,
    r'f"{x:{y}}}}"': True,
    r'f"{{}}"': True,
    r'f"{ {1} }"': True,
    r'f"{{1}"': False,
    r"""f"a" "b" f'{f"{1}"}' """: True,
    r'rf"\N{x}"': True,
    r'rf"\{x}" FR"{{"': True,
    r'f"{x!=y}"': True,
    r'f"{x:!r}"': True,
    r'f"{d["a"]}"': True,
    r'f"{x if y}"': False,
    r'f"{x:#x}"': True,
    r'f"{x#}"': False,
    r'f"{x for x in y}"': False,
    r'f"{(x for x in y)}"': True,
    'f"""{x:a\nb}"" """': True,
    'f"""a"{x}""""': False,
    "f'''a\n'{x}''\\''''": True,
    r'f"{x:\{y}}"': True,
    r'f"\}}"': True,
    r'f"\}"': False,
    r'f"{a[1:2]}{b}" f""': True,
    r'f"{x:{y!r:{z}}}"': True,
    'f"\\\n{x}"': True,
    'f"\n"': False,
    r'f"{x"': False,
    r'f"{x}': False,
    'f""""""': True,
    'f"""""': False,
}


@pytest.fixture(scope="module")
def python() -> grammask.CompiledGrammar:
    return grammask.Grammar.bundled("python").compile(BYTES)


@pytest.mark.parametrize(("text", "is_valid"), FORMATTED.items())
def test_formatted_strings(python: grammask.CompiledGrammar, text: str, *, is_valid: bool) -> None:
    assert python.is_valid(f"{text}\n".encode()) == is_valid


def test_formatted_strings_are_no_patterns(python: grammask.CompiledGrammar) -> None:
    assert python.is_valid(b'match x:\n    case "a" "b":\n        pass\n')
    assert not python.is_valid(b'match x:\n    case f"a":\n        pass\n')


@pytest.mark.skipif(sys.version_info < (3, 13, 4), reason="f-strings are read so since Python 3.13.4")
def test_formatted_strings_equal_those_of_the_interpreter(python: grammask.CompiledGrammar) -> None:
    pieces = [
        "{",
        "}",
        "{x",
        "{{",
        "}}",
        ":",
        "!r",
        "=",
        "'",
        '"',
        " ",
        "a",
        "\\",
        "\n",
        "x}",
        ",",
        "(",
        ")",
        "{x:",
    ]
    choose = random.Random(3)
    verdicts = {True: 0, False: 0}
    for _ in range(20_000):
        quotes = choose.choice(["'", '"', "'''", '"""'])
        prefix = choose.choice(["f", "F", "rf", "Rf", "fr"])
        text = f"{prefix}{quotes}{''.join(choose.choices(pieces, k=choose.randrange(7)))}{quotes}\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ast.parse(text)
                expected = True
            except (SyntaxError, ValueError):
                expected = False
        verdicts[expected] += 1
        assert python.is_valid(text.encode()) == expected, text
    assert min(verdicts.values()) > 2_000


def test_javascript_templates_hold_expressions() -> None:
    compiled = grammask.Grammar.bundled("javascript").compile(BYTES)
    valid = [
        "`a${b}c`",
        "`${`${ {a: 1}.a }`}`",
        "f`$${x}$`",
        "`${a ? `}` : '}'}`",
        "`\\`\\${`",
        "`${\n// }\na\n}`",
        "`$`",
    ]
    for text in valid:
        assert compiled.is_valid(text.encode()), text
    for text in ["`${}`", "`${a b}`", "`${ {a: 1 }`", "`${a;}`", "`${a}", "`a` ${b}"]:
        assert not compiled.is_valid(text.encode()), text
