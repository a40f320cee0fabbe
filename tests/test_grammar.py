"""``Grammar``: reading, compiling, checking, stages, limits, pickles."""

import pickle
from collections.abc import Callable
from contextlib import suppress

import pytest
from grammask import (
    Grammar,
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    Limits,
    UnsupportedGrammar,
    Vocabulary,
)
from grammask.integrations.serving import request_grammars

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], special={"<|end|>": 256}, eos=256)


def errors_of(make: Callable[[], object]) -> GrammarError:
    with pytest.raises(GrammarError) as error:
        make()
    return error.value


def test_reads_text_and_bytes() -> None:
    text = 'start ::= "é" | "你";'
    for source in (text, text.encode(), bytearray(text.encode())):
        grammar = Grammar.from_kbnf(source)  # type: ignore[arg-type]
        assert grammar.source == text
        matcher = grammar.compile(BYTES).matcher()
        assert matcher.accept_bytes("你".encode())
        assert matcher.is_complete


@pytest.mark.parametrize("text", [5, None, ["start"], 1.5, {}])
@pytest.mark.parametrize(
    "read",
    [
        Grammar.from_kbnf,
        Grammar.from_gbnf,
        Grammar.from_xgrammar_ebnf,
        Grammar.from_llguidance_lark,
        Grammar.from_regex,
        Grammar.literal,
        lambda text: Grammar.from_choices([text]),
    ],
)
def test_other_arguments_than_texts_are_type_errors(read: Callable[..., Grammar], text: object) -> None:
    with pytest.raises(TypeError, match=f"is .*str.*, not {type(text).__name__}"):
        read(text)


def test_choices_are_iterable() -> None:
    with pytest.raises(TypeError, match="choices are a list of texts, not int"):
        Grammar.from_choices(5)  # type: ignore[arg-type]


def test_is_made_by_its_methods_only() -> None:
    with pytest.raises(TypeError, match="from_kbnf"):
        Grammar()


def test_the_start_symbol_is_chosen() -> None:
    grammar = Grammar.from_kbnf('start ::= "a"; other ::= "b";', start="other")
    matcher = grammar.compile(BYTES).matcher()
    assert matcher.allowed_ids().tolist() == [ord("b")]


def test_an_error_has_a_code_a_place_and_help() -> None:
    error = errors_of(lambda: Grammar.from_kbnf('start ::= "a"\n  numbr "b"; number ::= "1";'))
    assert isinstance(error, GrammarSemanticError)
    assert isinstance(error, ValueError)
    assert error.code == "undefined-symbol"
    assert error.location == (2, 3)
    assert error.help is not None
    assert "number" in error.help
    (diagnostic, *_) = error.diagnostics
    assert diagnostic.severity == "error"
    assert diagnostic.span == (16, 21)
    assert "^^^^^" in diagnostic.rendered
    assert str(diagnostic) == diagnostic.rendered
    assert diagnostic.rendered in str(error)


def test_all_errors_are_reported_at_once() -> None:
    error = errors_of(lambda: Grammar.from_kbnf(r'start ::= "\q"; a ::= #"("; b ::= [A-Z];'))
    assert isinstance(error, GrammarSyntaxError)
    assert len([diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"]) >= 3
    places = [diagnostic.location for diagnostic in error.diagnostics if diagnostic.location]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "exception", "code"),
    [
        ('start ::= "a', GrammarSyntaxError, "unterminated-string"),
        ('start ::= "a"; (* open', GrammarSyntaxError, "unterminated-comment"),
        ("start ::= \xff;".encode("latin-1"), GrammarSyntaxError, "invalid-utf8"),
        ('a ::= "a";', GrammarSemanticError, "missing-start"),
        ("", GrammarSemanticError, "missing-start"),
        ('start ::= #"a(?=b)";', UnsupportedGrammar, "unsupported-regex"),
        ('start ::= "\ud800";', GrammarSyntaxError, "invalid-utf8"),
    ],
)
def test_classes_of_errors(text: str | bytes, exception: type[GrammarError], code: str) -> None:
    error = errors_of(lambda: Grammar.from_kbnf(text))
    assert type(error) is exception
    assert error.code == code


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("start ::= start;", {}, "empty-language"),
        ('start ::= "";', {"end": "eager"}, "only-empty-text"),
        ('start ::= "a" start;', {"finite": True}, "never-ends"),
        ("start ::= <|other|>;", {}, "unknown-token"),
        ("start ::= <[257]>;", {}, "unknown-token"),
    ],
)
def test_errors_of_compiling(text: str, options: dict[str, str], code: str) -> None:
    grammar = Grammar.from_kbnf(text)
    error = errors_of(lambda: grammar.compile(BYTES, **options))  # type: ignore[arg-type]
    assert isinstance(error, GrammarSemanticError)
    assert error.code == code


