"""Tests of the bundled grammars: verdicts on real and damaged files equal those of the lark library."""

from __future__ import annotations

import ast
import json
import random
import re
import sysconfig
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
import lark
import pytest
from grammask._grammask import embedded_vocabulary, encode_ordinary
from grammask.lark_grammars import BUNDLED
from grammask.lark_grammars.bundled import BlockIndentation
from lark.indenter import DedentError, Indenter
from lexed.without_lexical_rules import may_have_lexical_rules, text_without_lexical_rules
from python_reader import is_read_by_python
from sqlite_reader import is_read_by_sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
SAMPLE = 40
"""The number of files of the standard library to read."""

INSERTED = [
    *"()[]{}:,.\n \t\"'#\\1a_=@;é\f",
    "    ", '"""', "'''", "if ", "else", "for", "lambda", "match ", "case", "...", "0x", "1e", 'r"', "not ", ":=",
]  # fmt: skip


@cache
def compiled(name: str) -> grammask.CompiledGrammar:
    return grammask.Grammar.bundled(name).compile(BYTES)


@cache
def library(name: str) -> lark.Lark:
    grammar = BUNDLED[name]
    postlex: Any = grammar.postlex
    if isinstance(postlex, BlockIndentation):
        attributes = {field: getattr(postlex, field) for field in type(postlex).__slots__}
        postlex = type("BundledIndenter", (PythonIndenter,), attributes)()
    text = text_without_lexical_rules(name)
    flags = re.ASCII if grammar.folds_ascii_only else 0
    return lark.Lark(text, parser="lalr", lexer=grammar.lexer, postlex=postlex, g_regex_flags=flags)


