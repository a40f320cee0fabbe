"""Runs one engine over cases in its own process, with limits on time and memory; caches each result on disk.

Results are JSON lines, one per case, in a file whose name contains engine, build, vocabulary, spelling and turn. An
interrupted run resumes; a new build of an engine starts a new file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from json_schema import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tiktoken
    from comparison.vocabularies import TokenTable

_BENCHES = Path(__file__).parents[1]
_PROTOCOL = 2
"""Raised when results of an older worker must not be reused."""
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Limits:
    """Limits of one case."""

    seconds: float
    """Wall time of one step of a case: compiling, the first mask, or an instance."""
    memory_bytes: int
    """Resident memory of the process. Above half of it, the process is replaced between two cases."""


@dataclass(frozen=True)
class Run:
    """One engine over one folder of cases."""

    engine: str
    table: TokenTable
    folder: Path
    spelling: str
    results: Path
    options: str = "{}"
    """Schema options as JSON, for engines that support them (grammask)."""
    turn: int = 0
    """Number of the turn."""
    between: str = "0"
    """Other work before each token and each schema: megabytes of memory to write, or ``model``."""
    most_tokens: int | None = None
    """Maximum number of tokens of an instance that are read; the rest is cut off."""

    @property
    def file(self) -> Path:
        """Folder of the results."""
        parts = [self.engine, build(self.engine), self.table.name, self.spelling, str(_PROTOCOL)]
        if self.options != "{}":
            parts.append(hashlib.sha256(self.options.encode()).hexdigest()[:6])
        if self.between != "0":
            parts.append(f"cold{self.between}")
        if self.most_tokens is not None:
            parts.append(f"most{self.most_tokens}")
        if self.turn:
            parts.append(f"turn{self.turn}")
        return self.results / f"{'-'.join(parts)}.jsonl"

    def known(self) -> dict[str, dict[str, Any]]:
        """Read the existing results, by name of case."""
        if not self.file.exists():
            return {}
        results = {}
        for line in self.file.read_text("utf-8").splitlines():
            try:
                result = json.loads(line)
            except json.JSONDecodeError:  # The last line of a killed run.
                continue
            results[result["case"]] = result
        return results

    def measure(self, names: list[str], limits: Limits) -> Iterator[dict[str, Any]]:
        """Measure the cases without a result, and yield each result after it was written to disk."""
        known = self.known()
        missing = [name for name in names if name not in known]
        if not missing:
            return
        encoding = self.table.encoding()
        self.results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch, self.file.open("a", encoding="utf-8") as output:
            vocabulary = Path(scratch) / "vocabulary.pickle"
            vocabulary.write_bytes(pickle.dumps(self.table))
            worker: _Worker | None = None
            try:
                for name in missing:
                    if worker is None or not worker.is_usable(limits):
                        if worker is not None:
                            worker.close()
                        worker = _Worker(self.engine, vocabulary, self.options, self.between)
                    result = self._one(worker, encoding, name, limits)
                    output.write(json.dumps(result) + "\n")
                    output.flush()
                    yield result
            finally:
                if worker is not None:
                    worker.close()

    def _one(self, worker: _Worker, encoding: tiktoken.Encoding, name: str, limits: Limits) -> dict[str, Any]:
        case = cases.load(self.folder, name, self.spelling)
        instances = [
            encoding.encode_ordinary(instance.text)[: self.most_tokens] for instance in case.instances
        ]
        labels = [instance.is_valid for instance in case.instances]
        texts = [instance.text for instance in case.instances]
        job = {"schema": case.schema, "instances": instances, "texts": texts, "valid": labels}
        facts = worker.run(job, limits)
        lengths = [len(instance) for instance in instances]
        return {"case": name, "valid": labels, "lengths": lengths, "features": case.features, **facts}


class _Worker:
    """A measured process."""

    def __init__(self, engine: str, vocabulary: Path, options: str, between: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "json_schema.worker",
                engine,
                str(vocabulary),
                options,
                between,
            ],
            cwd=_BENCHES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        ready, problem = self._next(Limits(300, 1 << 62))
        if ready is None:
            msg = f"{engine} did not start: {problem}"
            raise RuntimeError(msg)
        self.facts = ready

    def is_usable(self, limits: Limits) -> bool:
        """Whether the process is alive and below its memory limit."""
        return self._process.poll() is None and self._resident() < limits.memory_bytes / 2

    def run(self, job: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Run a job, and collect the output of the process until it finishes or is killed."""
        assert self._process.stdin is not None  # stdout=PIPE
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()
        facts: dict[str, Any] = {"instances": [], "ended": None, "version": self.facts["version"]}
        while True:
            said, problem = self._next(limits)
            if said is None:
                # Failures of additional questions must not affect the verdicts.
                is_after = facts.get("phase") == "other orders"
                facts["other_orders_problem" if is_after else "ended"] = problem
                return facts
            if "instance" in said:
                facts["instances"].append(said["instance"])
            else:
                facts |= said
            if said.get("done"):
                return facts

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _next(self, limits: Limits) -> tuple[dict[str, Any] | None, str | None]:
        """Wait for the next output of the process, or return why there is none."""
        deadline = time.monotonic() + limits.seconds
        while True:
            try:
                line = self._lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() > deadline:
                    return None, self._kill(f"no end within {limits.seconds:.0f} s")
                if self._resident() > limits.memory_bytes:
                    return None, self._kill(f"more than {limits.memory_bytes / 2**30:.0f} GiB of memory")
                continue
            return (json.loads(line), None) if line is not None else (None, self._crash())

    def _kill(self, reason: str) -> str:
        self._process.kill()
        self._process.wait()
        return reason

    def _crash(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
        message = lines[-1][:300] if lines else "no message"
        return f"crash, signal {-code}: {message}" if code < 0 else f"exit {code}: {message}"

    def _resident(self) -> int:
        try:
            return int(Path(f"/proc/{self._process.pid}/statm").read_text("ascii").split()[1]) * 4096
        except (OSError, IndexError):
            return 0

    def _read(self) -> None:
        assert self._process.stdout is not None  # stdout=PIPE
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


def build(engine: str) -> str:
    """Return the version or the hash of the installed engine."""
    if not engine.startswith("grammask"):
        return importlib.metadata.version(engine)
    extension = importlib.util.find_spec("grammask._grammask")
    assert extension is not None
    assert extension.origin is not None  # the installed package under test
    return hashlib.sha256(Path(extension.origin).read_bytes()).hexdigest()[:12]
