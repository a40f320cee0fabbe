"""Making masks ahead: what is made, progress, stopping, errors."""

from __future__ import annotations

import grammask
import pytest
from grammask._grammask import embedded_vocabulary, encode_ordinary

VOCABULARY = grammask.Vocabulary([b"a", b"b", b"ab", b"(", b")", None], eos=5)


def compiled(text: str) -> grammask.CompiledGrammar:
    return grammask.Grammar.from_kbnf(text).compile(VOCABULARY)


def test_makes_all_masks_of_a_small_grammar() -> None:
    grammar = compiled('start ::= "ab" | "b";')
    assert grammar.precompute() == 3
    before = grammar.stats()
    matcher = grammar.matcher()
    matcher.fill_mask(mask := grammask.allocate_mask(1, VOCABULARY.size))
    assert mask.any()
    assert grammar.stats()["mask_misses"] == before["mask_misses"]


def test_stops_at_the_limit_and_reports() -> None:
    grammar = compiled('start ::= "(" start ")" | "a";')
    reports: list[tuple[int, int]] = []
    assert grammar.precompute(100, lambda done, known: reports.append((done, known))) == 100
    assert reports[0] == (0, 1)
    assert all(done < known <= 100 for done, known in reports)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_progress_can_stop_it() -> None:
    grammar = compiled('start ::= "(" start ")" | "a";')
    assert grammar.precompute(1000, lambda done, _: done < 32) == 32


def test_an_error_of_progress_comes_through() -> None:
    def fail(done: int, known: int) -> None:
        raise KeyError(done, known)

    with pytest.raises(KeyError):
        compiled('start ::= "ab";').precompute(progress=fail)


def test_a_vocabulary_that_keeps_nothing_makes_the_same_masks() -> None:
    forgetful = grammask.Vocabulary([b"a", b"b", b"ab", b"(", b")", None], eos=5)
    forgetful.set_cache_capacity(0)
    text = r'start ::= "(" start ")" | #r"[ab]+";'
    matchers = [compiled(text).matcher(), grammask.Grammar.from_kbnf(text).compile(forgetful).matcher()]
    for token in (3, 3, 0, 2, 4, 4, 5):
        kept, forgotten = (matcher.allowed_ids().tolist() for matcher in matchers)
        assert kept == forgotten
        assert all(matcher.accept(token) for matcher in matchers)
    assert VOCABULARY.cache_bytes > 0
    assert forgetful.cache_bytes < VOCABULARY.cache_bytes


SUMS = """
start: sum
?sum: product | sum "+" product
?product: atom | product "*" atom
atom: NAME | "(" sum ")" | NAME "[" sum "]"
NAME: /[ab]+/
%ignore " "
"""
SUM_TOKENS = [*b"ab+*()[] "]
SUM_VOCABULARY = grammask.Vocabulary(
    [*(bytes([byte]) for byte in SUM_TOKENS), b"a+", b")]", b"))+(", b"b[a", b"] *", None], eos=14
)
SUM_TEXTS = [b"a+(b*a[b+(a)])*b", b"((((a))))[", b"(a[(b)])+ab[a][", b"a[b[a[(((b)))+a]]] * b"]


def read_sums(compiled: grammask.CompiledGrammar) -> list[list[int]]:
    """Return the masks along some texts."""
    masks = []
    for text in SUM_TEXTS:
        matcher = compiled.matcher()
        for byte in text:
            masks.append(matcher.allowed_ids().tolist())
            if not matcher.accept(SUM_TOKENS.index(byte)):
                break
    return masks


def test_a_lexed_grammar_is_made_whole() -> None:
    grammar = grammask.Grammar.from_lark(SUMS)
    lazy, whole = (grammar.compile(SUM_VOCABULARY, cache=False) for _ in range(2))
    reports: list[tuple[int, int]] = []
    whole.precompute(progress=lambda done, known: reports.append((done, known)))
    assert reports[0] == (0, 1), "no state is known before the tokens are read"
    made = whole.stats()["masks_composed"]
    assert read_sums(whole) == read_sums(lazy)
    assert whole.stats()["masks_composed"] == made
    assert lazy.stats()["masks_composed"] > 1


def test_as_much_as_time_allows() -> None:
    grammar = grammask.Grammar.from_lark(SUMS)
    lazy, none, whole = (grammar.compile(SUM_VOCABULARY, cache=False) for _ in range(3))
    assert none.precompute(seconds=0) == 0
    done = whole.precompute(seconds=600)
    assert done == none.precompute()
    made = whole.stats()["masks_composed"]
    assert read_sums(whole) == read_sums(lazy)
    assert whole.stats()["masks_composed"] == made
    assert compiled('start ::= "(" start ")" | "a";').precompute(seconds=0) == 0


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_no_time_at_all(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        compiled('start ::= "ab";').precompute(seconds=seconds)


def test_a_lexed_grammar_in_part() -> None:
    grammar = grammask.Grammar.from_lark(SUMS)
    lazy, some = (grammar.compile(SUM_VOCABULARY, cache=False) for _ in range(2))
    assert some.precompute(2) == 2
    assert some.precompute(progress=lambda *_: False) == 0
    little = grammar.compile(SUM_VOCABULARY, cache=False, limits=grammask.Limits(memory_bytes=1 << 16))
    assert little.precompute() < lazy.precompute()
    assert read_sums(some) == read_sums(lazy) == read_sums(little)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python", "def f(a):\n    return [a, (1, 2)]\n\nclass A:\n    x = f(3)\n"),
        ("sql", "SELECT a, b FROM t WHERE (a = 1)"),
    ],
)
def test_bundled_grammars_in_part(name: str, text: str) -> None:
    tokens, special = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, special=special, eos=special["<|endoftext|>"])
    lazy, some, hurried = (grammask.Grammar.bundled(name).compile(vocabulary, cache=False) for _ in range(3))
    assert some.precompute(3) == 3
    hurried.precompute(seconds=0.1)
    matchers = [lazy.matcher(), some.matcher(), hurried.matcher()]
    for token in encode_ordinary("cl100k_base", text):
        assert len({matcher.mask().tobytes() for matcher in matchers}) == 1
        assert all(matcher.accept(token) for matcher in matchers)


def test_a_rule_of_thousands_of_symbols() -> None:
    """What is below the top of a stack is found far below."""
    text = f"start: long | long C\nlong: {'A ' * 3000} B\nA: 'a'\nB: 'b'\nC: 'c'\n".replace("'", '"')
    tokens = [b"a", b"b", b"c", b"aaaaaaaa", b"ab", b"bc", None]
    compiled = grammask.Grammar.from_lark(text).compile(grammask.Vocabulary(tokens, eos=6), cache=False)
    assert compiled.precompute() > 0
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b"a" * 2999)
    assert matcher.allowed_ids().tolist() == [0, 4]
    assert matcher.accept(4)
    assert matcher.allowed_ids().tolist() == [2, 6]


def test_states_of_terminals_come_first() -> None:
    """Whatever surrounds them: masks in a pattern behind many members cost no walk."""
    members = {f"m{number}": {"type": "integer"} for number in range(50)}
    schema = {
        "type": "object",
        "properties": {**members, "path": {"type": "string", "pattern": r"^[a-z]+(-[a-z]+)*\.php$"}},
        "required": ["path"],
    }
    vocabulary = grammask.Vocabulary.default()
    compiled = grammask.Grammar.from_json_schema(schema).compile(vocabulary, cache=False)
    compiled.precompute(60)
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b'{"path": "a-b')
    before = vocabulary.cache_bytes
    matcher.mask()
    assert vocabulary.cache_bytes - before < 1000