class PythonIndenter(Indenter):
    """Blocks as CPython's tokenizer finds them, with its variables ``col``, ``altcol`` and ``cont_line_col``."""

    def handle_NL(self, token: lark.Token) -> Iterator[lark.Token]:  # noqa: N802 - the library's name
        if self.paren_level > 0:
            return
        yield token
        col = altcol = cont_line_col = 0
        for part in re.findall(r"#[^\n]*|\\\r?\n|[ \t\f\n]", token):
            match part[0]:
                case "\n":
                    col = altcol = cont_line_col = 0
                case "\f":
                    col = altcol = 0
                case " ":
                    col, altcol = col + 1, altcol + 1
                case "\t":
                    col, altcol = (col // 8 + 1) * 8, altcol + 1
                case "\\":
                    cont_line_col = cont_line_col or col
        place = (cont_line_col,) * 2 if cont_line_col else (col, altcol)
        blocks: list[Any] = self.indent_level
        innermost = blocks[-1] or (0, 0)
        if place[0] > innermost[0]:
            if place[1] <= innermost[1]:
                raise DedentError
            blocks.append(place)
            yield lark.Token.new_borrow_pos(self.INDENT_type, "", token)
            return
        while place[0] < (blocks[-1] or (0, 0))[0]:
            blocks.pop()
            yield lark.Token.new_borrow_pos(self.DEDENT_type, "", token)
        if place != (blocks[-1] or (0, 0)):
            raise DedentError


def is_parsed(name: str, text: str) -> bool:
    try:
        library(name).parse(text)
    except (lark.LarkError, AssertionError):
        return False
    return True


def python_files() -> list[Path]:
    files = sorted(STANDARD_LIBRARY.glob("*.py"))
    if not files:
        pytest.skip("the standard library is not in files")
    random.Random(2).shuffle(files)
    return list(islice(filter(is_old_enough, files), SAMPLE))


def is_old_enough(file: Path) -> bool:
    """Whether a file uses no syntax newer than `except*` of Python 3.11, the newest in the grammar."""
    try:
        ast.parse(file.read_text("utf-8"), feature_version=(3, 11))
    except SyntaxError:
        return False
    return True


def parts(text: str, chance: random.Random) -> str:
    """Return some statements of a file."""
    lines = text.splitlines(keepends=True)
    body = ast.parse(text).body
    first = chance.randrange(len(body))
    end = next(
        (one.lineno - 1 for one in body[first:] if (one.end_lineno or 0) > body[first].lineno + 50),
        len(lines),
    )
    return "".join(lines[body[first].lineno - 1 : max(end, body[first].lineno)])


def mutants(text: str, chance: random.Random, count: int, inserted: list[str]) -> Iterator[str]:
    for _ in range(count):
        place = chance.randrange(len(text) + 1)
        length = chance.randrange(4)
        word = chance.choice(inserted)
        yield chance.choice(
            [
                text[:place] + text[place + length :],
                text[:place] + word + text[place:],
                text[:place] + word + text[place + 1 :],
                text[:place],
            ]
        )


@pytest.mark.parametrize("name", BUNDLED)
def test_grammars_are_made(name: str) -> None:
    assert grammask.Grammar.bundled(name).check() == []
    assert compiled(name).matcher().allowed_ids().size > 0


def test_python_files_are_read_as_lark_reads_them() -> None:
    for file in python_files():
        text = file.read_text("utf-8")
        error = compiled("python").first_error(text.encode())
        assert may_have_lexical_rules("python", text) or is_parsed("python", text), file
        assert error is None, file


def test_broken_python_is_refused_as_lark_refuses_it() -> None:
    chance = random.Random(3)
    verdicts = []
    for file in python_files():
        piece = parts(file.read_text("utf-8"), chance)
        for mutant in mutants(piece, chance, 12, INSERTED):
            if may_have_lexical_rules("python", mutant):
                continue
            verdicts.append(is_parsed("python", mutant))
            assert compiled("python").is_valid(mutant.encode()) == verdicts[-1], mutant
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.8


def test_python_is_what_the_interpreter_reads() -> None:
    """Only rejections are compared, because the grammar leaves some checks to the interpreter."""
    chance = random.Random(4)
    for file in python_files():
        piece = parts(file.read_text("utf-8"), chance)
        for mutant in mutants(piece, chance, 5, INSERTED):
            text = mutant if mutant.endswith("\n") else mutant + "\n"
            if not compiled("python").is_valid(text.encode()):
                assert not is_read_by_python(text), text


@pytest.mark.parametrize(
    ("text", "is_python"),
    [
        ("", True),
        ("\n\n", True),
        ("# no newline", True),
        ("x = 1", False),
        ("x = 1 # no newline", False),
        ("x = 1\n# no newline", True),
        ("if x:\n  y\n", True),
        ("if x:\n  y\n z\n", False),
        ("if x:\n", False),
        ("match = case = _ = 1\nmatch.group(_)\n", True),
        ("match x, y:\n case [_, *_] if z: pass\n case {'a': b.c, **d} | A(k=-1j): pass\n", True),
        ("from .. import a\nfrom ...b.c import (d, e as f,)\n", True),
        ("with (open(a) as b, c as d,): pass\n", True),
        ("with (a, b): pass\n", True),
        ("def f(a, /, b=1, *c, d: int = 2, **e) -> None: return *c, a\n", True),
        ("def f(*): pass\n", False),
        ("lambda *, a, **k: (yield)\n", True),
        ("[x for x in y if x if y for z in w]\n", True),
        ("f(*a, b=1, **c,)\nf(x for x in y)\n", True),
        ('""" a " b "" c """\n', True),
        ('x = """a\n', False),
        ('x = "" "a"\n', True),
        ('x = """"\n', False),
        ("x = 0x_f, 1_0.e5, 0_0, .5J, 1if x else 2\n", True),
        ("x = 01\n", False),
        ("x.if\n", False),
        ("a = b\\\n + c\n", True),
        ("(a\n  +\nb)\n", True),
        ("(a, b)[1], [*c.d, (e,)], () = f\n", True),
        ("f(a) = b\n", False),
        ("(a, f()) = b\n", False),
        ("a + b = c\n", False),
        ("a, b += c\n", False),
        ("(a.b) += yield\n", True),
        ("(a): int = b\n", True),
        ("(a, b): int\n", False),
        ("del (a, [b.c]), d[0]\n", True),
        ("del *a\n", False),
        ("del a + b\n", False),
        ("for *a, (b, c.d) in e: pass\n", True),
        ("for f(a) in b: pass\n", False),
        ("for f(a).b in c: pass\n", True),
        ("[x for (a in b) in c]\n", False),
        ("with a as (b, *c): pass\n", True),
        ("with a as b(): pass\n", False),
        ("(*a)\n", False),
        ("f(a=1, b)\n", False),
        ("f(a=1, *b, c=2, **d, e=3)\n", True),
        ("f(**a, *b)\n", False),
        ("def f(a=1, b): pass\n", False),
        ("def f(a, b=1, /, c=2): pass\n", True),
        ("lambda a=1, /, b: 0\n", False),
        ("def f(*a: *b): pass\n", True),
        ("def f(a: *b): pass\n", False),
        ("try: a\nexcept b: c\nexcept* d: e\n", False),
        ("match a:\n case b as _: pass\n", False),
        ("match a:\n case B(c=1, d): pass\n", False),
        ("match a:\n case {**b, 'c': d}: pass\n", False),
        ("match a:\n case 1 + 2: pass\n", False),
        ("'a' b'b'\n", False),
        ("'\\x1'\n", False),
        ("b'\u00e9'\n", False),
        ("'\\u00e9\\U0001f600' r'\\x' br'\\x'[0]\n".replace(" br", ", br"), True),
        ("1as x\n", False),
        ("x = 0or 1\n", False),
        ("x = 0o7or 00or 0_0or 0.or 1or 2\n", True),
        ("class A(x for x in y): pass\n", False),
        ("class A(*b, (x for x in y), metaclass=c, **d,): pass\n", True),
        ("'\\N{BROKEN BAR}\\N{tibetan mark bka- shog gi mgo}\\N{TIBETAN LETTER -A}'\n", True),
        ("'\\N{a, b}'\n", False),
        ("'\\N{}' or '\\N{a '\n", False),
        ("# a\rif\n", False),
        ("async def f():\n\tasync for x in y: await z ** -w\n", True),
        ("e\u0301 = \u0939\u093f\u0928\u094d\u0926\u0940 = a\u00b7b = \u2118 = x\U000e0100\n", True),
        ("\u0301 = 1\n", False),
        ("a\u00b2 = 1\n", False),
        ("\fclass a:\n\f  b\n  \f\n  \f#\n", True),
        ("class a:\n  \fb\n", False),  # A form feed begins the columns of a line anew.
    ],
)
def test_python_where_it_is_special(text: str, *, is_python: bool) -> None:
    if not may_have_lexical_rules("python", text):
        assert is_parsed("python", text) == is_python
    assert compiled("python").is_valid(text.encode()) == is_python


def test_tokens_of_real_python_are_never_masked() -> None:
    tokens, special = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, special=special, eos="<|endoftext|>")
    compiled_grammar = grammask.Grammar.bundled("python").compile(vocabulary)
    for file in python_files()[:8]:
        text = file.read_text("utf-8")[:20_000]
        matcher = compiled_grammar.matcher()
        for token in encode_ordinary("cl100k_base", text):
            assert matcher.is_allowed(token)
            matcher.accept(token)


