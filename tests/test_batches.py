"""Batches, views of masks and threads from Python."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grammask
import numpy as np
import pytest
from grammask import DeadEnd, Grammar, Matcher, Vocabulary, allocate_mask, fill_masks

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [b"true", b'":', b"[[", None], eos=259)
JSON = Grammar.from_kbnf(
    r"""
    start ::= value; value ::= object | array | string | number | "true";
    object ::= "{" (string ":" value ("," string ":" value)*)? "}"; array ::= "[" (value ("," value)*)? "]";
    string ::= #'"[^"\\\\]*"'; number ::= #"-?[0-9]+";
    """
)


def texts() -> list[bytes]:
    return [b"[" * depth + b'{"' + b"ab"[: depth % 3] for depth in range(12)] + [
        b"1",
        b"[1,",
        b'{"a":',
        b"",
        b"[]",
    ]


def matchers(cache: bool = True) -> list[Matcher]:  # noqa: FBT001, FBT002
    compiled = JSON.compile(BYTES, cache=cache)
    made = [compiled.matcher() for _ in texts()]
    assert all(matcher.accept_bytes(text) for matcher, text in zip(made, texts(), strict=True))
    return made


@pytest.fixture(params=[1, 4])
def threads(request: pytest.FixtureRequest) -> int:
    grammask.set_threads(request.param)
    assert grammask.threads() == request.param
    yield request.param
    grammask.set_threads()


def test_batches_equal_single_masks(threads: int) -> None:
    several = matchers(cache=False)
    batch = allocate_mask(len(several), BYTES.size)
    fill_masks(several, batch)
    for matcher, row in zip(matchers(cache=False), batch, strict=True):
        single = allocate_mask(1, BYTES.size)
        matcher.fill_mask(single)
        assert (row == single[0]).all()
    again = np.full((len(several) + 3, batch.shape[1] * 2), -1, np.int32)
    order = list(range(len(several), 0, -1))
    fill_masks(several, again[:, ::2], order)
    assert (again[order, ::2] == batch).all()
    assert (again[[0, -1, -2]] == -1).all()
    assert (again[:, 1::2] == -1).all()


def test_large_batches_are_copied_by_all_threads(threads: int) -> None:
    vocabulary = Vocabulary([b"a", b"b", None], eos=2, size=1_000_000)
    matcher = Grammar.from_kbnf('start ::= "a" start | "b";').compile(vocabulary).matcher()
    mask = allocate_mask(40, vocabulary.size)
    fill_masks([matcher] * 40, mask)
    assert (mask[:, 0] == 3).all()
    assert not mask[:, 1:].any()


def test_errors_name_the_row(threads: int) -> None:
    vocabulary = Vocabulary([b"a", None], eos=1)
    dead = Grammar.from_kbnf('start ::= "a" "c";').compile(vocabulary).matcher()
    assert dead.accept(0)
    good = Grammar.from_kbnf('start ::= "a";').compile(vocabulary).matcher()
    for batch, row in (([good, good, dead, dead], 2), ([dead], 0)):
        mask = np.full((4, 1), -1, np.int32)
        with pytest.raises(DeadEnd) as raised:
            fill_masks(batch, mask)
        assert raised.value.row == row
        assert (mask == -1).all()


def test_rows_are_checked_before_anything_is_written() -> None:
    several = matchers()[:3]
    mask = np.full((3, 9), -1, np.int32)
    for rows, message in (
        ([0, 1, 3], "row 3"),
        ([0, 1, 1], "row 1 is given twice"),
        ([0, 1], "as many rows"),
    ):
        with pytest.raises(ValueError, match=message):
            fill_masks(several, mask, rows)
    with pytest.raises(ValueError, match=r"\[rows, words\]"):
        fill_masks(several, mask[0])
    with pytest.raises(TypeError):
        fill_masks([None], mask)  # type: ignore[list-item]
    assert (mask == -1).all()
    fill_masks(several[:1], mask[1])
    assert (mask[[0, 2]] == -1).all()
    assert (mask[1] != -1).any()


def test_rows_may_lie_anywhere() -> None:
    several = matchers()[:3]
    expected = allocate_mask(3, BYTES.size)
    fill_masks(several, expected)
    words = expected.shape[1]
    unaligned = np.zeros(expected.nbytes + 1, np.uint8)[1:].view(np.int32).reshape(expected.shape)
    assert not unaligned.flags.aligned
    backwards = np.zeros((6, words * 2), np.int32)[::-2, ::-2]
    by_column = np.zeros((words, 3), np.int32).T
    for mask in (unaligned, backwards, by_column):
        fill_masks(several, mask)
        assert (mask == expected).all()
        mask[:] = -1
        several[2].fill_mask(mask, 1)
        assert (mask[1] == expected[2]).all()
        assert (mask[[0, 2]] == -1).all()
    fixed = np.full_like(expected, -1)
    fixed.flags.writeable = False
    for fill in (
        lambda: fill_masks(several, fixed),
        lambda: several[0].fill_mask(fixed),
        lambda: several[0].fill_mask(fixed[0]),
    ):
        with pytest.raises(ValueError, match="not writeable"):
            fill()
    assert (fixed == -1).all()


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_wrong_environment_is_refused(value: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import grammask"],
        env={**os.environ, "GRAMMASK_THREADS": value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "GRAMMASK_THREADS" in run.stderr
    with pytest.raises(ValueError, match="at least one"):
        grammask.set_threads(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_has_its_own_threads() -> None:
    code = """if True:
        import os, sys
        sys.path.insert(0, sys.argv[1])
        import grammask, test_batches
        grammask.set_threads(3)
        mask = grammask.allocate_mask(17, 260)
        grammask.fill_masks(test_batches.matchers(cache=False), mask)
        child = os.fork()
        grammask.fill_masks(test_batches.matchers(cache=False), mask)
        if child == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """
    folder = os.path.dirname(__file__)  # noqa: PTH120
    subprocess.run([sys.executable, "-c", code, folder], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="short calls are not waited for without the lock",
)
def test_processes_forked_while_threads_compile_go_on() -> None:
    """Nothing is locked in a forked process, whatever the threads of the other one were at."""
    code = """if True:
        import os, signal, threading, time
        import grammask

        vocabulary = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)

        def work(number, **options):
            schema = {"properties": {f"a{number}": {"pattern": f"^[a-z]{{1,9}}x{number}"},
                "b": {"type": "integer", "minimum": number}}, "type": "object"}
            matcher = grammask.Grammar.from_json_schema(schema).compile(vocabulary, **options).matcher()
            matcher.mask()
            assert matcher.accept_bytes(b'{"')
            matcher.mask()

        def work_on(number, options):
            while True:
                work(number, **options)
                number += 4

        # A module that a thread imports while another one forks stays locked in the forked process; that is Python's.
        work(10**7)
        for number in range(4):
            options = {"cache": False} if number % 2 else {}
            threading.Thread(target=work_on, args=(number, options), daemon=True).start()
        for number in range(80):
            time.sleep(0.002)
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                work(10**6 + number)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0, f"process {number} did not end"
        os._exit(7)
    """
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, timeout=300)
    assert run.returncode == 7


def test_views_show_masks_without_copies() -> None:
    matcher = JSON.compile(BYTES).matcher()
    first = matcher.mask()
    copy = allocate_mask(1, BYTES.size)[0]
    matcher.fill_mask(copy)
    assert first.dtype == np.int32
    assert first.shape == copy.shape
    assert (first == copy).all()
    assert first.ctypes.data == matcher.mask().ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    assert matcher.accept_bytes(b"[")
    assert not (matcher.mask() == copy).all()
    del matcher
    assert (first == copy).all()


def test_many_threads_share_a_grammar() -> None:
    expected = allocate_mask(len(texts()), BYTES.size)
    fill_masks(matchers(), expected)
    for _ in range(3):
        compiled = JSON.compile(BYTES, cache=False)
        start = threading.Barrier(8)

        def run(
            offset: int, compiled: grammask.CompiledGrammar = compiled, start: threading.Barrier = start
        ) -> bool:
            start.wait()
            equal = True
            for index in range(len(texts())):
                number = (index + offset) % len(texts())
                matcher = compiled.matcher()
                equal &= matcher.accept_bytes(texts()[number])
                mask = allocate_mask(1, BYTES.size)
                fill_masks([matcher], mask)
                equal &= bool((mask[0] == expected[number]).all()) and bool(
                    (matcher.mask() == expected[number]).all()
                )
            return equal

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(run, range(8)))