def test_texts_that_end_with_end_tokens_need_one() -> None:
    grammar = Grammar.from_kbnf('start ::= "a";')
    vocabulary = Vocabulary([b"a"])
    assert errors_of(lambda: grammar.compile(vocabulary)).code == "missing-end-token"
    assert grammar.compile(vocabulary, end="eager").end == "eager"
    with pytest.raises(ValueError, match='"eos", "eager"'):
        grammar.compile(vocabulary, end="late")  # type: ignore[arg-type]


def test_an_empty_text_may_end_at_once() -> None:
    matcher = Grammar.from_kbnf('start ::= "";').compile(BYTES).matcher()
    assert matcher.is_complete
    assert matcher.allowed_ids().tolist() == [256]


def test_check_finds_what_is_odd() -> None:
    grammar = Grammar.from_kbnf(
        'start ::= "a" | dead; dead ::= dead "x"; unused ::= "b"; endless ::= "c" endless;'
    )
    codes = {diagnostic.code for diagnostic in grammar.check()}
    assert {"unused-rule", "dead-rule"} <= codes
    assert all(diagnostic.severity == "warning" for diagnostic in grammar.check())
    assert Grammar.from_kbnf('start ::= "a";').check() == []


def test_stages_begin_with_the_grammar_itself() -> None:
    stages = Grammar.from_kbnf('start ::= "a"? {"b"} "c";').stages()
    names = [name for name, _ in stages]
    assert names[0] == "ir"
    assert "eliminate_nullable" in "".join(names).replace("-", "_").replace(" ", "_")
    assert all("start" in text for _, text in stages)


def test_a_grammar_can_be_pickled() -> None:
    grammar = Grammar.from_kbnf('begin ::= "é";', start="begin")
    again = pickle.loads(pickle.dumps(grammar))
    assert again.source == grammar.source
    assert again.compile(BYTES).matcher().accept_bytes("é".encode())


def test_repr_shows_the_first_line() -> None:
    assert repr(Grammar.from_kbnf('\nstart ::= A;\nA ::= "a";')) == "<Grammar 'start ::= A;'>"


def test_limits_are_values() -> None:
    limits = Limits(seconds=1.5, set_items=10)
    assert limits == Limits(seconds=1.5, set_items=10) != Limits()
    assert pickle.loads(pickle.dumps(limits)) == limits
    assert (limits.seconds, limits.set_items) == (1.5, 10)
    assert limits.memory_bytes == Limits().memory_bytes
    assert "set_items=10" in repr(limits)
    with pytest.raises(ValueError, match="seconds"):
        Limits(seconds=-1.0)
    with pytest.raises(ValueError, match="not -1"):
        Limits(memory_bytes=-1)


