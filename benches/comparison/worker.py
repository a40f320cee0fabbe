"""The measured process: one engine, one case, one vocabulary. ``compare.py`` starts it.

Usage: ``python -m comparison.worker JOB.json``. A job names a pickle of the vocabulary and of the tokens, the output
file, and the megabytes that are written before each token. If it has numbers of tokens per document, these are
processed once, and only the mean is measured. Progress goes to standard output, one JSON object per line, so that the
parent has it even if the process is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engines
import numpy as np

from comparison import clock
from comparison.eviction import eviction
from comparison.vocabularies import TokenTable, byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from engines import Engine, Steps

WARM_UP = {
    "kbnf": 'start ::= "a" start | "b";',
    "lark": '%llguidance {"no_forcing": true}\nstart: "a" start | "b"',
    "ebnf": 'root ::= "a" root | "b"',
    "regex": "a*b",
    "builtin": "",
}
"""A grammar for the warm-up over a vocabulary of bytes, so that no case includes the loading of code."""

_SHORT_PASS = 5_000_000_000
"""CPU nanoseconds below which the warm pass runs twice, with the minimum of the two times of each token."""

_SHORT_COMPILE = 1_000_000_000
"""CPU nanoseconds of compiling below which a grammar is compiled again, ``_COMPILES_AGAIN`` times."""
_COMPILES_AGAIN = 5

_BLOCK = 256
"""Tokens between two readings of the clock when a loop is timed."""


_Part = tuple[Callable[[], object], Callable[[int], object], list[int]]
"""Functions that fill the mask and accept a token, and some tokens of a document."""


@dataclass
class Pass:
    """The times and findings of one pass over the documents."""

    times: list[npt.NDArray[np.int64]] = field(default_factory=list)
    """CPU nanoseconds of mask and accept, by document and token."""
    refused: list[dict[str, Any]] = field(default_factory=list)
    """Tokens of the documents that a mask excludes or that were not accepted: each is a wrong answer."""
    masks: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    """Copies of the sampled masks, by ``document/position``."""
    problem: str | None = None
    incomplete: list[int] = field(default_factory=list)
    """Documents whose end the engine does not recognise as the end of a text."""


def main(path: str) -> None:
    """Run a job."""
    job = json.loads(Path(path).read_text("utf-8"))
    with Path(job["input"]).open("rb") as file:
        table, documents = pickle.load(file)
    engine = engines.load(job["engine"])
    language = job["language"]
    _say(
        phase="warm-up", version=engine.version(), settings=engine.SETTINGS, ignored=engine.ignored_ids(table)
    )
    _warm_up(engine, language)
    mask = np.zeros((1, -(-table.size // 32)), dtype=np.int32)
    _say(phase="vocabulary", **_floor(mask))

    memory, before = _memory(), time.process_time_ns()
    vocabulary = engine.vocabulary(table)
    _say(phase="compile", vocabulary_ns=time.process_time_ns() - before, vocabulary_bytes=_memory() - memory)

    gc.collect()
    gc.disable()
    evict = eviction(job["cold_megabytes"])
    memory = _memory()
    evict()
    before = time.process_time_ns()
    compiled = engine.compile(language, job["grammar"], vocabulary)
    compile_ns = time.process_time_ns() - before
    _say(phase="first mask", compile_ns=compile_ns)
    before = time.process_time_ns()
    engine.start(compiled, mask).fill()
    _say(phase="cold", first_mask_ns=time.process_time_ns() - before)

    runner = _Runner(engine, compiled, mask, table, job, evict)
    if job["tokens"] is not None:
        _say(mean_ns=runner.mean(documents, job["tokens"]))
        _say(phase="done")
        return
    cold = runner.run(documents, sampled=True)
    _say(phase="warm", memory_bytes=_memory() - memory, **_summary(cold))
    _save(job["output"], cold, Pass())
    warm = runner.run(documents, sampled=False)
    _save(job["output"], cold, warm)
    _say(phase="warm again", warm_problem=warm.problem, incomplete=warm.incomplete)
    if sum(int(times.sum()) for times in warm.times) < _SHORT_PASS:
        again = runner.run(documents, sampled=False)
        for times, others in zip(warm.times, again.times, strict=False):
            count = min(len(times), len(others))
            np.minimum(times[:count], others[:count], out=times[:count])
        _save(job["output"], cold, warm)
    _say(phase="loop")
    # A loop without a reading of the clock per token cannot leave out the time of evictions.
    stream = None if cold.problem or job["cold_megabytes"] else runner.stream(documents)
    _say(stream_ns=stream)
    if compile_ns < _SHORT_COMPILE:
        _say(phase="compile again")
        _say(again_ns=_compile_again(engine, job, vocabulary, mask, evict))
    if hasattr(engine, "stats"):
        _say(stats=engine.stats(compiled))
    _say(phase="done")


def _compile_again(
    engine: Engine, job: Any, vocabulary: Any, mask: npt.NDArray[np.int32], evict: Callable[[], None]
) -> float:
    """Return the median of CPU nanoseconds to the first mask of the same grammar, on a vocabulary in use."""
    compile_anew = getattr(engine, "compile_anew", engine.compile)
    times = []
    for _ in range(_COMPILES_AGAIN):
        evict()
        before = time.process_time_ns()
        compiled = compile_anew(job["language"], job["grammar"], vocabulary)
        engine.start(compiled, mask).fill()
        times.append(time.process_time_ns() - before)
    return float(np.median(times))


class _Runner:
    """Processes documents with one engine."""

    def __init__(
        self,
        engine: Engine,
        compiled: Any,
        mask: npt.NDArray[np.int32],
        table: TokenTable,
        job: Any,
        evict: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._compiled = compiled
        self._mask = mask
        self._evict = evict
        self._eos = table.eos
        self._limit_ns = int(job["seconds"] * 1e9)
        self._samples = {(document, position) for document, position in job["samples"]}

    def run(self, documents: list[list[int]], *, sampled: bool) -> Pass:
        """Fill a mask and accept a token along the documents, until the time limit of a pass."""
        result = Pass()
        deadline = clock.now() + self._limit_ns
        for index, tokens in enumerate(documents):
            times = np.zeros(len(tokens), dtype=np.int64)
            count = 0
            try:
                steps = self._engine.start(self._compiled, self._mask)
                count = self._one(steps, tokens, times, deadline, (index if sampled else None, result))
            except Exception as error:  # noqa: BLE001
                result.problem = f"{type(error).__name__}: {error}"[:300]
                count = int(np.count_nonzero(times))
            result.times.append(times[:count])
            # Not in the first pass: this mask may compute something for the first time, which must be measured.
            if not sampled and result.problem is None and count == len(tokens):
                self._check_end(steps, index, result)
            if result.problem or clock.now() > deadline:
                break
        return result

    def _one(
        self,
        steps: Steps,
        tokens: list[int],
        times: npt.NDArray[np.int64],
        deadline: int,
        sampling: tuple[int | None, Pass],
    ) -> int:
        now, fill, accept, row, evict = clock.now, steps.fill, steps.accept, self._mask[0], self._evict
        document, result = sampling
        overhead = 0
        for position, token in enumerate(tokens):
            if position % clock.TOKENS_PER_LOOK == 0:
                overhead = clock.overhead()
            evict()
            before = now()
            fill()
            accepted = accept(token)
            after = now()
            times[position] = max(after - before - overhead, 1)
            allowed = row[token >> 5] >> (token & 31) & 1
            if document is not None and (document, position) in self._samples:
                result.masks[f"{document}/{position}"] = row.copy()
            if not (allowed and accepted):
                result.refused.append(
                    {
                        "document": document,
                        "position": position,
                        "token": token,
                        "in_mask": bool(allowed),
                        "accepted": bool(accepted),
                    }
                )
            if not accepted:
                result.problem = steps.error() or "a token of the document was not accepted"
                return position
            if after > deadline:
                return position + 1
        return len(tokens)

    def _check_end(self, steps: Steps, index: int, result: Pass) -> None:
        """Test whether the engine recognises the text as complete."""
        if self._engine.COMPARES_END:
            steps.fill()
            if not self._mask[0][self._eos >> 5] >> (self._eos & 31) & 1:
                result.incomplete.append(index)

    def stream(self, documents: list[list[int]]) -> float | None:
        """Return mean CPU nanoseconds of mask and accept in visited states, with one clock reading per 256 tokens.

        Like the floor, the mean includes the loop in Python.
        """
        total, count = self._loop(documents)
        return total / count if count else None

    def mean(self, documents: list[list[int]], counts: list[int]) -> float | None:
        """Measure the mean over the first tokens of each document, ``counts`` of them; None if time is too short."""
        beginnings = [tokens[:count] for tokens, count in zip(documents, counts, strict=False)]
        total, count = self._loop(beginnings)
        return total / count if 0 < count == sum(map(len, beginnings)) else None

    def _loop(self, documents: list[list[int]]) -> tuple[int, int]:
        """Return nanoseconds, less the time of reading the clock, and the number of tokens."""
        total = count = 0
        deadline = clock.now() + self._limit_ns
        for block in self._blocks(documents):
            overhead = clock.overhead()
            before = clock.now()
            for fill, accept, tokens in block:
                for token in tokens:
                    fill()
                    accept(token)
            total += clock.now() - before - overhead
            count += sum(len(tokens) for _, _, tokens in block)
            if clock.now() > deadline:
                break
        return total, count

    def _blocks(self, documents: list[list[int]]) -> Iterator[list[_Part]]:
        """Yield groups of parts of documents with about the number of tokens between two readings of the clock."""
        block: list[_Part] = []
        for tokens in documents:
            steps = self._engine.start(self._compiled, self._mask)
            for start in range(0, len(tokens), _BLOCK):
                block.append((steps.fill, steps.accept, tokens[start : start + _BLOCK]))
                if sum(len(part) for _, _, part in block) >= _BLOCK:
                    yield block
                    block = []
        if block:
            yield block


def _warm_up(engine: Engine, language: str) -> None:
    table = byte_vocabulary()
    mask = np.zeros((1, -(-table.size // 32)), dtype=np.int32)
    compiled = engine.compile(language, WARM_UP[language], engine.vocabulary(table))
    steps = engine.start(compiled, mask)
    for token in b"{}" if language == "builtin" else b"aaaab":
        steps.fill()
        steps.accept(token)


def _floor(mask: npt.NDArray[np.int32]) -> dict[str, float]:
    """Return the time of copying a mask from Python, clocked one by one and in a loop."""
    other = np.full_like(mask[0], -1)
    single = []
    for _ in range(20_000 // clock.TOKENS_PER_LOOK):
        overhead = clock.overhead()
        for _ in range(clock.TOKENS_PER_LOOK):
            before = clock.now()
            mask[0] = other
            single.append(clock.now() - before - overhead)
    before = clock.now()
    for _ in range(100_000):
        mask[0] = other
    floor = {"floor_p50_ns": float(np.median(single)), "floor_stream_ns": (clock.now() - before) / 100_000}
    mask[:] = 0
    return floor


def _save(path: str, cold: Pass, warm: Pass) -> None:
    np.savez_compressed(
        path,
        **{f"cold_{index}": times for index, times in enumerate(cold.times)},
        **{f"warm_{index}": times for index, times in enumerate(warm.times)},
        **{f"mask_{position}": row for position, row in cold.masks.items()},
    )


def _summary(cold: Pass) -> dict[str, Any]:
    return {
        "problem": cold.problem,
        "refused": cold.refused[:20],
        "tokens": sum(map(len, cold.times)),
    }


def _memory() -> int:
    """Return the resident bytes of this process, after freed memory was returned to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