def test_what_masks_allow_leads_to_python() -> None:
    """Random walks along masks end in texts that lark parses."""
    chance = random.Random(5)
    grammar = grammask.Grammar.bundled("python")
    words = [
        b"def ",
        b"f",
        b"(",
        b")",
        b":",
        b"\n",
        b"\n  ",
        b"\n    ",
        b" ",
        b"if ",
        b"x",
        b"=",
        b"1",
        b".",
        b"[",
        b"]",
    ]
    words += [
        b'"',
        b'"""',
        b"'",
        b"{",
        b"}",
        b",",
        b"#",
        b"\\",
        b"match",
        b"case ",
        b"else",
        b"...",
        b"async ",
        b"for ",
    ]
    words += [
        letter.encode() for letter in "abcdghijklmnopqstuvwyzANTF"
    ]  # So that all keywords can be spelled.
    words += [
        b"in ",
        b"lambda",
        b"import ",
        b"from ",
        b"as",
        b"@",
        b"e",
        b"r",
        b"_",
        b"\r\n",
        b"*",
        b"/",
        b"pass",
        None,
    ]
    compiled_grammar = grammar.compile(grammask.Vocabulary(words, eos=len(words) - 1))
    ended = 0
    for _ in range(150):
        matcher = compiled_grammar.matcher()
        text = b""
        for _ in range(60):
            allowed = matcher.allowed_ids().tolist()
            assert allowed
            if text and len(words) - 1 in allowed:
                ended += 1
                decoded = text.decode()
                assert may_have_lexical_rules("python", decoded) or is_parsed("python", decoded), text
            choice = chance.choice([token for token in allowed if token != len(words) - 1])
            assert matcher.accept(choice)
            text += words[choice] or b""
    assert ended > 100


