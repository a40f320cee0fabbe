"""Random grammars, vocabularies and walks: the mask is what is accepted, and taking back is as if it never happened.

The short profile runs with the other tests. ``GRAMMASK_PROFILE=long`` runs many more examples.
"""

from typing import Any

import numpy as np
from case_counts import LONG, by_profile
from grammask import DeadEnd, Grammar, GrammarError, Matcher, Vocabulary, allocate_mask, fill_masks
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

PROFILE = settings(
    max_examples=by_profile(120, 20_000),
    deadline=None,
    derandomize=not LONG,
    suppress_health_check=list(HealthCheck),
)

NAMES = ["start", "A", "B", "C"]
TEXTS = ["a", "b", "ab", "ba", "c", "", "é", "\n"]
LEAVES = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(TEXTS).map(lambda text: '"' + text.replace("\n", "\\n") + '"'),
    st.sampled_from(
        [
            '#"[ab]+"',
            '#"a*"',
            '#"(ab|c)?"',
            '#r"[^a]"',
            '#r"\\w{1,3}"',
            '#e"[abc]*b"',
            '#e".*ab"',
            '#ex"ab"',
            '#ex"^a|c$"',
            '#substrs"abé"',
            'except!("a" | "bc")',
            'except!("c", 2)',
            "any!",
            "<|x|>",
            "<[0]>",
        ]
    ),
)


