"""The view of a matcher for notebooks."""

import pytest
from grammask import Grammar, Vocabulary

pytest.importorskip("anywidget")

TOKENS = [b"[", b"]", b"1", b"12", b", ", b"<", b"\xc3", b"\xa9", None]
COMPILED = Grammar.from_kbnf(
    'start ::= "[" [ item { ", " item } ] "]"; item ::= start | #"[0-9<é]+";'
).compile(Vocabulary(TOKENS, eos=8))


def test_a_text_is_shown_as_tokens_with_the_next_ones():
    from grammask.integrations.anywidget import MatcherView

    view = MatcherView(COMPILED, "[12")
    assert '<span class="grammask-token">[</span><span class="grammask-token">12</span>' in view.html
    assert "6 of 9 tokens can come next" in view.html
    view.text = "[1é"
    assert '<span class="grammask-token">\\xc3</span>' in view.html
    assert "does not fit" not in view.html


def test_the_part_that_does_not_fit_is_marked_and_escaped():
    from grammask.integrations.anywidget import MatcherView

    view = MatcherView(COMPILED)
    assert "1 of 9 tokens can come next: <code>[</code>" in view.html
    view.text = "[1<x & y"
    assert '<span class="grammask-wrong">x &amp; y</span>' in view.html
    assert "byte 3 does not fit" in view.html
    assert "<code>&lt;</code>" in view.html
    view.text = "[1]"
    assert "complete" in view.html


def test_many_next_tokens_are_shown_in_part():
    from grammask.integrations.anywidget import MatcherView

    bytes_only = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    view = MatcherView(Grammar.from_regex("(?s-u:.)*", syntax="rust").compile(bytes_only))
    assert "… 197 more" in view.html
    assert len(view.html) < 5_000
