"""Threads that read requests and compile their grammars, each request within a deadline.

Reading an untrusted grammar may take as long as its limits admit. It has threads of its own, so that generation and
other requests never wait for one, and a client gets its answer at the deadline even if a reader misses it.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import ParamSpec

    _Parameters = ParamSpec("_Parameters")

__all__ = ["DeadlineExceeded", "ReadingPool", "RequestDeadline"]

_Result = TypeVar("_Result")

_MAX_THREADS = 8
"""Maximum number of requests that are read at the same time; further ones wait, within their deadlines. It bounds the
memory of hostile requests to 8 times that of their limits."""


class DeadlineExceeded(Exception):
    """A request was not read and compiled in time."""

    code = "limit-exceeded"


class ReadingPool:
    """The threads.

    Args:
        seconds: The time from the arrival of a request until its grammar is compiled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(_MAX_THREADS, "grammask-reader")

    def deadline(self) -> RequestDeadline:
        """Returns the deadline of a request that arrives now."""
        return RequestDeadline(self._threads, self._seconds)

    def close(self) -> None:
        """Ends the threads after what they are doing."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class RequestDeadline:
    """The deadline of a request, with the threads that work for it."""

    def __init__(self, threads: ThreadPoolExecutor, seconds: float) -> None:
        self._threads = threads
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    async def run(
        self,
        function: Callable[_Parameters, _Result],
        *arguments: _Parameters.args,
        **keywords: _Parameters.kwargs,
    ) -> _Result:
        """Calls a function in a thread.

        Raises:
            DeadlineExceeded: The result did not come in time. A call that has begun ends by its own limits.
        """
        loop = asyncio.get_running_loop()
        call = functools.partial(function, *arguments, **keywords)
        result = loop.run_in_executor(self._threads, call)
        try:
            return await asyncio.wait_for(result, max(0.0, self._end - loop.time()))
        except asyncio.TimeoutError:
            msg = f"reading and compiling the request took more than {self._seconds:g} s"
            raise DeadlineExceeded(msg) from None
