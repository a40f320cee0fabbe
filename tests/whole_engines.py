"""Runs whole engines in tests, with common requests, and checks outputs by a separate matcher."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask import Grammar
from grammask.integrations.serving.server_vocabulary import vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 600
"""Maximum time for the start of a server."""
SERVERS = Path(__file__).parent / "integrations" / "servers"
WIDTH = 320
"""The width of the tiny model's logits, which is larger than the size of its tokenizer."""

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["yes", "no"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
NESTED = 'root ::= "(" root ")" | "x"'
GRAMMARS: dict[str, tuple[dict[str, Any], dict[str, Any], Grammar]] = {
    "schema": ({"json": SCHEMA}, {"json_schema": SCHEMA}, Grammar.from_json_schema(SCHEMA)),
    "regex": ({"regex": "[ab]{3,9}!|né*"}, {"regex": "[ab]{3,9}!|né*"}, Grammar.from_regex("[ab]{3,9}!|né*")),
    "nested": ({"grammar": NESTED}, {"ebnf": NESTED}, Grammar.from_gbnf(NESTED)),
}
"""By name, the constraint in a request of vLLM, that in a request of SGLang, and the grammar."""


def check(name: str, tokens: list[int], reason: str, tokenizer: Any) -> bool:
    """Assert that an output is a text of its grammar, or the beginning of one; return whether it is whole."""
    matcher = GRAMMARS[name][2].compile(vocabulary_of(tokenizer, WIDTH)).matcher()
    assert all(matcher.accept(token) for token in tokens), tokenizer.decode(tokens)
    assert matcher.is_finished == (reason == "stop")
    return bool(matcher.is_finished)


def run_engine(
    program: str, folder: Path, jobs: Any, plugins: dict[str, dict[str, str]], **environment: str
) -> Any:
    """Run a program in a process of its own, with jobs as JSON, and return its results.

    Args:
        program: Its name in the folder of tests of servers; it prints its results as JSON after a line ``RESULTS``.
        folder: Its argument.
        jobs: What it reads from standard input.
        plugins: Entry points by group, which the engine finds in all its processes, unless what is installed has them.
        environment: Further variables.
    """
    ended = subprocess.run(
        [sys.executable, str(SERVERS / program), str(folder)],
        input=json.dumps(jobs),
        env=engine_environment(folder, plugins, environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-6000:]
    return json.loads(ended.stdout.rsplit("RESULTS", 1)[1].splitlines()[0])


@contextmanager
def served(
    arguments: list[str], folder: Path, plugins: dict[str, dict[str, str]], **environment: str
) -> Iterator[str]:
    """Run a server of OpenAI's interface on this machine, and give its address.

    Args:
        arguments: The module and its options, without the host and the port.
        folder: Where its output goes.
        plugins: As for :func:`run_engine`.
        environment: Further variables.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    output = folder / "server.log"
    command = [sys.executable, "-m", *arguments, "--host", "127.0.0.1", "--port", str(port)]
    with (
        output.open("wb") as log,
        subprocess.Popen(
            command,
            env=engine_environment(folder, plugins, environment),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as server,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_up(port):
                assert server.poll() is None, output.read_text(errors="replace")[-6000:]
                assert time.monotonic() < deadline, output.read_text(errors="replace")[-6000:]
                time.sleep(2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(60)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGKILL)


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def engine_environment(
    folder: Path, plugins: dict[str, dict[str, str]], variables: dict[str, str]
) -> dict[str, str]:
    """Return the environment of an engine that finds grammask and plugins, which are described in a folder."""
    for group, entries in plugins.items():
        known = {point.name for point in metadata.entry_points(group=group)}
        for name, entry in entries.items():
            described = folder / "plugins" / f"{name}-0.dist-info"
            if name not in known and not described.exists():
                described.mkdir(parents=True)
                (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
                (described / "entry_points.txt").write_text(f"[{group}]\n{name} = {entry}\n")
    paths = [folder / "plugins", SERVERS, SERVERS.parents[2] / "python", os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **variables,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
