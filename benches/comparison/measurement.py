"""Runs one engine on one case in its own process, with limits on time and memory; caches the result on disk."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from comparison.cases import Case
    from comparison.vocabularies import TokenTable

_BENCHES = Path(__file__).parents[1]
_SAMPLED_MASKS = 48
_MEDIANS = (
    "compile_ns",
    "first_mask_ns",
    "again_ns",
    "stream_ns",
    "mean_ns",
    "memory_bytes",
    "floor_p50_ns",
    "floor_stream_ns",
    "load",
)
"""Facts of a process that are replaced by their median over several turns."""


@dataclass(frozen=True)
class Limits:
    """Limits of a measured process, and the run that it belongs to."""

    pass_seconds: float
    """CPU time after which a pass over the documents stops."""
    seconds: float
    """CPU time after which the process is killed; wall time is limited to four times as much."""
    memory_bytes: int
    cold_megabytes: int
    """Unrelated memory that is written before each token and each compilation."""
    run: str
    """Start of the run. A cached measurement keeps that of its own run, and the results name it."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of one engine on one case."""

    engine: str
    case: str
    vocabulary: str
    facts: dict[str, Any]
    """The output of the process, and ``ended``: why it did not finish, or None."""
    arrays: dict[str, npt.NDArray[Any]]

    @property
    def failure(self) -> str | None:
        """Why there are no times, or None."""
        return (
            None
            if "cold_0" in self.arrays and len(self.times("cold"))
            else self.facts["ended"] or self.facts.get("problem") or "no tokens"
        )

    @property
    def mean_ns(self) -> float:
        """CPU nanoseconds per token of the cold pass, from the process without a clock per token if it finished."""
        mean = self.facts.get("mean_ns")
        return float(self.times("cold").mean()) if mean is None else float(mean)

    def times(self, which: str) -> npt.NDArray[np.int64]:
        """Return CPU nanoseconds per token of the ``cold`` or ``warm`` pass over all documents."""
        return np.concatenate([*self.by_document(which), np.zeros(0, dtype=np.int64)])

    def by_document(self, which: str) -> list[npt.NDArray[np.int64]]:
        """Return CPU nanoseconds per token of the ``cold`` or ``warm`` pass, by document."""
        count = sum(name.startswith(f"{which}_") for name in self.arrays)
        return [self.arrays[f"{which}_{index}"] for index in range(count)]

    def masks(self) -> dict[tuple[int, int], npt.NDArray[np.int32]]:
        """Return the sampled masks by document and position."""
        rows = (
            (name.removeprefix("mask_").split("/"), row)
            for name, row in self.arrays.items()
            if name.startswith("mask_")
        )
        return {(int(document), int(position)): row for (document, position), row in rows}


