"""The measured process: one engine and one vocabulary, schema after schema. ``runs.py`` starts it.

Usage: ``python -m json_schema.worker ENGINE VOCABULARY.pickle OPTIONS BETWEEN``; the options are JSON, and BETWEEN is
the work before each token and each schema: megabytes of memory to write, or ``model``. Each line of standard
input is a job: a schema and the instances as lists of tokens. Progress goes to standard output, one JSON object per
line, so that the parent has it even if the process is killed. As in a server, the process continues from schema to
schema, so caches that belong to the vocabulary stay, and the compile cache of grammask has its default size.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engines
import numpy as np
from comparison import clock
from comparison.eviction import eviction, model_evaluation
from comparison.vocabularies import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from engines import Engine

_WARM_UP = '{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}'
"""A schema for the warm-up over a vocabulary of bytes, so that no case includes the loading of code."""


def main(engine_name: str, vocabulary_file: str, options: str, between: str) -> None:
    """Create the vocabulary, then run jobs until standard input ends."""
    with Path(vocabulary_file).open("rb") as file:
        table = pickle.load(file)
    engine = engines.load(engine_name)
    if hasattr(engine, "SCHEMA_OPTIONS"):
        engine.SCHEMA_OPTIONS.update(json.loads(options))
    _warm_up(engine)
    vocabulary = engine.vocabulary(table)
    mask = np.zeros((1, -(-table.size // 32)), dtype=np.int32)
    evict = model_evaluation() if between == "model" else eviction(int(between))
    gc.collect()
    gc.freeze()
    gc.disable()
    _say(ready=True, version=engine.version(), settings=engine.SETTINGS)
    for line in sys.stdin:
        _run(engine, vocabulary, json.loads(line), mask, table.eos, evict)
        gc.collect()


def _run(
    engine: Engine,
    vocabulary: Any,
    job: Any,
    mask: npt.NDArray[np.int32],
    eos: int,
    evict: Callable[[], None],
) -> None:
    _say(phase="compile")
    evict()
    before = time.process_time_ns()
    try:
        compiled = engine.compile("json_schema", job["schema"], vocabulary)
        compile_ns = time.process_time_ns() - before
        _say(phase="first mask", compile_ns=compile_ns)
        before = time.process_time_ns()
        engine.start(compiled, mask).fill()
        _say(phase="instances", first_mask_ns=time.process_time_ns() - before)
    except Exception as error:  # noqa: BLE001
        _say(done=True, refused=_reasons(error), compile_ns=time.process_time_ns() - before)
        return
    rejected = []
    for index, tokens in enumerate(job["instances"]):
        outcome = _instance(engine, compiled, tokens, mask, eos, evict)
        _say(instance=outcome)
        if job["valid"][index] and not outcome["accepted"]:
            rejected.append(index)
    _try_other_orders(engine, compiled, job, rejected)
    relaxations = [_reason(item) for item in getattr(compiled, "relaxations", ())]
    _say(done=True, refused=None, relaxations=relaxations)


def _try_other_orders(engine: Engine, compiled: Any, job: Any, rejected: list[int]) -> None:
    """Test whether rejected valid instances are accepted in another key order, if the engine supports it."""
    is_accepted = getattr(engine, "is_accepted_in_some_order", None)
    if is_accepted is None or not rejected:
        return
    _say(phase="other orders")
    try:
        _say(
            only_order=[
                index for index in rejected if is_accepted(compiled, job["schema"], job["texts"][index])
            ]
        )
    except Exception as error:  # noqa: BLE001
        _say(other_orders_problem=f"{type(error).__name__}: {error}"[:300])


def _instance(
    engine: Engine,
    compiled: Any,
    tokens: list[int],
    mask: npt.NDArray[np.int32],
    eos: int,
    evict: Callable[[], None],
) -> dict[str, Any]:
    """Fill a mask and accept a token along an instance, up to the first token that is not allowed."""
    now, row = clock.now, mask[0]
    times: list[int] = []
    outcome: dict[str, Any] = {"accepted": False, "at": None, "problem": None, "times": times}
    try:
        steps = engine.start(compiled, mask)
        fill, accept = steps.fill, steps.accept
        overhead = clock.overhead()
        for position, token in enumerate(tokens):
            if position % clock.TOKENS_PER_LOOK == 0:
                overhead = clock.overhead()
            evict()
            before = now()
            fill()
            between = now()
            if not row[token >> 5] >> (token & 31) & 1:
                times.append(max(between - before - overhead, 1))
                outcome["at"] = position
                outcome["problem"] = steps.error()
                return outcome
            again = now()
            accepted = accept(token)
            after = now()
            times.append(max(between - before - overhead, 1) + max(after - again - overhead, 1))
            if not accepted:
                outcome["at"] = position
                outcome["problem"] = steps.error() or "a token of the mask was not accepted"
                return outcome
        evict()
        before = now()
        fill()
        times.append(max(now() - before - overhead, 1))
        is_complete = steps.is_complete or (lambda: bool(row[eos >> 5] >> (eos & 31) & 1))
        outcome["accepted"] = is_complete()
        outcome["problem"] = steps.error()
        if not outcome["accepted"]:
            outcome["at"] = len(tokens)
    except Exception as error:  # noqa: BLE001
        outcome["accepted"] = False
        outcome["at"] = len(times)
        outcome["problem"] = f"{type(error).__name__}: {error}"[:500]
    return outcome


def _reasons(error: Exception) -> list[dict[str, Any]]:
    diagnostics = getattr(error, "diagnostics", None)
    if diagnostics:
        return [_reason(item) for item in diagnostics if item.severity == "error"]
    return [{"code": type(error).__name__, "pointer": None, "message": str(error)[:500]}]


def _reason(diagnostic: Any) -> dict[str, Any]:
    return {"code": diagnostic.code, "pointer": diagnostic.pointer, "message": diagnostic.message[:500]}


def _warm_up(engine: Engine) -> None:
    table = byte_vocabulary()
    mask = np.zeros((1, -(-table.size // 32)), dtype=np.int32)
    steps = engine.start(engine.compile("json_schema", _WARM_UP, engine.vocabulary(table)), mask)
    for token in b'{"a": "b"}':
        steps.fill()
        steps.accept(token)


def _say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
