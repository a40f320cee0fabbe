"""Many threads at once: what they share gives each of them what it would give it alone.

`make test-freethreaded` runs them under an interpreter without a global lock, where the threads run at the same time;
elsewhere the interpreter changes threads as often as it can.
"""

import gc
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import grammask
import grammask.kbnf
import numpy as np
import pytest
from grammask import CompileCache, Grammar, Limits, Vocabulary, allocate_mask, fill_masks
from grammask.integrations.serving.server_vocabulary import vocabulary_of
from grammask.templates import Template, regex, repeated

T = TypeVar("T")
THREADS = 8
WORDS = [b"true", b'":', b'",', b"[[", b"ab", b"aa", b"12", b'{"', b'"}', b" ", b"==", b"\xc3\xa9"]
EOS = 256 + len(WORDS)

GRAMMARS: dict[str, Callable[[], Grammar]] = {
    "json": lambda: Grammar.from_kbnf(
        r"""
        start ::= value; value ::= object | array | string | number | "true";
        object ::= "{" (string ":" value ("," string ":" value)*)? "}"; array ::= "[" (value ("," value)*)? "]";
        string ::= #'"[^"\\\\]*"'; number ::= #"-?[0-9]+";
        """
    ),
    "ambiguous": lambda: Grammar.from_kbnf('start ::= start start | "a" | "b" start "b";'),
    "counted": lambda: Grammar.from_kbnf('start ::= item{3,60} "."; item ::= "a"{1,9} | #"[0-9]{2,40}";'),
    "limited": lambda: Grammar.from_kbnf('start ::= text ("," text)*; text ::= except!(",", 5);'),
    "named tokens": lambda: Grammar.from_kbnf('start ::= ("a" any! "b" | <[260]> "c")*;'),
    "any order": lambda: Grammar.from_json_schema(
        {
            "properties": {name: {"type": ["integer", "string"]} for name in "abcdefgh"},
            "required": ["a", "h"],
            "dependentRequired": {"b": ["c"]},
            "additionalProperties": False,
        },
        key_order="any",
    ),
    "schema": lambda: Grammar.from_json_schema(
        {
            "type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}},
        }
    ),
    "lexed": lambda: Grammar.from_kbnf(
        """
        start ::= (name "=" value ";")*; value ::= name | number | "(" value ")";
        name ::= #"[a-z]+"; number ::= #"[0-9]+";
        """,
        lexer="basic",
    ),
}


@pytest.fixture(autouse=True)
def _change_threads_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T], count: int = THREADS) -> list[T]:
    """Call `work` with 0, 1, ... in as many threads, which begin together."""
    start = threading.Barrier(count)

    def run(number: int) -> T:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def make_vocabulary(rotation: int = 0) -> Vocabulary:
    tokens = [bytes([byte]) for byte in range(256)] + WORDS
    return Vocabulary([*tokens[rotation:], *tokens[:rotation], None], eos=EOS)


def walk(compiled: grammask.CompiledGrammar, seed: int, steps: int = 60) -> list[bytes]:
    """The masks on a random walk with steps back, branches and drafts."""
    choices = random.Random(seed)
    matcher = compiled.matcher()
    row = allocate_mask(1, compiled.vocabulary_size)
    masks: list[bytes] = []
    for _ in range(steps):
        if matcher.is_finished:
            matcher.reset()
        way = choices.randrange(4)
        if way == 0:
            matcher.fill_mask(row)
        elif way == 1:
            fill_masks([matcher, matcher.fork()], rows := allocate_mask(2, compiled.vocabulary_size))
            assert (rows[0] == rows[1]).all()
            row[0] = rows[0]
        elif way == 2:
            row[0] = matcher.mask()
        else:
            fill_masks([matcher], row)
        masks.append(row.tobytes())
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        # A byte that begins a character could use up the last token of a limited text.
        token = choices.choice([id for id in allowed if id not in range(128, 256)])
        if choices.random() < 0.1:
            assert matcher.validate([token]) == 1
            rows = allocate_mask(2, compiled.vocabulary_size)
            if token != EOS and matcher.draft_masks([token], rows) == 2:
                masks.append(rows.tobytes())
        assert matcher.accept(token)
        if choices.random() < 0.15:
            matcher.rollback(choices.randrange(matcher.step_count + 1))
        if choices.random() < 0.1:
            matcher = matcher.fork()
    return masks


