"""Tests of loading lark grammars: files and imports, post-lexers, pickles, a missing library, the commands."""

from __future__ import annotations

import builtins
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import grammask
import lark
import pytest
from grammask.cli.application import application
from grammask.lark_grammars import BUNDLED, RefusedTerminals
from grammask.lark_grammars.loading import lark_definition
from lark.indenter import PythonIndenter
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def test_files_import_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n")
    file = tmp_path / "text.lark"
    file.write_text('start: WORD ("," WORD)*\n%import .words.WORD\n')
    for path in (file, str(file)):
        grammar = grammask.Grammar.from_lark(path)
        assert grammar.compile(BYTES).is_valid(b"a,bc")
    with pytest.raises(FileNotFoundError):
        grammask.Grammar.from_lark(tmp_path / "none.lark")
    (tmp_path / "words.lark").unlink()
    with pytest.raises(grammask.GrammarSyntaxError, match="words"):
        grammask.Grammar.from_lark(file)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("start: A\nA: /[a-/", "the terminal `A` is no regular expression: unterminated character set"),
        ('start: "x" /a(/', "the terminal `/a(/` is no regular expression: missing ), unterminated"),
        ("start: /\\p{Lu}+/", "is no regular expression: bad escape \\p"),
    ],
)
def test_malformed_patterns_name_their_terminal(grammar: str, message: str) -> None:
    with pytest.raises(grammask.GrammarSyntaxError) as caught:
        grammask.Grammar.from_lark(grammar)
    assert message in str(caught.value)


def test_a_change_of_an_imported_file_is_another_grammar(tmp_path: Path) -> None:
    words = tmp_path / "words.lark"
    file = tmp_path / "text.lark"
    file.write_text("start: WORD\n%import .words.WORD\n")
    for word in ("a", "b"):
        words.write_text(f'WORD: "{word}"\n')
        assert grammask.Grammar.from_lark(file).compile(BYTES).is_valid(word.encode())


@pytest.mark.parametrize(
    ("of_word", "of_hex"), [(10**20, 10**20 + 1), (-(10**20), 0), (-(2**31) - 1, -(2**31))]
)
def test_priorities_may_be_any_integers(of_word: int, of_hex: int) -> None:
    text = f'start: WORD | HEX "!"\nWORD.{of_word}: /[a-z]+/\nHEX.{of_hex}: /[a-f]+/'
    compiled = grammask.Grammar.from_lark(text, lexer="basic").compile(BYTES)
    assert [compiled.is_valid(text) for text in (b"xyz", b"abc!", b"abc")] == [True, True, False]


def test_absent_terminals_leave_out_alternatives() -> None:
    text = """
    start: item{NEVER} "." item{POSSIBLE}
    item{mark}: "a" | mark "b" | signs{mark}
    signs{mark}: mark "c"
    POSSIBLE: "+"
    %declare NEVER
    """
    definition = lark_definition(
        text,
        path="",
        starts=["start"],
        lexer="basic",
        newline=None,
        always_accepted=[],
        absent_terminals=["NEVER"],
    )
    assert [(name, len(symbols)) for name, symbols, _ in definition.productions] == [
        ("start", 3),
        ("item{NEVER}", 1),
        ("item{POSSIBLE}", 1),
        ("item{POSSIBLE}", 2),
        ("item{POSSIBLE}", 1),
        ("signs{POSSIBLE}", 2),
    ]
    assert all(terminal[0] != "NEVER" for terminal in definition.terminals)


def test_grammars_can_be_pickled() -> None:
    grammar = grammask.Grammar.bundled("python")
    again = pickle.loads(pickle.dumps(grammar))
    assert again.source == grammar.source
    assert again.compile(BYTES).is_valid(b"if x:\n y\n")
    assert grammar.relaxations == []
    assert [name for name, _ in grammar.stages()] == ["terminals", "productions"]


def test_all_of_a_matcher_works() -> None:
    compiled = grammask.Grammar.from_lark('start: "begin" NAME "end"\nNAME: /[a-z]+/\n%ignore " "').compile(
        BYTES
    )
    matcher = compiled.matcher()
    assert matcher.forced_bytes() == b""
    assert matcher.accept(ord("b"))
    assert matcher.forced_bytes() == b"egin"
    assert not matcher.accept(ord("x"))
    fork = matcher.fork()
    assert fork.accept_bytes(b"egin x end")
    assert fork.is_complete
    matcher.rollback(1)
    assert not matcher.is_complete
    assert not matcher.explain(ord("x")).is_allowed
    mask = grammask.allocate_mask(2, 257)
    grammask.fill_masks([matcher, fork], mask)
    assert (mask != 0).any(axis=1).all()


@pytest.mark.parametrize(
    "postlex", [PythonIndenter, PythonIndenter()], ids=["a class of lark", "an object of lark"]
)
def test_indenters_of_lark_are_taken(postlex: Any) -> None:
    text = "start: (line | block)*\nline: item _NEWLINE\nblock: item _NEWLINE _INDENT line+ _DEDENT"
    text += "\nitem: A\nA: /a/\n_NEWLINE: /(\\n *)+/\n%declare _INDENT _DEDENT"
    # As in lark, brackets of the indenter that are absent from the grammar have no effect.
    without_brackets = grammask.Grammar.from_lark(text, postlex=postlex).compile(BYTES)
    library = lark.Lark(text, parser="lalr", postlex=PythonIndenter())
    assert library.parse("a\n  a\na\n")
    assert without_brackets.is_valid(b"a\n  a\na\n")
    assert not without_brackets.is_valid(b"a\n  a\n a\n")
    text += '\n%extend item: "(" item ")" | "[" item "]" | "{" item "}"'
    compiled = grammask.Grammar.from_lark(text, postlex=postlex).compile(BYTES)
    assert compiled.is_valid(b"a\n ([\n{a}])\n\na\n")
    assert compiled.first_error(b"a\n  a\n a\n") == 7


