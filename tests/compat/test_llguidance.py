"""The module for llguidance: alone, and, if llguidance 1.9.1 is installed, call by call against it."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from grammask import Grammar, Vocabulary
from grammask.compat import llguidance as ours
from grammask.compat.llguidance import numpy as our_numpy

if TYPE_CHECKING:
    from types import ModuleType

TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    b"ab",
    b"abc",
    b'{"',
    b'":',
    b"true",
    b"12",
    b"</s>",
    b"<tool>",
]
END, TOOL = 262, 263


class Split:
    """A tokenizer of bytes, as TokenizerWrapper wants it."""

    eos_token_id = END
    bos_token_id = None
    tokens = TOKENS
    special_token_ids = (END, TOOL)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


def theirs() -> ModuleType:
    if importlib.util.find_spec("llguidance") is None or importlib.metadata.version("llguidance") != "1.9.1":
        pytest.skip("llguidance 1.9.1 is not installed")
    return importlib.import_module("llguidance")


def tokenizer(module: ModuleType) -> Any:
    return module.LLTokenizer(module.TokenizerWrapper(Split()))


def modules() -> list[ModuleType]:
    return [ours, theirs()]


def legal(matcher: Any) -> list[int]:
    bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def state(matcher: Any) -> tuple[Any, ...]:
    return (matcher.is_error(), matcher.is_accepting(), matcher.is_stopped(), matcher.stop_reason())


def test_imports_no_other_library() -> None:
    code = (
        "import sys, grammask.compat.llguidance, grammask.compat.llguidance.torch, grammask.compat.llguidance.hf;"
        "print({'torch', 'llguidance', 'transformers', 'tokenizers', 'tiktoken'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )


def test_states_as_theirs() -> None:
    for regex, texts in (("ab?", ["a", "b", "</s>"]), ("ab|abc", ["ab", "</s>"]), ("[0-9]*", ["1", "</s>"])):
        made = [
            module.LLMatcher(tokenizer(module), module.LLMatcher.grammar_from_regex(regex))
            for module in modules()
        ]
        for text in texts:
            token = TOKENS.index(text.encode())
            assert made[0].validate_tokens([token, END, END]) == made[1].validate_tokens([token, END, END])
            assert [matcher.consume_token(token) for matcher in made] == [True, True]
            assert state(made[0]) == state(made[1])
        assert [matcher.rollback(1) for matcher in made] == [True, True]
        assert state(made[0]) == state(made[1])
        assert [matcher.reset() for matcher in made] == [True, True]
        assert state(made[0]) == state(made[1])


@pytest.mark.parametrize(
    "grammar",
    [
        ("regex", "(ab|abc|[0-9])*x?"),
        ("regex", r"\w+ \d{2}"),
        ("choice", '["ab", "abc", "12"]'),
        ("json", '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'),
        ("json", '{"type": "array", "items": {"enum": ["ab", 12]}}'),
        (
            "json",
            '{"x-guidance": {"whitespace_flexible": false}, "type": "object", "properties": {"a": {"const": 1}}}',
        ),
    ],
)
def test_verdicts_as_theirs(grammar) -> None:
    made = [module.LLMatcher(tokenizer(module), module.grammar_from(*grammar)) for module in modules()]
    for seed in range(15):
        chance = random.Random(seed)
        for matcher in made:
            matcher.reset()
        for _ in range(15):
            assert state(made[0]) == state(made[1])
            if made[0].is_stopped():
                break
            mine, yours = (set(legal(matcher)) for matcher in made)
            # A token alone in theirs is forced, among others that are legal; theirs knows fewer spellings of JSON.
            if len(yours) > 1 and grammar[0] != "json":
                assert mine == yours
            assert yours <= mine
            token = chance.choice(sorted(yours))
            assert [matcher.consume_token(token) for matcher in made] == [True, True]
            if chance.random() < 0.2:
                assert [matcher.rollback(1) for matcher in made] == [True, True]


def test_errors_as_theirs() -> None:
    for module in modules():
        matcher = module.LLMatcher(tokenizer(module), module.LLMatcher.grammar_from_regex("ab"))
        assert matcher.try_consume_tokens([97, 99]) == 1
        assert not matcher.is_error()
        assert not matcher.consume_tokens([97])
        assert state(matcher) == (True, False, True, "InternalError")
        assert matcher.get_error()
        assert (matcher.consume_token(97), matcher.validate_tokens([97]), matcher.compute_ff_tokens()) == (
            False,
            0,
            [],
        )
        assert (matcher.rollback(1), matcher.reset()) == (False, False)
        for wrong in ("start", '{"type": "null"}', "(", '{"grammars": []}'):
            assert module.LLMatcher(tokenizer(module), wrong).is_error()
            assert module.LLMatcher.validate_grammar(wrong)
        assert module.LLMatcher.validate_grammar(module.grammar_from("regex", "a")) == ""
        outside = module.LLMatcher(tokenizer(module), module.grammar_from("regex", "a"))
        assert not outside.consume_token(100_000)
        assert "out of range" in outside.get_error()


def test_an_error_is_no_end_of_text() -> None:
    matcher = ours.LLMatcher(tokenizer(ours), ours.grammar_from("regex", "ab"))
    assert not matcher.consume_token(98)
    assert legal(matcher) == []
    assert legal(ours.LLMatcher(tokenizer(ours), "(")) == []


def test_forced_tokens_and_copies() -> None:
    for module in modules():
        matcher = module.LLMatcher(tokenizer(module), module.grammar_from("regex", "xyz(1|2)"))
        assert matcher.compute_ff_tokens() == list(b"xyz")
        assert matcher.compute_ff_bytes() == b"xyz"
        copy = matcher.deep_copy()
        assert copy.consume_tokens(list(b"xyz"))
        assert sorted(legal(copy)) == [49, 50]
        assert set(copy.compute_logit_bias()) == {0, 200}
        assert len(copy.compute_logit_bias()) == len(TOKENS)
        assert matcher.compute_ff_bytes() == b"xyz"


def test_masks_in_arrays_as_theirs() -> None:
    for module in modules():
        arrays = importlib.import_module(f"{module.__name__}.numpy")
        made = [
            module.LLMatcher(tokenizer(module), module.grammar_from("regex", text))
            for text in ("[ab]c?", "1|2")
        ]
        executor = module.LLExecutor()
        bitmask = arrays.allocate_token_bitmask(5, len(TOKENS))
        assert bitmask.shape == arrays.get_bitmask_shape(5, len(TOKENS))
        arrays.fill_next_token_bitmask_par(executor, [(made[0], 3), (made[1], 1)], bitmask)
        assert (bitmask[[0, 2, 4]] == -1).all()
        assert np.flatnonzero(np.unpackbits(bitmask[1].view(np.uint8), bitorder="little")).tolist() == [
            49,
            50,
        ]
        alone = arrays.allocate_token_bitmask(1, len(TOKENS))
        arrays.fill_next_token_bitmask(made[0], alone)
        assert (alone[0] == bitmask[3]).all()
        for draft, filled in (([97, 99, 98], 3), ([97, END, 98], 2), ([98], 2), ([99], 1)):
            rows = arrays.allocate_token_bitmask(5, len(TOKENS))
            arrays.fill_next_token_bitmask_par_with_draft_tokens(executor, [(made[0], 1, draft)], rows)
            assert (rows[0] == -1).all()
            assert (rows[1] == alone[0]).all()
            assert not (rows[1 : 1 + filled] == -1).all(axis=1).any()
            at_address = arrays.allocate_token_bitmask(5, len(TOKENS))
            executor.unsafe_compute_mask_ptr_with_draft_token(
                [(made[0], 1, draft)], at_address.ctypes.data, 4 * at_address.shape[1], 5
            )
            assert (at_address == rows).all()
            with pytest.raises(ValueError, match=r"[Bb]uffer size"):
                executor.unsafe_compute_mask_ptr_with_draft_token(
                    [(made[0], 1, draft)], at_address.ctypes.data, 4, 5
                )
        logits = np.zeros((1, 300), np.float32)
        arrays.apply_token_bitmask_inplace(logits, alone)
        assert np.flatnonzero(logits[0] == 0).tolist() == [97, 98]
        assert arrays.consume_token_par(executor, [(made[0], 97), (made[1], 97)]) == [True, False]
        wrong = np.zeros((1, 2), np.int32)
        with pytest.raises(ValueError):  # noqa: PT011 - each says it in its own words
            arrays.fill_next_token_bitmask(made[0], wrong)


def test_masks_in_tensors() -> None:
    torch = pytest.importorskip("torch")
    from grammask.compat.llguidance import torch as tensors

    matcher = ours.LLMatcher(tokenizer(ours), ours.grammar_from("regex", "a|b"))
    bitmask = tensors.allocate_token_bitmask(2, len(TOKENS))
    tensors.fill_next_token_bitmask(matcher, bitmask, 1)
    logits = torch.zeros(2, len(TOKENS))
    tensors.apply_token_bitmask_inplace(logits, bitmask)
    assert torch.nonzero(logits[1] == 0).flatten().tolist() == [97, 98]
    assert (logits[0] == 0).all()
    matcher.unsafe_compute_mask_ptr(bitmask[0].data_ptr(), bitmask.shape[1] * 4)
    assert torch.equal(bitmask[0], bitmask[1])
    with pytest.raises(ValueError, match="Invalid buffer size"):
        matcher.unsafe_compute_mask_ptr(bitmask[0].data_ptr(), 4)


def test_tokenizers_as_theirs() -> None:
    made = [tokenizer(module) for module in modules()]
    for name in ("vocab_size", "eos_token", "eos_tokens", "is_canonical"):
        assert getattr(made[0], name) == getattr(made[1], name), name
    for call, *arguments in (
        ("decode_bytes", [97, 256, END]),
        ("decode_str", [97, 98]),
        ("dbg_tokens", [97, 10, END]),
        ("is_special_token", END),
        ("is_special_token", 97),
        ("tokenize_str", "ab"),
        ("tokenize_bytes", b"a\xff"),
        ("greedy_tokenize", "abcab"),
    ):
        assert getattr(made[0], call)(*arguments) == getattr(made[1], call)(*arguments), call
    assert made[0].tokenize_str("a<tool>b", parse_special=True) == [97, TOOL, 98]
    assert made[0].with_slices([]) is made[0]


def test_tokenizers_of_other_libraries(data_directory) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from grammask.compat.llguidance import hf

    letters = {letter: id for id, letter in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(letters, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(["<|end|>"])
    made = [
        ours.LLTokenizer(backend.to_str(), n_vocab=300, eos_token=256),
        hf.from_tokenizer(backend, 300, 256),
    ]
    for each in made:
        assert (each.vocab_size, each.eos_tokens) == (300, [256])
        assert each.decode_bytes(each.tokenize_str("é x")) == "é x".encode()
    with pytest.raises(ValueError, match="error loading tokenizer"):
        ours.LLTokenizer("nothing.json")
    tiktoken = pytest.importorskip("tiktoken")
    from grammask.compat.llguidance import tiktoken as ours_tiktoken

    encoding = tiktoken.Encoding(
        "bytes",
        pat_str=".",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )
    for each in (
        ours_tiktoken.lltokenizer_from_encoding(encoding),
        ours.LLTokenizer.from_tiktoken(
            encoder=encoding._mergeable_ranks,
            special_tokens=encoding._special_tokens,
            pattern=encoding._pat_str,
            eos_token=256,
        ),
    ):
        assert (each.vocab_size, each.eos_token, each.tokenize_str("ab")) == (257, 256, [97, 98])


def test_options_of_schemas() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "oddity": 1}

    def accepts(text: str, **options: Any) -> bool:
        grammar = ours.LLMatcher.grammar_from_json_schema(schema, defaults=options)
        matcher = ours.LLMatcher(tokenizer(ours), grammar)
        assert not matcher.is_error(), matcher.get_error()
        return matcher.try_consume_tokens(list(text.encode())) == len(text) and matcher.is_accepting()

    assert accepts('{"a" : 1}')
    assert not accepts('{"a" : 1}', whitespace_flexible=False)
    assert accepts('{"a": 1}', whitespace_flexible=False, key_separator=": ")
    for text in ('{"a":1}', '{"a": 1}'):
        assert accepts(text, whitespace_flexible=False, key_separator=":[ ]?")
    assert not accepts('{"a":  1}', whitespace_flexible=False, key_separator=":[ ]?")
    for wrong in (
        {"whitespace_pattern": " ?"},
        {"key_separator": ": "},
        {"whitespace_flexible": False, "item_separator": ",?"},
        {"whitespace_flexible": False, "item_separator": ",[ ]*;"},
        {"nothing": 1},
    ):
        matcher = ours.LLMatcher(
            tokenizer(ours), ours.LLMatcher.grammar_from_json_schema(schema, overrides=wrong)
        )
        assert matcher.is_error(), wrong
    loose = {"properties": {"a": {"$dynamicRef": "http://nowhere/x"}}}
    matcher = ours.LLMatcher(
        tokenizer(ours), ours.LLMatcher.grammar_from_json_schema(loose, {"lenient": True})
    )
    assert matcher.is_error() or matcher.get_grammar_warnings()
    names = [name for name in dir(theirs().LLParserLimits) if not name.startswith("_")]
    for given in ({}, {"max_items_in_row": 7, "verbose_errors": False}):
        one, other = (module.LLParserLimits(**given) for module in modules())
        assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    limits = ours.LLParserLimits(max_grammar_size=3)
    assert ours.LLMatcher(
        tokenizer(ours), ours.grammar_from("json", json.dumps(schema)), limits=limits
    ).is_error()


@pytest.mark.parametrize(
    "lark",
    [
        'start: "ab" | "a" start',
        'start: NUMBER ("," NUMBER)*\nNUMBER: /[0-9]+/',
        'start: "a"{2,3} word?\nword: /[b-d]/',
        'start: %json {"type": "boolean"}',
    ],
)
def test_lark_as_theirs(lark) -> None:
    made = [module.LLMatcher(tokenizer(module), lark) for module in modules()]
    for text in ("ab", "aab", "1,12", "1,", "aab", "aaab", "aaa", "true", "tru", "false"):
        counts = [matcher.try_consume_tokens(list(text.encode())) for matcher in made]
        assert counts[0] == counts[1], text
        assert made[0].is_accepting() == made[1].is_accepting(), text
        for matcher in made:
            matcher.reset()


def test_structural_tags() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tags = [ours.StructTag(trigger="<f", begin="<f=x>", grammar=schema, end="</f>")]
    matcher = ours.LLMatcher(tokenizer(ours), ours.StructTag.to_grammar(tags))
    assert not matcher.is_error(), matcher.get_error()
    text = 'hello <f=x>{"a": 1}</f> and <f=x>{"a":2}</f>.'
    assert matcher.try_consume_tokens(list(text.encode())) == len(text)
    assert matcher.is_accepting()
    matcher.reset()
    assert matcher.try_consume_tokens(list(b"<f=y>")) == 3
    special = [ours.StructTag(trigger="<tool>", begin="<tool>x:", grammar=json.dumps(schema), end=";")]
    matcher = ours.LLMatcher(tokenizer(ours), ours.StructTag.to_grammar(special))
    assert not matcher.is_error(), matcher.get_error()
    assert matcher.consume_tokens([*b"hi <tool>", TOOL, *b'x:{"a":1};'])
    assert matcher.is_accepting()


def test_structural_tags_that_are_refused() -> None:
    with pytest.raises(AssertionError):
        ours.StructTag(trigger="<f", begin="f", grammar={}, end="")
    with pytest.raises(AssertionError):
        ours.StructTag.to_grammar([])
    tag = ours.StructTag(trigger="<f", begin="<f", grammar="{}", end="")
    with pytest.raises(ValueError, match="text_regex"):
        ours.StructTag.to_grammar([tag], text_regex="a*")
    with pytest.raises(ValueError, match="Expecting property name"):
        ours.StructTag.to_grammar([ours.StructTag(trigger="<f", begin="<f", grammar="{a}", end="")])


def test_structural_tags_after_texts_and_tokens() -> None:
    schema = {"type": "object", "additionalProperties": False}
    texts = [
        ours.StructTag(trigger=trigger, begin=f"{trigger}{name}>", grammar=schema, end="</f>")
        for trigger, name in (("<f", "=x"), ("<f", "=y"), ("<g", ""))
    ]
    lark = 'start: /[0-9]+/ ("," /[0-9]+/)*'
    token = ours.StructTag(trigger="<tool>", begin="<tool>blah(", grammar=lark, end=")")
    matcher = ours.LLMatcher(tokenizer(ours), ours.StructTag.to_grammar([*texts, token]))
    assert not matcher.is_error(), matcher.get_error()
    call = [TOOL, *b"blah(11,12)"]
    accepted = (
        [*b"a<f=x>{}</f>", *call, *b" <g>{}</f>b<"],
        [*b"<tool> in other tokens ", *call, *call],
        [],
    )
    for tokens in accepted:
        assert matcher.try_consume_tokens(tokens) == len(tokens)
        assert matcher.is_accepting()
        matcher.reset()
    rejected = ([*b"a<f=", *b"z"], [TOOL, *b"c"], [*b"a<g", *b" "], [*call[:-2], *b"2,)"])
    for tokens in rejected:
        assert matcher.try_consume_tokens(tokens) == len(tokens) - 1
        assert not matcher.is_accepting()
        matcher.reset()


def test_versions() -> None:
    assert "1.9.1" in ours.get_version()
    assert our_numpy.get_bitmask_shape(1, 33) == (1, 2)


@pytest.mark.parametrize(
    ("grammars", "texts"),
    [
        (
            [{"lark_grammar": 'start: "a" @sub'}, {"name": "sub", "lark_grammar": 'start: "b" @sub?'}],
            ["ab", "a"],
        ),
        ([{"lark_grammar": 'start: "a" @sub'}, {"name": "sub", "json_schema": {"const": 12}}], ["a12", "a1"]),
        ([{"name": "me", "lark_grammar": 'start: "a" | "b" @me'}], ["a", "bba", "b"]),
        ([{"lark_grammar": "start: @nobody"}], []),
        (
            [
                {"lark_grammar": 'start: "a"'},
                {"name": "x", "lark_grammar": ""},
                {"name": "x", "lark_grammar": ""},
            ],
            [],
        ),
    ],
)
def test_several_grammars(grammars, texts) -> None:
    verdicts = []
    for module in modules():
        made = tokenizer(module)
        text = json.dumps({"grammars": grammars})
        verdict: list[Any] = [module.LLMatcher(made, text).is_error()]
        for one in texts:
            matcher = module.LLMatcher(made, text)
            tokens = made.tokenize_str(one)
            verdict.append(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())
        verdicts.append(verdict)
    assert verdicts[0] == verdicts[-1]


def test_captures_as_theirs() -> None:
    grammar = 'start: "(" v+ ")"\nv[capture="w"]: inner ";"\ninner[capture]: /[a-z]+/'
    for module in modules():
        matcher = module.LLMatcher(tokenizer(module), grammar)
        assert matcher.get_capture("w") is None
        assert matcher.consume_tokens(list(b"(ab;c;)"))
        expected = [("inner", b"ab"), ("w", b"ab;"), ("inner", b"c"), ("w", b"c;")]
        assert matcher.get_captures() == expected
        assert matcher.get_capture("inner") == b"c"
        assert matcher.deep_copy().get_captures() == expected
        if module is ours:  # Theirs keeps captures that were rolled back.
            assert matcher.rollback(3)
            assert matcher.get_captures() == expected[:2]


def test_partial_texts_as_theirs() -> None:
    made = [tokenizer(module) for module in modules()]
    for text in (
        b"",
        b"a",
        b"xa",
        b"abcab",
        b'tru":',
        b'{"tr',
        b"12x",
        b"1\xff[97]a",
        b"\xff<tool>ab",
        b"\xc3\xa9",
    ):
        assert made[0].tokenize_partial(text) == made[1].tokenize_partial(text), text
    assert made[0].tokenize_partial(b"bc", [97]) == made[1].tokenize_partial(b"bc", [97])
    with pytest.raises(ValueError, match="no special token"):
        made[0].tokenize_partial(b"\xffx")


def test_the_vocabulary_of_bytes_as_theirs() -> None:
    mine, other = [module.LLTokenizer("byte") for module in modules()]
    assert mine.vocab_size == other.vocab_size
    assert mine.eos_tokens == other.eos_tokens
    assert mine.is_canonical
    assert mine.tokenize_str("a\u00e9") == other.tokenize_str("a\u00e9")
    assert [mine.is_special_token(id) for id in (255, 256, 261)] == [False, True, True]
    for grammar in ("start: /[a-z]+/ <|tool|>", "start: <[250-258]>"):
        assert legal(ours.LLMatcher(mine, grammar)) == legal(theirs().LLMatcher(other, grammar))


def test_entries_of_batches_are_checked() -> None:
    executor = ours.LLExecutor()
    matcher = ours.LLMatcher(tokenizer(ours), "start: /a*/")
    mask = our_numpy.allocate_token_bitmask(2, 264)
    for entries, error in (
        ([], ValueError),
        ([(matcher, 2)], ValueError),
        ([(matcher, 0, 0)], ValueError),
        ([(matcher, 0), (matcher, 1)], RuntimeError),
        ([1], TypeError),
        ([(1, 0)], TypeError),
    ):
        with pytest.raises(error):
            our_numpy.fill_next_token_bitmask_par(executor, entries, mask)
    for address, size in ((0, 36), (mask.ctypes.data + 1, 36), (mask.ctypes.data, 32)):
        with pytest.raises(ValueError, match=r"pointer|Pointer|size"):
            executor.unsafe_compute_mask_ptr([(matcher, 1)], address, size, 2)
    executor.unsafe_compute_mask_ptr([(matcher, 1)], mask.ctypes.data, 36, 2)
    assert mask[0].tolist() == [-1] * 9
    assert mask[1].tobytes() == matcher.compute_bitmask()


def steps_of(interpreter: Any, tokens: list[int]) -> list[Any]:
    """Return what an interpreter says while tokens are committed; without the statistics of its reports."""
    said: list[Any] = []
    for token in tokens:
        mask, report = interpreter.compute_mask()
        loaded = json.loads(report)
        for part in loaded["progress"]:
            part.pop("stats", None)
        said.append((None if mask is None else set(np.flatnonzero(np.frombuffer(mask, np.uint8))), loaded))
        if loaded["stop"]:
            break
        said.append(interpreter.commit_token(token))
        said.append((interpreter.is_accepting(), interpreter.has_pending_stop(), interpreter.stop_reason()))
    return said


@pytest.mark.parametrize("has_forced_tokens", [True, False])
def test_interpreters(has_forced_tokens: bool) -> None:  # noqa: FBT001
    grammar = 'start: "a" "bcd" /[0-9]+/ "xyz" /k*/'
    drafts = {
        True: [97, 48, 120, 107, 107, END_OF_BYTES, 1],
        False: [97, 98, 99, 100, 48, 120, 121, 122, END_OF_BYTES, 1],
    }
    results = []
    for module in modules():
        made = module.LLTokenizer("byte")
        interpreter = module.LLInterpreter(
            made, grammar, enable_backtrack=False, enable_ff_tokens=has_forced_tokens
        )
        interpreter.start_without_prompt()
        copy = interpreter.deep_copy()
        said = steps_of(interpreter, drafts[has_forced_tokens])
        assert interpreter.commit_token(97) == (0, [])
        with pytest.raises(ValueError, match="after stop"):
            interpreter.compute_mask()
        other = module.LLInterpreter(made, 'start: "ab" /[0-9]/', log_level=0)
        started = other.process_prompt([1, 2])
        bits = bytearray(-(-made.vocab_size // 32) * 4)
        other.compute_mask_into(bits)
        results.append((said, copy.validate_tokens_raw([97, 98, 97]), started, bytes(bits)))
        row = np.zeros((2, len(bits) // 4), np.int32)
        importlib.import_module(f"{module.__name__}.numpy").fill_next_token_bitmask(other, row, 1)
        assert row[1].tobytes() == bytes(bits)
        with pytest.raises(ValueError, match="satisf"):
            other.commit_token(200)
        with pytest.raises(ValueError, match="satisf"):
            other.compute_mask()
        with pytest.raises(ValueError, match="foo"):
            module.LLInterpreter(made, "start: foo")
    assert results[0] == results[1]


END_OF_BYTES = ours.LLTokenizer("byte").eos_token


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('start: "(" v+ ")"\nv[capture="w"]: inner ";"\ninner[capture]: /[a-z]+/', "(ab;c;)"),
        ('start: "x" a\na[capture="__LIST_APPEND:l", max_tokens=9]: /[0-9]+/', "x123"),
        ('start: u\nu[capture, max_tokens=60]: %json {"const": [1, 2], "x-guidance": X}', "[1, 2]"),
        ('start: a "z"\na[capture, suffix=","]: /[a-y]*/', "ab,z"),
        # Theirs removes the stop from the text.
        ("start: a\na[capture, stop=/,|;/]: /(?s:.*)/", "ab,"),
        ('start: a ","\na[capture, stop=","]: /(?s:.*)/', "ab,"),
    ],
)
def test_captures_of_an_interpreter(grammar: str, text: str) -> None:
    # The options that guidance writes.
    separators = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}
    options = {**separators, "whitespace_pattern": None, "coerce_one_of": True, "lenient": False}
    found = []
    for module in modules():
        made = module.LLTokenizer("byte")
        interpreter = module.LLInterpreter(
            made, grammar.replace("X", json.dumps(options)), enable_backtrack=False, enable_ff_tokens=False
        )
        captures = []
        for token in [*text.encode(), None]:
            mask, said = interpreter.compute_mask()
            report = json.loads(said)
            captures += [one for one in report["progress"] if one["object"] == "capture"]
            if report["stop"]:
                assert mask is None
                break
            interpreter.commit_token(made.eos_token if token is None else token)
        else:
            captures += [
                one
                for one in json.loads(interpreter.compute_mask()[1])["progress"]
                if one["object"] == "capture"
            ]
        found.append(sorted((one["name"], one["hex"], one["str"], one["log_prob"]) for one in captures))
    assert found[0] == found[-1] != []


def test_unavailable_captures_of_an_interpreter_are_errors() -> None:
    made = ours.LLTokenizer("byte")
    inside = 'start: a\na[max_chars=3]: b "!"\nb[capture]: "x"'
    with pytest.raises(ValueError, match="rule b concerns captures"):
        ours.LLInterpreter(made, inside)
    ours.LLInterpreter(made, inside.replace("[capture]", ""))


def test_the_temperature_of_an_interpreter() -> None:
    grammar = 'start: "a" t\nt[temperature=0.5]: /[0-9]+/'
    interpreter = ours.LLInterpreter(ours.LLTokenizer("byte"), grammar)
    said = []
    for token in b"a1":
        said.append(json.loads(interpreter.compute_mask()[1])["temperature"])
        interpreter.commit_token(token)
    assert said == [0.0, 0.5]


def test_compilers() -> None:
    for module in modules():
        byte = module.LLTokenizer("byte")
        separated = module.JsonCompiler()
        flexible = module.JsonCompiler(whitespace_flexible=True, separators=(",", ":"))
        schema = '{"type": "array", "items": {"type": "integer"}}'
        for grammar, texts in (
            (separated.compile(schema), {"[1, 2]": True, "[1,2]": False}),
            (flexible.compile(schema), {"[1, 2]": True, "[1,2]": True}),
            (module.LarkCompiler().compile('start: "a" | "bc"'), {"bc": True, "b": False}),
            (module.RegexCompiler().compile("[0-9]+/"), {"12/": True, "12": False}),
        ):
            for text, is_valid in texts.items():
                matcher = module.LLMatcher(byte, grammar)
                accepted = matcher.try_consume_tokens([*text.encode()]) == len(text)
                assert (accepted and matcher.is_accepting()) == is_valid, (module, grammar, text)
        for compiler, wrong in (
            (module.JsonCompiler(), '{"type": "foo"}'),
            (module.LarkCompiler(), "start: a"),
            (module.RegexCompiler(), "("),
        ):
            assert isinstance(compiler.compile(wrong, check=False), str)
            with pytest.raises(ValueError):  # noqa: PT011 - the words differ
                compiler.compile(wrong)


def test_expressions_for_lark_as_theirs() -> None:
    reference = theirs()
    rng = random.Random(5)
    pieces = [
        "a",
        "\\\\",
        "/",
        "\n",
        "[",
        "]",
        "\r",
        "\t",
        "\u00e9",
        "^",
        *(f"\\{letter}" for letter in "dwsDWSnx/"),
    ]
    for _ in range(3000):
        regex = "".join(rng.choices(pieces, k=rng.randint(0, 6)))
        for classes in ("", "d", "w", "dws"):
            assert ours.regex_to_lark(regex, classes) == reference.regex_to_lark(regex, classes)


GBNF_RULES = 'x ::= "a" | "b" x # c\ny-z ::= [a-b]*\nY-z ::= "q" |\n  "b"\ny_z ::= "A"\n'


def random_gbnf(rng: random.Random, depth: int) -> str:
    kind = rng.randint(0, 9)
    if not depth or kind < 3:
        texts = ['"a"', r'"b\n"', r'"\x41"', r'"\u4f60"', r'"\""', '"//#"', '""', "x", "y-z", "Y-z", "."]
        classes = [
            "[a-c]",
            "[^a]",
            "[-a]",
            "[a-]",
            r"[\]\[^]",
            '[&~#/"]',
            r"[\x41-C.]",
            "<[97]>",
            "!<[98]>",
            "<think>",
        ]
        return rng.choice([*texts, *classes])
    parts = [random_gbnf(rng, depth - 1) for _ in range(2)]
    if kind < 5:
        return f"({parts[0]} | {parts[1]})"
    if kind < 8:
        return " ".join(parts)
    return f"({parts[0]}){rng.choice(['*', '+', '?', '{2}', '{1,}', '{ 0 , 2 }'])}"


def test_gbnf_as_lark() -> None:
    from grammask.compat.llguidance.gbnf_to_lark import (
        GbnfToLarkError,
        any_to_lark,
        gbnf_to_lark,
        is_lark_syntax,
    )

    vocabulary = Vocabulary(
        [*(bytes([byte]) for byte in range(256)), None, None], special={"<think>": 256}, eos=257
    )
    rng = random.Random(6)
    texts = ["".join(rng.choices('abA\n-]"/\u4f60^', k=rng.randint(0, 4))).encode() for _ in range(200)]
    for _ in range(60):
        gbnf = f"root ::= {random_gbnf(rng, 3)}\n{GBNF_RULES}"
        lark = any_to_lark(gbnf)
        assert [is_lark_syntax(lark), is_lark_syntax(gbnf), any_to_lark(lark)] == [True, False, lark]
        compiled = [
            Grammar.from_gbnf(gbnf).compile(vocabulary),
            Grammar.from_llguidance_lark(lark).compile(vocabulary),
        ]
        masks = [each.matcher().allowed_ids().tolist() for each in compiled]
        assert masks[0] == masks[1], lark
        for text in texts:
            assert compiled[0].is_valid(text) == compiled[1].is_valid(text), (lark, text)
    # Theirs reads it.
    matcher = theirs().LLMatcher(
        theirs().LLTokenizer("byte"), gbnf_to_lark("root ::= [a-c/] (x | y-z)\n" + GBNF_RULES)
    )
    assert [matcher.is_error(), matcher.consume_tokens([*b"/bba"]), matcher.is_accepting()] == [
        False,
        True,
        True,
    ]
    for wrong, message in (
        ("root ::= a", "not defined"),
        ("root ::= !<think>", "Lark has nothing"),
        ("", "root"),
    ):
        with pytest.raises(GbnfToLarkError, match=message):
            gbnf_to_lark(wrong)


def test_masks_of_a_draft_at_an_address() -> None:
    rows = []
    for module in modules():
        matcher = module.LLMatcher(module.LLTokenizer("byte"), 'start: /[a-z]*/ "X"')
        words = -(-module.LLTokenizer("byte").vocab_size // 32)
        masks = np.zeros((4, words), np.int32)
        matcher.unsafe_compute_mask_ptr_with_draft_token(masks.ctypes.data, words * 4, [97, 98, 99])
        rows.append(masks.tobytes())
        with pytest.raises(ValueError, match="size"):
            matcher.unsafe_compute_mask_ptr_with_draft_token(masks.ctypes.data, words * 16, [97])
    assert rows[0] == rows[1]


def test_masks_of_mlx() -> None:
    core = pytest.importorskip("mlx.core")
    arrays = importlib.import_module("grammask.compat.llguidance.mlx")
    mask = arrays.allocate_token_bitmask(2, 40)
    mask[1] = [2, 0]
    masked = np.array(arrays.apply_token_bitmask(core.zeros((2, 50)), mask[:, :1]))
    assert np.flatnonzero(masked[0] == 0).tolist() == list(range(32))
    assert np.flatnonzero(np.array(arrays.apply_token_bitmask(core.zeros(40), mask[1]))[0] == 0).tolist() == [
        1
    ]
