"""One deadline and one count of memory for all that a request does, readers in Python included.

Without the limits, these inputs take minutes or gigabytes, or never return.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import grammask
import pytest
from grammask import Grammar, LimitExceeded, Limits, Vocabulary
from grammask.texts import markdown_answer
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_SECOND = Limits(seconds=1)
MAX_CPU_SECONDS = 5
"""Of a call with one second: checks are milliseconds apart, but the machine is shared and the build unoptimised."""

MEGABYTE = 1 << 20

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)
SMALL = Vocabulary([*(bytes([byte]) for byte in range(256)), b"ab", b"aa", b'{"', b'":', None], eos=260)

MANY_PARAMETERS = 'start: p::0\np::_ : "" %if is_ones([0:18])\n' + "".join(
    f'     | "{chr(97 + bit)}" p::set_bit({bit}) %if bit_clear({bit})\n' for bit in range(18)
)
MANY_FENCES = {
    "type": "markdown_answer",
    "code": ["python", "sql", "javascript", "go", "java", "c"],
    "fences": ["```", "````", "~~~", "`````", "~~~~"],
    "max_indent": 8,
    "max_quotations": 3,
}


def nested_array(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def ends_in_time(call: Callable[[], object], error: type[Exception] = LimitExceeded) -> None:
    begin = time.process_time()
    with pytest.raises(error):
        call()
    assert time.process_time() - begin < MAX_CPU_SECONDS


def test_messages_name_limits_as_python_does() -> None:
    with pytest.raises(LimitExceeded, match=r"`seconds` of 0\.001\n(.*\n)*.*`Limits\.seconds`"):
        Grammar.from_json_schema({"enum": list(range(200_000))}, limits=Limits(seconds=0.001))
    with pytest.raises(LimitExceeded, match=r"`grammar_bytes` of 3 bytes\n(.*\n)*.*`Limits\.grammar_bytes`"):
        Grammar.from_kbnf('start ::= "a";', limits=Limits(grammar_bytes=3))


def test_rules_with_parameters_obey_the_deadline() -> None:
    ends_in_time(lambda: Grammar.from_llguidance_lark(MANY_PARAMETERS, limits=ONE_SECOND))
    form = {"type": "grammar", "syntax": "lark", "definition": MANY_PARAMETERS}
    ends_in_time(lambda: Grammar.from_response_format(form, limits=ONE_SECOND))


def test_answers_in_markdown_obey_the_deadline() -> None:
    ends_in_time(lambda: Grammar.from_response_format(MANY_FENCES, limits=ONE_SECOND))
    tag = {"type": "structural_tag", "format": MANY_FENCES}
    with pytest.raises(LimitExceeded) as caught:
        Grammar.from_structural_tag(tag, limits=ONE_SECOND)
    assert caught.value.pointer == "#/format"


def test_tools_share_the_deadline() -> None:
    parameters = {
        "type": "object",
        "properties": {f"p{index}": {"type": ["string", "null"], "maxLength": 100} for index in range(20)},
    }
    tools = [
        {
            "type": "function",
            "function": {"name": f"f{index}", "parameters": parameters | {"title": str(index)}},
        }
        for index in range(1_000)
    ]
    ends_in_time(lambda: Grammar.from_tools(tools, style="qwen3_coder", limits=Limits(seconds=0.5)))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('start: a{"x"}\na{x}: x | a{b{x}}\nb{x}: x x\n', id="endless templates"),
        pytest.param("start: " + " ".join(['("a" | "b")'] * 24), id="2^24 alternatives"),
    ],
)
def test_expansions_of_lark_obey_the_deadline(text: str) -> None:
    pytest.importorskip("lark")
    ends_in_time(lambda: Grammar.from_lark(text, limits=ONE_SECOND))


def test_parts_are_built_within_the_limits_of_compiling() -> None:
    part = Grammar.from_choices(["a", "b"])
    for index in range(20_000):
        part = (part + f"{index}") if index % 2 else (part | f"{index}")
    ends_in_time(lambda: part.compile(BYTES, limits=Limits(seconds=0.01), cache=False))


def test_an_inner_reader_has_no_more_time_than_the_outer_one() -> None:
    inner = Limits(seconds=60)
    read = lambda: Grammar.from_regex("a+", limits=inner)  # noqa: E731
    assert grammask._grammask.within_limits(None, read).digest() == read().digest()
    with pytest.raises(LimitExceeded, match="`seconds` of 0"):
        grammask._grammask.within_limits(Limits(seconds=0), lambda: Grammar.from_kbnf(
            'start ::= "a";', limits=inner
        ))  # fmt: skip
    assert Grammar.from_kbnf('start ::= "a";', limits=inner).compile(BYTES).is_valid(b"a")


def test_grammars_that_are_shared_recover_from_an_exceeded_limit() -> None:
    matcher = markdown_answer(["go"], other="refuse").compile(BYTES, cache=False).matcher()
    # The tables of the language are made when a text first reaches it.
    code = b"```go\npackage main\n"
    with pytest.raises(LimitExceeded):
        grammask._grammask.within_limits(Limits(seconds=0), lambda: matcher.accept_bytes(code))
    assert matcher.accept_bytes(code)


def test_long_completions_over_small_vocabularies() -> None:
    matcher = Grammar.from_json_schema({"const": nested_array(100)}).compile(SMALL).matcher()
    assert matcher.accept_bytes(b"[[")
    assert matcher.shortest_completion().text == b"[" * 98 + b"1" + b"]" * 100
    words = Grammar.from_regex("(?i)" + "abcdefghij" * 500).compile(SMALL, cache=False).matcher()
    begin = time.process_time()
    assert words.shortest_completion().text.lower() == b"abcdefghij" * 500
    assert time.process_time() - begin < MAX_CPU_SECONDS


def test_budgets_over_small_vocabularies_take_little_work() -> None:
    pieces = [
        b'", ',
        b": ",
        b'{"',
        b"null",
        b'": ',
        b'"',
        b"true",
        b', "',
        b"ab",
        b"the",
        b'":',
        b"[]",
        b"{}",
    ]
    texts = [*(bytes([byte]) for byte in range(256)), *pieces]
    vocabulary = Vocabulary([*texts, None], eos=len(texts))
    compiled = Grammar.from_json_schema({"type": "object", "minProperties": 3}).compile(vocabulary)
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b'{"')
    begin = time.process_time()
    matcher.budget = matcher.tokens_to_finish + 2
    assert len(matcher.allowed_ids())
    assert time.process_time() - begin < MAX_CPU_SECONDS


def test_searches_for_ambiguous_texts_obey_the_deadline() -> None:
    schema = {"properties": {f"p{index}": {"type": "integer"} for index in range(10_000)}}
    grammar = Grammar.from_json_schema(schema)
    begin = time.process_time()
    assert grammar.ambiguity(ONE_SECOND).ambiguity is None
    assert time.process_time() - begin < MAX_CPU_SECONDS


def overlapping_terminals(count: int) -> str:
    names = [f"T{index}" for index in range(count)]
    patterns = [chr(97 + index % 26) + chr(97 + index // 26) for index in range(count)]
    terminals = [
        f'{name} ::= #"[a-z]*{pattern}[a-z]*";' for name, pattern in zip(names, patterns, strict=True)
    ]
    return f"%terminal {','.join(names)};start ::= {{{'|'.join(names)}}};{''.join(terminals)}"


def test_checks_of_lexers_obey_the_deadline() -> None:
    grammar = Grammar.from_kbnf(overlapping_terminals(80), lexer="basic")
    ends_in_time(lambda: grammar.check(ONE_SECOND))


MEMORY_CASES = {
    "overlapping terminals of a lexer": f"""
        grammar = Grammar.from_kbnf({overlapping_terminals(80)!r}, lexer="basic")
        call = lambda: grammar.compile(vocabulary, limits=limits)
    """,
    "rules with parameters": f"""
        call = lambda: Grammar.from_llguidance_lark({MANY_PARAMETERS!r}, limits=limits)
    """,
    "budgets of answers in Markdown": """
        grammar = markdown_answer(["python", "sql"], fences=["```", "````"], max_indent=8, max_quotations=3)
        compiled = grammar.compile(vocabulary, limits=limits)
        call = lambda: compiled.matcher(max_tokens=100)
    """,
    **{
        f"completions of {schema}": f"""
            grammar = Grammar.from_json_schema({schema!r})
            call = grammar.compile(vocabulary, limits=limits).matcher().shortest_completion
        """
        for schema in (
            {"type": "string", "minLength": 10**9},
            {"type": "array", "items": {"type": "array"}, "minItems": 10**9},
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 10**5},
            {"type": "object", "minProperties": 10**4},
        )
    },
    "searches for ambiguous texts": """
        schema = {"properties": {f"p{index}": {"type": "integer"} for index in range(10_000)}}
        grammar = Grammar.from_json_schema(schema)
        call = lambda: grammar.ambiguity(limits)
    """,
}
"""Calls that allocate gigabytes, with their preparation."""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is measured in the units of Linux")
@pytest.mark.parametrize("prepare", MEMORY_CASES.values(), ids=MEMORY_CASES)
def test_memory_is_within_twice_the_limit(prepare: str) -> None:
    limit = 64 * MEGABYTE
    program = f"""