def alone(name: str, seeds: range) -> list[list[bytes]]:
    compiled = GRAMMARS[name]().compile(make_vocabulary(), cache=False)
    return [walk(compiled, seed) for seed in seeds]


@pytest.mark.parametrize("name", GRAMMARS)
def test_matchers_of_one_grammar(name: str) -> None:
    expected = alone(name, range(THREADS))
    for _ in range(3):
        compiled = GRAMMARS[name]().compile(make_vocabulary(), cache=False)
        assert at_once(lambda seed, compiled=compiled: walk(compiled, seed)) == expected


@pytest.mark.parametrize("name", GRAMMARS)
def test_tables_that_are_begun_anew(name: str) -> None:
    expected = alone(name, range(THREADS))
    limits = Limits(memory_bytes=300_000)
    vocabulary = make_vocabulary()
    vocabulary.set_cache_capacity(10_000)
    compiled = GRAMMARS[name]().compile(vocabulary, cache=False, limits=limits)
    assert at_once(lambda seed: walk(compiled, seed)) == expected


def test_grammars_of_one_vocabulary() -> None:
    names = list(GRAMMARS)
    expected = {name: walk(GRAMMARS[name]().compile(make_vocabulary(), cache=False), 1) for name in names}
    vocabulary = make_vocabulary()

    def work(number: int) -> bool:
        for index in range(len(names)):
            name = names[(index + number) % len(names)]
            vocabulary.set_cache_capacity([0, 10_000, 1 << 20][(index + number) % 3])
            assert vocabulary.cache_bytes >= 0
            if walk(GRAMMARS[name]().compile(vocabulary, cache=False), 1) != expected[name]:
                return False
        return True

    assert all(at_once(work))


@pytest.mark.parametrize("max_bytes", [0, 200_000, 1 << 30])
def test_compiling_with_one_cache(max_bytes: int) -> None:
    names = list(GRAMMARS)
    expected = {name: alone(name, range(1))[0] for name in names}
    cache, vocabulary = CompileCache(max_bytes=max_bytes), make_vocabulary()

    def work(number: int) -> bool:
        choices = random.Random(number)
        for _ in range(2 * len(names)):
            name = choices.choice(names)
            if walk(GRAMMARS[name]().compile(vocabulary, cache=cache), 0) != expected[name]:
                return False
            if choices.random() < 0.1:
                cache.clear()
            assert cache.stats()["entries"] >= 0
        return True

    assert all(at_once(work))


def test_a_vocabulary_in_the_place_of_another() -> None:
    # A vocabulary that is gone leaves its address to the next one, and compiled grammars are known by it.
    cache = CompileCache()
    grammar = Grammar.from_kbnf('start ::= "a" | "b" "c";')

    def work(number: int) -> bool:
        choices = random.Random(number)
        for _ in range(150):
            rotation = choices.randrange(1, 64)
            vocabulary = make_vocabulary(rotation)
            ids = [(byte - rotation) % EOS for byte in b"ab"]
            compiled = grammar.compile(vocabulary, cache=cache)
            if compiled.matcher().allowed_ids().tolist() != sorted(ids):
                return False
            del vocabulary, compiled
        return True

    assert all(at_once(work))
    assert cache.stats()["entries"] == 0


def test_one_matcher_is_busy_or_whole() -> None:
    compiled = GRAMMARS["json"]().compile(make_vocabulary(), cache=False)
    shared = compiled.matcher()
    assert shared.accept(ord("["))
    begun = shared.fork()
    assert begun.accept(ord("1"))
    legal = {matcher.mask().tobytes() for matcher in (shared, begun)}

    def until_done(step: Callable[[], object]) -> None:
        while True:
            try:
                step()
            except RuntimeError:  # Another thread uses it.
                time.sleep(1e-5)
            else:
                return

    def write() -> None:
        until_done(lambda: shared.accept(ord("1")))
        until_done(shared.rollback)

    def read() -> None:
        row = allocate_mask(1, compiled.vocabulary_size)
        until_done(lambda: fill_masks([shared], row))
        assert row.tobytes() in legal
        until_done(lambda: shared.fill_mask(row))
        assert row.tobytes() in legal
        forks: list[grammask.Matcher] = []
        until_done(lambda: forks.append(shared.fork()))
        assert forks[0].mask().tobytes() in legal
        assert forks[0].tokens[1:] == [ord("1")] * (forks[0].step_count - 1)

    def work(number: int) -> None:
        for _ in range(200):
            write() if number % 2 else read()

    at_once(work)
    assert shared.step_count == 1
    begun.rollback()
    assert shared.mask().tobytes() == begun.mask().tobytes()