class Own(PythonIndenter):
    def process(self, stream: Any) -> Any:
        return stream


class NoTab(PythonIndenter):
    tab_len = 0


class NoNewline(PythonIndenter):
    always_accept = ("X",)


@pytest.mark.parametrize("postlex", [Own, NoTab, NoNewline, object, object()])
def test_other_post_lexers_are_refused(postlex: Any) -> None:
    with pytest.raises((grammask.UnsupportedGrammar, AssertionError)):
        grammask.Grammar.from_lark('start: "a"', postlex=postlex)


def test_terminals_without_a_name_are_shown_as_they_are_written() -> None:
    """The names that the library makes up are in no file of the user."""
    text = 'start: "++" | /[ab]+/i "--"i\n%ignore /[ \\n]+/'
    matcher = grammask.Grammar.from_lark(text).compile(BYTES).matcher()
    assert {each.terminal for each in matcher.expected()} == {'"++"', "/[ab]+/i"}
    assert matcher.accept_bytes(b"aB")
    # Inside a lexeme, more of it or a terminal after it is expected.
    expected = [(each.terminal, each.has_begun) for each in matcher.expected()]
    assert expected == [("/[ab]+/i", True), ('"--"i', False)]
    assert matcher.accept_bytes(b" -")
    assert [each.terminal for each in matcher.expected() if each.has_begun] == ['"--"i']
    conflict = 'start: a "c" | b "c"\na: /q+/\nb: /q+/'
    with pytest.raises(grammask.UnsupportedGrammar, match=r"after `/q\+/`, before `C`"):
        grammask.Grammar.from_lark(conflict).compile(BYTES)


class MadeUpBrackets(PythonIndenter):
    @property
    def OPEN_PAREN_types(self) -> list[str]:  # noqa: N802
        return ["__ANON_0"]

    @property
    def CLOSE_PAREN_types(self) -> list[str]:  # noqa: N802
        return ["__ANON_1"]


def test_brackets_keep_the_names_of_the_library() -> None:
    text = 'start: (item _NEWLINE | item _NEWLINE _INDENT item _NEWLINE _DEDENT)*\nitem: A | "<<" item ">>"'
    text += "\nA: /a/\n_NEWLINE: /(\\n *)+/\n%declare _INDENT _DEDENT"
    compiled = grammask.Grammar.from_lark(text, postlex=MadeUpBrackets()).compile(BYTES)
    library = lark.Lark(text, parser="lalr", postlex=MadeUpBrackets())
    assert library.parse("<<\n a>>\n")
    assert compiled.is_valid(b"<<\n a>>\n")


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_refused_terminals_are_those_of_lark(lexer: Any) -> None:
    text = "start: (N | A)*\nWRONG.2: /1+a/\nN.1: /1+/\nA: /[ab]/\n%ignore / +/"
    refused = RefusedTerminals(("WRONG",))
    compiled = grammask.Grammar.from_lark(text, lexer=lexer, postlex=refused).compile(BYTES)
    library: Any = lark.Lark(text, parser="lalr", lexer=lexer, postlex=refused)  # type: ignore[arg-type]
    for letters in itertools.chain.from_iterable(
        itertools.product("1ab ", repeat=length) for length in range(6)
    ):
        made = "".join(letters)
        try:
            library.parse(made)
            is_parsed = True
        except lark.LarkError:
            is_parsed = False
        assert compiled.is_valid(made.encode()) == is_parsed, made
        assert is_parsed == ("1a" not in made)


def test_without_lark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_lark(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".")[0] == "lark":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_lark)
    with pytest.raises(ImportError, match=r"grammask\[lark\]"):
        grammask.Grammar.from_lark('start: "a"')
    assert grammask.Grammar.bundled("json").compile(BYTES).is_valid(b"[1]")


def test_the_command_line_lists_grammars() -> None:
    result = CliRunner().invoke(application, ["grammars"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == sorted(BUNDLED)


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        (
            'A.1: "a"\nB: "ab"\nstart: B A | B',
            {"lexer": "basic"},
            'the lexer never finds `B`: at the beginning of "ab" it takes `A`',
        ),
        ("A: /a/\nstart: A\n%ignore / ?a/", {"lexer": "basic"}, "which is ignored"),
        ('A: "a"\nB: "b"\nstart: A B\nX.1: /ab/', {"lexer": "contextual"}, None),
        ('A.1: /a+/\nB: "ab"\nstart: B A', {"parser": "earley", "lexer": "basic"}, "never finds `B`"),
        ("A: /a/\nstart: A", {"postlex": RefusedTerminals(("X",)), "lexer": "basic"}, None),
        (
            "A: /a/\nX.1: /a/\nstart: A",
            {"postlex": RefusedTerminals(("X",)), "lexer": "basic"},
            "which no text may have",
        ),
        ("A: /a/\nstart: A*\n%ignore / ?a/", {"lexer": "basic"}, None),
        (
            'A.1: / ?a/\nB: "a"\nC.1: "ab"\nstart: A B | B | C C? other\nother: C B | C A*\n%ignore / a?/',
            {"lexer": "basic"},
            "the lexer never finds `B`",
        ),
    ],
)
def test_grammars_that_the_lexer_leaves_no_text(text: str, how: dict[str, Any], words: str | None) -> None:
    grammar = grammask.Grammar.from_lark(text, **how)
    if words is None:
        assert grammar.check() == []
        return
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        grammar.check()
    assert caught.value.code == "empty-language"
    assert words in (caught.value.help or "")
