"""Costs that must not grow with what a process did before: thousands of grammars, vocabularies, matchers and requests.

Each work is a list of operations with the defaults that users get, compile cache included. ``soak.py`` runs each in a
process of its own, and compares the last thousand operations with the first.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import grammask
import numpy as np
from grammask import CompileCache, Grammar, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLUMNS = (
    "operations",
    "first thousand, µs",
    "last thousand, µs",
    "ratio",
    "maximum, ms",
    "resident growth, first half, MiB",
    "second half, MiB",
)
_WINDOW = 1000
_BYTES: list[bytes | None] = [bytes([byte]) for byte in range(256)]


@dataclass(frozen=True)
class ManyUses:
    """Many similar operations.

    Attributes:
        title: What they do.
        count: Their number.
        operations: Yields operations; making one is not measured.
        repetitions: Times that each is called; the time is that of one call.
    """

    title: str
    count: int
    operations: Callable[[], Iterator[Callable[[], object]]]
    repetitions: int = 1

    def row(self, resident_mib: Callable[[], float]) -> list[str]:
        """Run the operations, and return their row of the table; times are CPU times of the process."""
        operations = self.operations()
        # The first operations load code and make tables that all others share.
        for _ in range(max(1, min(self.count // 20, _WINDOW))):
            next(operations)()
        gc.collect()
        times = np.empty(self.count)
        resident = [resident_mib()]
        for index in range(self.count):
            operation = next(operations)
            begin = time.process_time_ns()
            for _ in range(self.repetitions):
                operation()
            times[index] = (time.process_time_ns() - begin) / 1000 / self.repetitions
            if index + 1 in (self.count // 2, self.count):
                resident.append(resident_mib())
        window = min(_WINDOW // self.repetitions or 1, self.count // 4)
        # A mean, so that stalls count.
        first, last = times[:window].mean(), times[-window:].mean()
        return [
            f"{self.count * self.repetitions:,} {self.title}",
            f"{first:,.2f}",
            f"{last:,.2f}",
            f"{last / first:.2f}",
            f"{times.max() * self.repetitions / 1000:,.2f}",
            *(f"{after - before:,.1f}" for before, after in pairwise(resident)),
        ]


def works(vocabulary: Vocabulary, *, quick: bool) -> list[ManyUses]:
    """Return the works; with ``quick`` a tenth of the operations."""
    part = 10 if quick else 1
    return [
        ManyUses(
            "new schemas with their first masks, default compile cache",
            20_000 // part,
            lambda: _schemas(vocabulary, is_cached=True),
        ),
        ManyUses(
            "the same without compile cache", 20_000 // part, lambda: _schemas(vocabulary, is_cached=False)
        ),
        ManyUses(
            f"compilations that the cache has, which grows to {100_000 // part:,} entries",
            20_000 // part,
            lambda: _hits(vocabulary, 100_000 // part),
        ),
        ManyUses(
            "new regular expressions with their first masks", 20_000 // part, lambda: _regexes(vocabulary)
        ),
        ManyUses("vocabularies opened and dropped", 5_000 // part, lambda: _vocabularies(vocabulary)),
        ManyUses(
            "matchers made, used for a token and dropped", 1_000 // part, lambda: _matchers(vocabulary), 1_000
        ),
        ManyUses("steps of 1,000 live matchers in a batch", 2_000 // part, lambda: _live(vocabulary)),
        ManyUses("requests to a server, each with its own schema", 20_000 // part, _requests),
    ]


def _schema(number: int) -> dict[str, Any]:
    # Names of about one length, so that all schemas cost the same.
    choices = random.Random(number)
    properties = {f"member_{choices.randrange(10**6):06}": {"type": "string"} for _ in range(3)}
    properties["count"] = {"type": "integer"}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schemas(vocabulary: Vocabulary, *, is_cached: bool) -> Iterator[Callable[[], object]]:
    number = 0
    while True:
        text, number = json.dumps(_schema(number)), number + 1
        yield (
            lambda text=text: (
                Grammar.from_json_schema(text).compile(vocabulary, cache=is_cached).matcher().mask()
            )
        )


def _hits(vocabulary: Vocabulary, entries: int) -> Iterator[Callable[[], object]]:
    """Lookups of recent grammars, made anew, in a cache that grows to a number of small entries."""
    cache = CompileCache(1 << 40)
    texts = [f'start ::= "{number:06}{"x" * 1000}";' for number in range(64)]
    for text in texts:
        Grammar.from_kbnf(text).compile(vocabulary, cache=cache)
    entry = Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=False)
    number = 0
    while True:
        # These entries share one compiled grammar, since 100,000 would need gigabytes.
        for _ in range(5):
            if number < entries:
                cache.find(vocabulary, b"%d" % number, (), lambda: entry)
                number += 1
        grammar = Grammar.from_kbnf(texts[number % 64])
        yield lambda grammar=grammar: grammar.compile(vocabulary, cache=cache)


def _regexes(vocabulary: Vocabulary) -> Iterator[Callable[[], object]]:
    choices = random.Random(0)
    while True:
        word = "".join(choices.choices("abcdefghij", k=8))
        expression = f"{word}-[0-9]{{4}}-({word[:4]}|{word[4:]}){{1,3}}"
        yield (
            lambda expression=expression: Grammar.from_regex(expression).compile(vocabulary).matcher().mask()
        )


def _vocabularies(kept: Vocabulary) -> Iterator[Callable[[], object]]:
    grammar = Grammar.from_kbnf('start ::= "a";')
    # What the process has compiled before must not matter.
    others = [
        Grammar.from_json_schema(json.dumps(_schema(number))).compile(kept, cache=False)
        for number in range(1_000)
    ]
    number = 0
    while others:
        tokens, number = [*_BYTES, b"%d" % number + b"aa", None], number + 1

        def use(tokens: list[bytes | None] = tokens) -> None:
            grammar.compile(Vocabulary(tokens, eos=257)).matcher().mask()

        yield use


def _matchers(vocabulary: Vocabulary) -> Iterator[Callable[[], object]]:
    compiled = Grammar.from_json_schema(json.dumps(_schema(0))).compile(vocabulary)
    mask = grammask.allocate_mask(1, vocabulary.size)
    token = int(compiled.matcher().allowed_ids()[0])

    def use() -> None:
        matcher = compiled.matcher()
        matcher.accept(token)
        matcher.fill_mask(mask)

    while True:
        yield use


def _live(vocabulary: Vocabulary) -> Iterator[Callable[[], object]]:
    """Texts in JSON strings of several grammars, which go on."""
    compiled = [
        Grammar.from_json_schema(json.dumps(_schema(number))).compile(vocabulary) for number in range(10)
    ]
    matchers = [compiled[number % 10].matcher() for number in range(1_000)]
    for matcher in matchers:
        while not (text := matcher.forced_bytes()):
            matcher.accept_bytes(b'"')
        matcher.accept_bytes(text)
        matcher.accept_bytes(b'"')
    mask = grammask.allocate_mask(len(matchers), vocabulary.size)
    token = vocabulary.ids_of(b"a")[0] if hasattr(vocabulary, "ids_of") else 0

    def step() -> None:
        for matcher in matchers:
            matcher.accept(token)
        grammask.fill_masks(matchers, mask)

    while True:
        yield step


def _requests() -> Iterator[Callable[[], object]]:
    from grammask.language_models.random_model import RandomModel
    from grammask.server import application

    vocabulary = Vocabulary([*_BYTES, b'{"', b'":', None], eos=258)
    app = application(RandomModel(vocabulary, np.random.default_rng(0)), "noise")
    loop = asyncio.new_event_loop()
    number = 0
    while True:
        schema = {"enum": [f"answer {number:06}"]}
        number += 1
        body = {
            "model": "noise",
            "messages": [{"role": "user", "content": "Hi"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        }
        encoded = json.dumps(body).encode()
        yield lambda encoded=encoded: loop.run_until_complete(_post(app, "/v1/chat/completions", encoded))


async def _post(app: Any, path: str, body: bytes) -> None:
    """Call an application as a server would, without a network."""
    statuses = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status", 200))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    if set(statuses) != {200}:
        message = f"the server answered {statuses}"
        raise RuntimeError(message)