@pytest.mark.parametrize(("size", "rows"), [(EOS + 1, 5), (300_000, 40)])
def test_threads_fill_rows_of_one_array(size: int, rows: int) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"c", None], eos=3, size=size)
    compiled = Grammar.from_kbnf('start ::= "a" start | "b" "c";').compile(vocabulary, cache=False)
    matchers = [compiled.matcher(), compiled.matcher()]
    assert matchers[1].accept(1)
    expected = [matcher.mask().copy() for matcher in matchers]
    mask = allocate_mask(THREADS * rows, size)
    wide = np.zeros((THREADS * rows, 2 * mask.shape[1]), np.int32)

    def work(number: int) -> None:
        own = list(range(number * rows, (number + 1) * rows))
        batch = [matchers[row % 2] for row in own]
        for _ in range(20):
            fill_masks(batch, mask, own)
            fill_masks(batch[:2], wide[:, ::2], own[:2])
            batch[0].fill_mask(mask, own[0])
            batch[0].fill_mask(mask[own[0]])
            assert batch[0].draft_masks([], wide[:, ::2], own[0]) == 1

    at_once(work)
    for row in range(len(mask)):
        assert (mask[row] == expected[row % 2]).all()
    assert not wide[:, 1::2].any()


def test_making_ahead_while_others_read() -> None:
    expected = alone("json", range(THREADS))
    for _ in range(3):
        compiled = GRAMMARS["json"]().compile(make_vocabulary(), cache=False)

        def work(number: int, compiled: grammask.CompiledGrammar = compiled) -> list[bytes]:
            if number % 4 == 0:
                reports: list[int] = []
                compiled.precompute(60, lambda done, known: reports.append(done) or True)
                assert reports
                assert compiled.stats()["sets"] > 0
                assert compiled.memory_bytes > 0
            return walk(compiled, number)

        assert at_once(work) == expected


def test_branches_of_one_matcher() -> None:
    compiled = GRAMMARS["json"]().compile(make_vocabulary(), cache=False)
    trunk = compiled.matcher()
    assert trunk.accept_bytes(b'{"a')
    assert trunk.accept_bytes(b'":[')
    before = trunk.mask().tobytes()

    def work(number: int) -> bool:
        for depth in range(40):
            branch = trunk.fork()
            assert branch.accept_bytes(b"[" * (depth % 7) + b"1," + b"[" * number)
            fork = branch.fork()
            fork.rollback(2)
            assert branch.step_count == 3
            assert fork.accept_bytes(b'":[')
            if fork.mask().tobytes() != before or trunk.mask().tobytes() != before:
                return False
        return True

    assert all(at_once(work))


def test_garbage_is_collected_while_masks_are_made() -> None:
    # Without a global lock collecting stops all threads, also those that wait for tables.
    expected = alone("schema", range(THREADS))
    vocabulary = make_vocabulary()
    compiled = GRAMMARS["schema"]().compile(vocabulary, cache=False)
    forced = Grammar.from_kbnf('start ::= "forced" #"[0-9]";').compile(vocabulary, cache=False)

    def encode(text: str) -> list[int]:
        gc.collect()
        return list(text.encode())

    def work(number: int) -> list[bytes]:
        if number % 4 == 0:
            for _ in range(4):
                gc.collect()
                assert forced.matcher().forced_tokens(encode) == list(b"forced")
                with pytest.raises(grammask.GrammarError):
                    Grammar.from_kbnf("start ::= missing;")
        return walk(compiled, number)

    assert at_once(work) == expected


def test_the_number_of_threads_changes_while_batches_are_made() -> None:
    expected = alone("json", range(THREADS))

    def work(number: int) -> list[bytes]:
        if number % 4 == 0:
            for count in range(1, 40):
                grammask.set_threads(count % 5 + 1)
                assert grammask.threads() in range(1, 6)
        return walk(compiled, number)

    try:
        compiled = GRAMMARS["json"]().compile(make_vocabulary(), cache=False)
        assert at_once(work) == expected
    finally:
        grammask.set_threads()