def _larger(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(bodies, min_size=2, max_size=3).map(" ".join),
        st.lists(bodies, min_size=2, max_size=3).map(lambda parts: f"({' | '.join(parts)})"),
        bodies.map(lambda body: f"[{body}]"),
        bodies.map(lambda body: f"{{{body}}}"),
        st.tuples(bodies, st.sampled_from(["?", "*", "+", "{2}", "{1,3}", "{2,}", "{,2}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    )


BODIES = st.recursive(LEAVES, _larger, max_leaves=5)
GRAMMARS = st.lists(BODIES, min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda bodies: "\n".join(f"{name} ::= {body};" for name, body in zip(NAMES, bodies, strict=True))
)
TOKENS = st.lists(
    st.one_of(
        st.text("abc\né", max_size=4).map(str.encode),
        st.binary(max_size=2),
        st.sampled_from([b"\xc3", b"\xa9", b"a\xc3", b"\xa9b"]),
        st.none(),
    ),
    min_size=1,
    max_size=24,
).map(lambda tokens: [b"a", b"b", b"c", *tokens])
ENDS = st.sampled_from(["eos", "eager"])


def make_matcher(text: str, tokens: list[bytes | None], end: Any) -> tuple[Matcher, int]:
    """Return a matcher and the size of its vocabulary, which has one special token and one end token more."""
    size = len(tokens) + 2
    vocabulary = Vocabulary([*tokens, None, None], special={"<|x|>": size - 1}, eos=size - 2, size=size + 3)
    try:
        compiled = Grammar.from_kbnf(text).compile(vocabulary, end=end)
    except GrammarError as error:
        event(error.code)
        assume(False)  # noqa: FBT003
        raise
    return compiled.matcher(), size + 3


def accepted(matcher: Matcher, size: int) -> list[int]:
    """Return the tokens that a fork accepts, each tried on its own."""
    return [token for token in range(size) if matcher.fork().accept(token)]


def mask(matcher: Matcher, size: int) -> list[int]:
    words = allocate_mask(1, size)
    try:
        matcher.fill_mask(words)
    except DeadEnd:
        event("dead end")
        return []
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def view(matcher: Matcher, size: int) -> tuple[Any, ...]:
    """Return everything that can be seen of a matcher."""
    return (
        mask(matcher, size),
        matcher.is_complete,
        matcher.is_finished,
        matcher.step_count,
        matcher.tokens,
        matcher.describe_set(),
    )


@PROFILE
@given(GRAMMARS, TOKENS, ENDS, st.data())
def test_the_mask_is_what_is_accepted(
    text: str, tokens: list[bytes | None], end: str, data: st.DataObject
) -> None:
    matcher, size = make_matcher(text, tokens, end)
    for _ in range(data.draw(st.integers(1, 8), "steps")):
        allowed = accepted(matcher, size)
        assert mask(matcher, size) == allowed
        if not matcher.is_finished:
            assert [token for token in range(size) if matcher.is_allowed(token)] == allowed
        assert [token for token in range(size) if matcher.explain(token).is_allowed] == allowed
        if not allowed:
            return
        assert matcher.accept(data.draw(st.sampled_from(allowed), "token"))


@PROFILE
@given(GRAMMARS, TOKENS, ENDS, st.data())
def test_taking_back_is_as_if_it_never_happened(
    text: str, tokens: list[bytes | None], end: str, data: st.DataObject
) -> None:
    matcher, size = make_matcher(text, tokens, end)
    fresh = matcher.fork()
    history = [view(matcher, size)]
    forks: list[tuple[Matcher, tuple[Any, ...]]] = []
    for _ in range(data.draw(st.integers(1, 12), "steps")):
        match data.draw(
            st.sampled_from(["accept", "refuse", "rollback", "fork", "bytes", "reset", "validate"])
        ):
            case "accept" if history[-1][0]:
                assert matcher.accept(data.draw(st.sampled_from(history[-1][0])))
                history.append(view(matcher, size))
            case "refuse":
                token = data.draw(st.integers(0, size - 1))
                if token not in history[-1][0]:
                    assert not matcher.accept(token)
            case "rollback":
                count = data.draw(st.integers(0, len(history) - 1))
                matcher.rollback(count)
                del history[len(history) - count :]
            case "fork":
                forks.append((matcher.fork(), history[-1]))
            case "bytes":
                written = data.draw(st.sampled_from([b"a", b"ab", b"\xc3", b"\xa9", b"zz"]))
                if matcher.accept_bytes(written):
                    history.append(view(matcher, size))
            case "reset":
                matcher.reset()
                del history[1:]
            case "validate":
                draft = data.draw(st.lists(st.integers(0, size - 1), max_size=4))
                fork = matcher.fork()
                fits = next((i for i, token in enumerate(draft) if not fork.accept(token)), len(draft))
                assert matcher.validate(draft) == fits
        assert view(matcher, size) == history[-1]
    for fork, expected in forks:
        assert view(fork, size) == expected
    assert view(fresh, size) == history[0]


@PROFILE
@given(GRAMMARS, TOKENS, st.data())
def test_batches_are_single_masks(text: str, tokens: list[bytes | None], data: st.DataObject) -> None:
    matcher, size = make_matcher(text, tokens, "eos")
    matchers = [matcher]
    for _ in range(3):
        allowed = accepted(matchers[-1], size)
        if not allowed:
            break
        matchers.append(matchers[-1].fork())
        matchers[-1].accept(data.draw(st.sampled_from(allowed)))
    matchers = [matcher for matcher in matchers if accepted(matcher, size)]
    rows = data.draw(st.permutations(range(len(matchers))))
    batch = allocate_mask(len(matchers), size)
    fill_masks(matchers, batch, list(rows))
    single = allocate_mask(1, size)
    for matcher, row in zip(matchers, rows, strict=True):
        matcher.fill_mask(single)
        assert (batch[row] == single[0]).all()


@PROFILE
@given(GRAMMARS, TOKENS, st.data())
def test_forced_text_is_forced(text: str, tokens: list[bytes | None], data: st.DataObject) -> None:
    matcher, size = make_matcher(text, tokens, "eos")
    for _ in range(data.draw(st.integers(0, 3))):
        allowed = accepted(matcher, size)
        if not allowed:
            return
        matcher.accept(data.draw(st.sampled_from(allowed)))
    fork = matcher.fork()
    for token in matcher.forced_tokens(limit=5):
        assert accepted(fork, size) == [token]
        assert fork.accept(token)
    forced = matcher.forced_bytes(limit=8)
    for length in range(len(forced)):
        fork = matcher.fork()
        if fork.accept_bytes(forced[:length]):
            others = [byte for byte in range(256) if byte != forced[length]]
            assert not fork.is_complete
            assert not any(fork.fork().accept_bytes(bytes([byte])) for byte in others)


@PROFILE
@given(st.text() | st.text('start::=;|"#ex(){}[]?*+, \\ab<>!r\n', max_size=40) | st.binary())
def test_any_text_gets_an_answer(text: str | bytes) -> None:
    try:
        grammar = Grammar.from_kbnf(text)
        grammar.stages()
    except GrammarError as error:
        assert error.diagnostics  # noqa: PT017
        assert error.code in str(error)  # noqa: PT017
