"""Forced bytes and forced tokens, with a real tokenizer."""

from functools import partial

import pytest
from grammask import Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary, encode_ordinary

encode = partial(encode_ordinary, "cl100k_base")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens, special = embedded_vocabulary("cl100k_base")
    return Vocabulary(tokens, special=special, eos="<|endoftext|>")


def forced(vocabulary: Vocabulary, grammar: str) -> list[str]:
    tokens = Grammar.from_kbnf(grammar).compile(vocabulary).matcher().forced_tokens(encode)
    return [(vocabulary.token(token) or b"").decode() for token in tokens]


def test_all_of_a_text_that_ends(vocabulary: Vocabulary) -> None:
    text = 'def main() -> None:\\n    print("你好, world")\\n'
    grammar = f"start ::= '{text}';"
    matcher = Grammar.from_kbnf(grammar).compile(vocabulary).matcher()
    plain = text.replace("\\n", "\n")
    assert matcher.forced_bytes() == plain.encode()
    assert matcher.forced_tokens(encode) == encode(plain)
    assert matcher.forced_tokens(encode, limit=3) == encode(plain)[:3]
    # Without a tokenizer nothing is known: every prefix of the text may be a token.
    assert matcher.forced_tokens() == []


def test_tokens_that_may_change_are_left_out(vocabulary: Vocabulary) -> None:
    # `":` may become `":"`, `":[` and others, and a space may belong to the next word.
    assert forced(vocabulary, """start ::= '{"name":' #'"[a-z]*"' '}';""") == ['{"', "name"]
    assert forced(vocabulary, """start ::= 'The answer is ' ("yes" | "no");""") == ["The", " answer", " is"]
    assert forced(vocabulary, """start ::= 'The answer is' (" yes" | "n't");""") == ["The", " answer"]
    # Nothing that may follow continues a token here.
    assert forced(vocabulary, """start ::= 'The answer is' ("\\u0001" | "\\u0002");""")[:2] == [
        "The",
        " answer",
    ]


def test_tokenizers_may_fail_and_may_not_fit(vocabulary: Vocabulary) -> None:
    matcher = Grammar.from_kbnf('start ::= "hello";').compile(vocabulary).matcher()
    with pytest.raises(KeyError):
        matcher.forced_tokens(partial(encode_ordinary, "no such vocabulary"))
    with pytest.raises(TypeError):
        matcher.forced_tokens(lambda text: [text])  # type: ignore[list-item]
    assert matcher.forced_tokens(lambda _: [-1, 1 << 40]) == []
    assert matcher.forced_tokens(lambda _: encode("good bye")) == []
    assert matcher.forced_tokens(lambda text: encode(text + " world")) == encode("hello")