def samples(documents: list[list[int]], seed: str) -> list[tuple[int, int]]:
    """Choose the places whose masks are compared: the beginnings of documents, and random places, mostly early ones."""
    random_ = random.Random(f"samples {seed}")
    places = {
        (index, position)
        for index in range(min(len(documents), 6))
        for position in range(min(2, len(documents[index])))
    }
    total = sum(map(len, documents))
    while len(places) < min(_SAMPLED_MASKS, total // 2):
        document = random_.choices(range(len(documents)), weights=[len(tokens) for tokens in documents])[0]
        places.add((document, int(len(documents[document]) * random_.random() ** 2)))
    return sorted(places)


def combined(turns: list[Measurement]) -> Measurement:
    """Combine several turns into one measurement by the median of each token and of each fact of the process.

    Expensive tokens are expensive in each turn, while interruptions by other programs hit different tokens. Masks and
    verdicts are those of the first turn.
    """
    first = turns[0]
    timed = [turn for turn in turns if not turn.failure]
    if len(turns) == 1 or not timed:
        return first
    arrays = dict(first.arrays)
    for name in arrays:
        if name.startswith(("cold_", "warm_")):
            found = [turn.arrays[name] for turn in timed if name in turn.arrays]
            count = min(map(len, found))
            arrays[name] = np.median([times[:count] for times in found], axis=0).astype(np.int64)
    facts = dict(first.facts)
    for turn in turns:
        facts["ended"] = facts["ended"] or turn.facts["ended"]
        facts["problem"] = facts.get("problem") or turn.facts.get("problem")
    for name in _MEDIANS:
        values = [turn.facts[name] for turn in timed if turn.facts.get(name) is not None]
        if values:
            facts[name] = float(np.median(values))
    facts["means_ns"] = [turn.mean_ns for turn in timed]
    return Measurement(first.engine, first.case, first.vocabulary, facts, arrays)


def measure(
    engine: str,
    case: Case,
    table: TokenTable,
    documents: list[list[int]],
    limits: Limits,
    folder: Path,
    turn: int = 0,
) -> Measurement:
    """Measure, or read the cached measurement with the same inputs in the same turn."""
    language = next((language for language in _languages(engine) if language in case.grammars), None)
    if language is None:
        return Measurement(
            engine, case.name, table.name, {"ended": "cannot be written in its grammar languages"}, {}
        )
    key = hashlib.sha256(
        repr(
            (
                engine,
                _build(engine),
                case.grammars[language],
                table.name,
                documents,
                limits.pass_seconds,
                limits.cold_megabytes,
                _source(),
                turn,
            )
        ).encode()
    ).hexdigest()[:16]
    stem = folder / f"{case.name}.{engine}.{table.name}.{key}"
    facts = _facts(engine, language, case, table, documents, limits, stem)
    arrays_file = Path(f"{stem}.npz")
    arrays = dict(np.load(arrays_file)) if arrays_file.exists() else {}
    found = Measurement(engine, case.name, table.name, facts, arrays)
    if not found.failure and not limits.cold_megabytes:
        # In a separate process, since states are new only once.
        counts = [len(times) for times in found.by_document("cold")]
        undisturbed = Path(f"{stem}.mean")
        facts["mean_ns"] = _facts(engine, language, case, table, documents, limits, undisturbed, counts).get(
            "mean_ns"
        )
    return found


def _facts(
    engine: str,
    language: str,
    case: Case,
    table: TokenTable,
    documents: list[list[int]],
    limits: Limits,
    stem: Path,
    tokens: list[int] | None = None,
) -> dict[str, Any]:
    """Return the output of the measured process, which runs unless its output is cached."""
    file = Path(f"{stem}.json")
    if file.exists():
        known: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return known
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "input.pickle"
        source.write_bytes(pickle.dumps((table, documents)))
        job = Path(scratch) / "job.json"
        job.write_text(
            json.dumps(
                {
                    "engine": engine,
                    "language": language,
                    "grammar": case.grammars[language],
                    "input": str(source),
                    "output": f"{stem}.npz",
                    "samples": samples(documents, case.name),
                    "seconds": limits.pass_seconds,
                    "tokens": tokens,
                    "cold_megabytes": limits.cold_megabytes,
                }
            )
        )
        errors = Path(scratch) / "errors.txt"
        with errors.open("wb") as error_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "comparison.worker", str(job)],
                cwd=_BENCHES,
                stdout=subprocess.PIPE,
                stderr=error_file,
            )
            started = time.monotonic()
            ended = _watch(process, limits)
        facts: dict[str, Any] = {
            "language": language,
            "run": limits.run,
            "load": os.getloadavg()[0],
            "seconds": time.monotonic() - started,
        }
        for line in ended.lines:
            facts |= json.loads(line)
        facts["ended"] = None if facts.get("phase") == "done" else _reason(ended, facts, errors)
    file.write_text(json.dumps(facts, indent=1))
    return facts


@dataclass
class _Ended:
    """The end of a process."""

    lines: list[bytes]
    code: int | None = None
    killed: str | None = None


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> _Ended:
    """Wait for a process; kill it if it exceeds a limit."""
    ended = _Ended([])
    stdout = process.stdout
    assert stdout is not None  # stdout=PIPE
    reader = threading.Thread(target=lambda: ended.lines.extend(stdout))
    reader.start()
    deadline = time.monotonic() + 4 * limits.seconds
    while process.poll() is None:
        if _cpu_seconds(process.pid) > limits.seconds or time.monotonic() > deadline:
            ended.killed = f"no end within {limits.seconds:.0f} s"
        elif _resident(process.pid) > limits.memory_bytes:
            ended.killed = f"more than {limits.memory_bytes / 2**30:.0f} GiB of memory"
        if ended.killed:
            process.kill()
            break
        time.sleep(0.05)
    ended.code = process.wait()
    reader.join()
    return ended


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def _reason(ended: _Ended, facts: dict[str, Any], errors: Path) -> str:
    """Return why a process did not finish, and its phase."""
    phase = facts.get("phase", "import")
    if ended.killed:
        return f"{phase}: {ended.killed}"
    lines = [line for line in errors.read_text("utf-8", "replace").splitlines() if line.strip()]
    if ended.code is not None and ended.code < 0:
        return f"{phase}: crash, signal {-ended.code}"
    message = next((line for line in reversed(lines) if not line.startswith((" ", "\t"))), "no message")
    return f"{phase}: {message}"[:300]


def _languages(engine: str) -> tuple[str, ...]:
    """Return the grammar languages of an engine, without importing it."""
    return {
        "grammask": ("kbnf",),
        "kbnf": ("kbnf",),
        "llguidance": ("lark",),
        "xgrammar": ("builtin", "ebnf", "regex"),
    }[engine]


def _build(engine: str) -> str:
    """Return the version or the hash of the installed engine."""
    import importlib.metadata
    import importlib.util

    if engine != "grammask":
        return importlib.metadata.version(engine)
    extension = importlib.util.find_spec("grammask._grammask")
    assert extension is not None
    assert extension.origin is not None  # the installed package under test
    return hashlib.sha256(Path(extension.origin).read_bytes()).hexdigest()


def _source() -> str:
    """Return a hash of the measuring code."""
    files = [
        Path(__file__).with_name("worker.py"),
        Path(__file__).with_name("clock.py"),
        Path(__file__).with_name("eviction.py"),
        *sorted((_BENCHES / "engines").glob("*.py")),
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