JSON_TEXTS = [
    '{"a": [1, 2.5e-3, -0, "\\u12aB\\n"], "": {}}',
    " [true, false, null]\n",
    '"é\x7f"',
    "0",
    "-1E+2",
]


def test_json_is_what_python_reads() -> None:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    chance = random.Random(6)
    for text in JSON_TEXTS:
        for mutant in [
            text,
            *mutants(text, chance, 200, [*'[]{},:"\\0-.eE1a \t\n\x00\x0b', "null", "NaN", "\\u"]),
        ]:
            try:
                json.loads(mutant, parse_constant=refuse)
                is_json = True
            except ValueError:
                is_json = False
            assert is_parsed("json", mutant) == is_json, mutant
            assert compiled("json").is_valid(mutant.encode()) == is_json, mutant


SQL_TEXTS = [
    "select a.b as c, count(*) from t a left join u using (id) where x between 1 and 2.5e3 or not y is null;",
    "with recursive r(n) as (values (1) union all select n + 1 from r where n < 10) select n from r order by 1 limit 5",
    "INSERT INTO t (a, b) VALUES ('it''s', x'0F'), (?1, :n) ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING *",
    "update t set a = case when b in (1, 2) then 'x' else cast(c as text) end where exists (select 1 from u)",
    "create table if not exists t (id integer primary key autoincrement, a varchar(10) not null default 'x' unique,\n"
    "  b real check (b > 0) references u (id) on delete cascade, foreign key (a) references v(a)); -- done",
    "delete from main.t where a like '%x' escape '!' ; drop view if exists v; begin; commit",
    "select sum(a) over (partition by b order by c rows between unbounded preceding and current row) from t",
    "select match, a.regexp as match from t match where t match 'a' and b not regexp c or match match d escape 'e'",
    "create table caf\u00e9 (\u65e5\u672c text, \U0001f600 int); select a\u00b2 from \u00fc",
    "select count(*) as 'n', key 'k', u.cast from 't' as 'u', cast first where offset = 'a' order by desc desc limit 1",
    "select a.*, -1 + ~2 || 'b' collate nocase /* c */ from [t 1] as a, (select distinct 0x1F) group by a having 1",
]


def test_sql_is_read_by_sqlite() -> None:
    chance = random.Random(7)
    inserted = [
        *"()',;.*1a =",
        "select ",
        "from",
        "values",
        "not ",
        "order by 1",
        "limit 1",
        "1e",
        "0x",
        "--",
        "/*",
        " match ",
        "regexp",
    ]
    verdicts = []
    for text in SQL_TEXTS:
        assert compiled("sql").is_valid(text.encode())
        assert is_read_by_sqlite(text)
        long_s = text.replace("s", "\u017f", 1)
        assert compiled("sql").is_valid(long_s.encode()) == is_read_by_sqlite(long_s), long_s
        for mutant in mutants(text, chance, 100, inserted):
            verdicts.append(is_parsed("sql", mutant))
            assert compiled("sql").is_valid(mutant.encode()) == verdicts[-1], mutant
            if verdicts[-1]:
                assert is_read_by_sqlite(mutant), mutant
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9


