"""Grammars go to other processes as pickles, are compiled once in each, and give the same masks there."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from grammask import CompileCache, Grammar, Limits, Vocabulary, default_compile_cache

ROOT = Path(__file__).parents[3]
TOKENS = [*(bytes([byte]) for byte in range(256)), b"ab", b'{"', b'":', b"true", None]

WORK = """
import pickle, sys
from grammask import default_compile_cache
vocabulary, rows = pickle.load(sys.stdin.buffer)
masks = []
for row in rows:
    compiled = pickle.loads(row).compile(vocabulary)
    masks.append(compiled.matcher().mask().tobytes())
pickle.dump((masks, default_compile_cache.stats()), sys.stdout.buffer)
"""


def grammars() -> list[Grammar]:
    return [
        Grammar.from_kbnf('start ::= "ab" start | "a";'),
        Grammar.from_regex("[0-9]{2}", limits=Limits(seconds=5)),
        Grammar.from_choices(["ab", b"true"]),
        Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "boolean"}}}, indent=2),
        Grammar.from_json_schema('{"type": "array"}', whitespace="compact"),
        Grammar.from_gbnf('root ::= "ab" [^a]*'),
        Grammar.from_xgrammar_ebnf('main ::= "ab" [^a]*', root="main"),
    ]


def test_other_processes() -> None:
    vocabulary = Vocabulary(TOKENS, special={"<end>": 260}, eos=260)
    rows = [pickle.dumps(grammar) for grammar in grammars()]
    assert max(map(len, rows)) < 1000
    result = subprocess.run(
        [sys.executable, "-c", WORK],
        input=pickle.dumps((vocabulary, rows * 3)),
        capture_output=True,
        check=True,
    )
    masks, stats = pickle.loads(result.stdout)
    assert masks == [grammar.compile(vocabulary).matcher().mask().tobytes() for grammar in grammars()] * 3
    assert (stats["misses"], stats["hits"]) == (len(rows), 2 * len(rows))


def test_pickled_caches_are_empty() -> None:
    vocabulary = Vocabulary(TOKENS, eos=260)
    cache = CompileCache(max_bytes=1 << 20)
    grammars()[0].compile(vocabulary, cache=cache)
    again = pickle.loads(pickle.dumps(cache))
    assert again is not cache
    assert (again.max_bytes, again.stats()["entries"], cache.stats()["entries"]) == (1 << 20, 0, 1)
    assert pickle.loads(pickle.dumps(default_compile_cache)) is default_compile_cache


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore")
def test_forked_processes() -> None:
    vocabulary = Vocabulary(TOKENS, eos=260)
    here = [grammar.compile(vocabulary).matcher().allowed_ids().tolist() for grammar in grammars()]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(_allowed, [(vocabulary, grammar) for grammar in grammars()])
    assert there == here


def _allowed(job: tuple[Vocabulary, Grammar]) -> list[int]:
    vocabulary, grammar = job
    allowed: list[int] = grammar.compile(vocabulary).matcher().allowed_ids().tolist()
    return allowed


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_example_on_ray() -> None:
    environment = {**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1"}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "examples/ray_data.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    *answers, summary = result.stdout.splitlines()
    assert summary == "24 rows, 3 grammars compiled"
    for number, answer in enumerate(map(json.loads, answers)):
        if number % 3 == 1:
            assert len(answer) == 2
            assert all(1 <= value <= 6 for value in answer)
        else:
            assert list(answer) == [["city"], [], ["yes"]][number % 3]