@pytest.mark.parametrize(
    "limits",
    [Limits(grammar_bytes=10), Limits(grammar_size=1), Limits(automaton_states=1), Limits(set_items=0)],
)
def test_passing_a_limit_is_an_error(limits: Limits) -> None:
    def use() -> None:
        grammar = Grammar.from_kbnf('start ::= "(" start ")" | #"[a-z]+" start | "x";', limits=limits)
        matcher = grammar.compile(BYTES, limits=limits).matcher()
        matcher.accept_bytes(b"((abc")
        matcher.allowed_ids()

    error = errors_of(use)
    assert isinstance(error, LimitExceeded)
    assert error.code == "limit-exceeded"


@pytest.mark.parametrize(
    "text",
    [
        "start ::= " + "(" * 10_000 + '"a"' + ")" * 10_000 + ";",
        "start ::= " + " | ".join(f'"{number}"' for number in range(30_000)) + ";",
        "start ::= " + '"a"? ' * 2_000 + '"b";',
        "start ::= " + "(" * 10_000,
        "(*" * 5_000,
        'start ::= A "x"; A ::= B; B ::= A;',
        "\0" * 1000,
    ],
    ids=["nesting", "alternatives", "optionals", "open-brackets", "open-comments", "cycle", "zeros"],
)
def test_hard_texts_get_an_answer(text: str) -> None:
    with suppress(GrammarError):
        grammar = Grammar.from_kbnf(text)
        grammar.compile(BYTES, end="eager").matcher().allowed_ids()


MARKED: dict[str, tuple[Callable[..., Grammar], str, str]] = {
    "kbnf": (Grammar.from_kbnf, 'start ::= "1";', 'start ::= "a" ) ;'),
    "gbnf": (Grammar.from_gbnf, 'root ::= "1"', 'root ::= "a" ;'),
    "ebnf": (Grammar.from_xgrammar_ebnf, 'root ::= "1"', 'root ::= "a" ;'),
    "lark": (Grammar.from_lark, 'start: "1"', 'start: "a" ;'),
    "llguidance": (Grammar.from_llguidance_lark, 'start: "1"', 'start: "a" ;'),
    "schema": (Grammar.from_json_schema, '{"const": 1}', '{"const": 1 ; }'),
    "tag": (
        Grammar.from_structural_tag,
        '{"type": "structural_tag", "format": {"type": "const_string", "value": "1"}}',
        '{"type": ; }',
    ),
    "format": (
        Grammar.from_response_format,
        '{"type": "json_schema", "schema": {"const": 1}, "name": "n"}',
        '{"type": ; }',
    ),
    "request": (request_grammars.grammar_text, 'root ::= "1"', 'root ::= "a" ;'),
}


@pytest.mark.parametrize("notation", MARKED)
def test_a_byte_order_mark_is_ignored(notation: str) -> None:
    read, text, wrong = MARKED[notation]
    assert read("\ufeff" + text).compile(BYTES).is_valid(b"1")
    if notation not in ("lark", "request"):
        assert read(b"\xef\xbb\xbf" + text.encode()).compile(BYTES).is_valid(b"1")
    messages = []
    for mark in ("", "\ufeff"):
        with pytest.raises(GrammarError) as caught:
            read(mark + wrong)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_options_after_a_byte_order_mark_are_read() -> None:
    schema = '\ufeff{"x-grammask": {"whitespace": "compact"}, "const": [1]}'
    assert not Grammar.from_json_schema(schema).compile(BYTES).is_valid(b"[ 1 ]")
    documents = {"https://example.org/a": '\ufeff{"const": 1}'}
    grammar = Grammar.from_json_schema({"$ref": "https://example.org/a"}, resolver=documents.get)
    assert grammar.compile(BYTES).is_valid(b"1")


def test_a_byte_order_mark_of_an_expression_or_a_choice_is_a_character() -> None:
    for grammar in (Grammar.from_regex("\ufeffa"), Grammar.from_choices(["\ufeffa"])):
        compiled = grammar.compile(BYTES)
        assert compiled.is_valid("\ufeffa".encode())
        assert not compiled.is_valid(b"a")