def test_one_template() -> None:
    entry = Template("{name}={n}", name=regex("[a-z]+"), n=int)
    for _ in range(10):
        template = Template("{entries}.", entries=repeated(entry, 1, separator=","))
        vocabularies = [make_vocabulary(rotation) for rotation in range(6)]

        def work(
            number: int, template: Template = template, vocabularies: list[Vocabulary] = vocabularies
        ) -> list[tuple[str, int]]:
            for turn in range(12):
                vocabulary = vocabularies[(number + turn) % len(vocabularies)]
                matcher = template.compile(vocabulary).matcher()
                for byte in b"a=1,b=22.":
                    assert matcher.accept((byte - (number + turn) % len(vocabularies)) % EOS)
                assert template.parse(matcher)["entries"][1]["n"] == 22
            result = template.parse(f"x={number},y=7.")
            assert template.partial("x=1,y").is_complete is False
            return [(entry["name"], entry["n"]) for entry in result["entries"]]

        assert at_once(work) == [[("x", number), ("y", 7)] for number in range(THREADS)]


def test_one_template_for_tokens_of_many_vocabularies() -> None:
    class LongLookedUp(Vocabulary):
        def __hash__(self) -> int:
            time.sleep(1e-4)
            return super().__hash__()

    template = Template("<{word}>", word=regex("[ab]*"))
    orders = [bytes(order) for order in itertools.permutations(b"<>ab")]
    vocabularies = [LongLookedUp([bytes([byte]) for byte in order] + [None], eos=4) for order in orders]

    def work(number: int) -> bool:
        for turn in range(len(orders)):
            index = (turn + number) % len(orders)
            ids = [orders[index].index(byte) for byte in b"<abba>"]
            if template.parse_tokens(ids, vocabularies[index])["word"] != "abba":
                return False
        return True

    assert all(at_once(work))


def test_engines_of_kbnf() -> None:
    vocabulary = grammask.kbnf.Vocabulary(
        {id: grammask.kbnf.Token(bytes([id])) for id in range(128)}, {id: chr(id) for id in range(128)}
    )
    first = grammask.kbnf.Engine('start ::= #"[0-9]+" "." "x"{3};', vocabulary)

    def work(number: int) -> list[list[int]]:
        engine = (
            first.__copy__()
            if number % 2
            else grammask.kbnf.Engine('start ::= #"[0-9]+" "." "x"{3};', vocabulary)
        )
        allowed = []
        for token in b"0123.xx":
            engine.try_accept_new_token(token)
            engine.compute_allowed_token_ids()
            allowed.append(engine.get_allowed_token_ids_from_last_computation())
        return allowed

    results = at_once(work)
    assert all(result == results[0] for result in results)
    assert results[0][-1] == [ord("x")]


def test_structural_tags() -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<f="],
            "tags": [
                {
                    "begin": f"<f={name}>",
                    "content": {
                        "type": "json_schema",
                        "json_schema": {"properties": {name: {"type": "integer"}}},
                    },
                    "end": "</f>",
                }
                for name in "abc"
            ],
        },
    }
    expected = walk(Grammar.from_structural_tag(tag).compile(make_vocabulary(), cache=False), 5)
    vocabulary, cache = make_vocabulary(), CompileCache()

    def work(number: int) -> list[bytes]:
        return walk(
            Grammar.from_structural_tag(tag).compile(vocabulary, cache=cache if number % 2 else False), 5
        )

    assert at_once(work) == [expected] * THREADS


def test_a_vocabulary_is_made_once() -> None:
    class Tokens(Vocabulary):
        pass

    defaults = at_once(lambda _: Tokens.default())
    assert all(vocabulary is defaults[0] for vocabulary in defaults)


def test_a_vocabulary_of_a_tokenizer_is_made_once() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for _ in range(20):
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1}, []))
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        tokenizer.add_special_tokens(["</s>"])
        made = at_once(lambda _, tokenizer=tokenizer: vocabulary_of(tokenizer, 3, eos=(2,)))
        assert all(vocabulary is made[0] for vocabulary in made)