PLACES_OF_NAMES = [
    "select {} from t", "select a {} from t", "select a as {}, b from {}",
    "select {}.a, t.{}, {}.* from t {}", "select {}(1)", "select a from t order by {} {}",
    "select a from t where {} between {} and {} group by {} having {} limit {}",
    "select case {} when {} then {} else {} end", "select a from t as {} join {} on {} = a",
    "select a from t join b using ({})", "select cast({} as {}), a collate {}",
    "select sum({}) over {} from t window {} as (partition by {} order by {})",
    "select sum(a) over (rows between {} preceding and {} following)",
    "select exists (select {}), -{}, not {}, a in {}",
    "with {} ({}) as (select 1) select * from {}",
    "insert into {} ({}) values ({}) on conflict ({}) do nothing", "insert or {} into t values (1)",
    "update {} set {} = {} where {} = 1", "delete from {} where {}",
    "create table {} ({} {} references {} on delete {}, constraint {} unique ({}))",
    "create {} table t (a int)", "create index {} on {} ({})", "create view {} as select 1",
    "drop table {}", "alter table {} rename {} to {}", "alter table t rename to {}",
    "alter table t drop {}", "{}",
]  # fmt: skip


def test_names_of_sql_that_are_keywords() -> None:
    """Keywords are names only where SQLite reads them so, and where nothing but a name can stand, most of them are."""
    grammar = BUNDLED["sql"].path.read_text()
    names = 0
    for keyword in sorted(set(re.findall('"([a-z_]+)"i', grammar))):
        for place in PLACES_OF_NAMES:
            text = place.replace("{}", keyword)
            is_valid = compiled("sql").is_valid(text.encode())
            assert not is_valid or is_read_by_sqlite(text), text
        names += compiled("sql").is_valid(f"select t.{keyword}, a as {keyword} from {keyword}".encode())
    assert names == 35


CORPUS = {
    "json": JSON_TEXTS,
    "sql": SQL_TEXTS,
    "python": [
        "def f(a, *b):\n    return {a: [x for x in b if f'x']}\n\nclass A:\n\t'''d'''\n\tpass\n",
        "match x:\n case 1:\n  y\n",
    ],
}
CLOSING = b"\n)]}\"': 1x;*/"


def completion(name: str, text: bytes, chance: random.Random) -> str | None:
    """Return a complete text with a prefix, found by random walks along masks; None if they find none."""
    for _ in range(40):
        matcher = compiled(name).matcher()
        assert matcher.accept_bytes(text)
        made = text
        for _ in range(40):
            allowed = matcher.allowed_ids().tolist()
            if BYTES.eos[0] in allowed:
                return made.decode()
            steps = [byte for byte in CLOSING if byte in allowed] or allowed
            made += bytes([chance.choice(steps)])
            matcher.accept(made[-1])
    return None


@pytest.mark.parametrize("name", CORPUS)
def test_masks_hold_what_bytes_lead_to_and_lark_completes(name: str) -> None:
    chance = random.Random(8)
    tokens, special = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, special=special, eos="<|endoftext|>")
    compiled_grammar = grammask.Grammar.bundled(name).compile(vocabulary)
    completed = tried = 0
    for text in CORPUS[name]:
        for place in chance.sample(range(len(text)), min(4, len(text))):
            prefix = text[:place].encode()
            matcher = compiled_grammar.matcher()
            assert matcher.accept_bytes(prefix)
            allowed = set(matcher.allowed_ids().tolist())
            ordinary = sorted(token for token in allowed if tokens[token])
            for token in chance.sample(range(100_000), 300) + chance.sample(ordinary, min(20, len(ordinary))):
                token_text = tokens[token] or b""
                assert (token in allowed) == matcher.fork().accept_bytes(token_text), (prefix, token_text)
            for token in chance.sample(ordinary, min(4, len(ordinary))):
                longer = prefix + (tokens[token] or b"")
                try:
                    longer.decode()
                except UnicodeDecodeError:
                    continue
                tried += 1
                found = completion(name, longer, chance)
                if found is not None:
                    completed += 1
                    assert may_have_lexical_rules(name, found) or is_parsed(name, found), found
    assert completed > tried * 0.6


def test_there_are_no_other_grammars() -> None:
    with pytest.raises(ValueError, match="python"):
        grammask.Grammar.bundled("cobol")
    assert {file.stem for file in BUNDLED["json"].path.parent.glob("*.lark")} == set(BUNDLED)