import resource
import grammask
from grammask import Grammar, Limits, Vocabulary
from grammask.texts import markdown_answer
limits = Limits(memory_bytes={limit}, seconds=20)
vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)
{textwrap.dedent(prepare)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    call()
except grammask.LimitExceeded:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(run.stdout) * 1024 < 2 * limit


@given(st.data())
def test_mask_and_accept_agree_on_bound_texts(data: st.DataObject) -> None:
    """Whatever a mask allows is accepted, and where a token exceeds the bound the mask raises too."""
    texts = data.draw(st.lists(st.text("ab,x", min_size=1, max_size=6), min_size=1, max_size=6, unique=True))
    tokens = [*"abx,", *texts]
    vocabulary = Vocabulary([*(text.encode() for text in tokens), None], eos=len(tokens))
    limits = Limits(bound_bytes=data.draw(st.integers(0, 8)))
    text = data.draw(
        st.sampled_from(
            [
                'start ::= bind!(x, #"[ab]+") "," same!(x);',
                'start ::= "x"* bind!(x, #"[ab]*") "," other!(x, #"[ab]+");',
                'start ::= bind!(x, #"a[ab]*") ("," bind!(y, #"[bx]*") "," same!(y))? "," same!(x);',
            ]
        )
    )
    matcher = Grammar.from_kbnf(text).compile(vocabulary, limits=limits, cache=False).matcher()
    for _ in range(data.draw(st.integers(1, 12))):
        if matcher.is_finished:
            return
        try:
            allowed: set[int] | None = set(matcher.allowed_ids().tolist())
        except LimitExceeded:
            allowed = None
        except grammask.DeadEnd:
            return
        accepted, exceeding = set(), set()
        for token in range(len(tokens) + 1):
            fork = matcher.fork()
            try:
                if fork.accept(token):
                    accepted.add(token)
            except LimitExceeded:
                exceeding.add(token)
        assert (allowed is None) == bool(exceeding)
        assert allowed is None or accepted == allowed
        if not accepted:
            return
        assert matcher.accept(data.draw(st.sampled_from(sorted(accepted))))
