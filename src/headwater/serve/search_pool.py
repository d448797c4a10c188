"""Threads for index calls, so that the event loop never blocks; threads and queue are bounded."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from headwater.serve.problems import RequestError

WAITING_PER_THREAD = 4
_P = ParamSpec("_P")
_T = TypeVar("_T")


class SearchPool:
    """Runs `threads` calls at a time and queues four times as many; rejects others at once.

    A call that times out keeps its thread until it ends, so that hanging calls never accumulate.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._seconds = seconds
        self._slots = threads * (1 + WAITING_PER_THREAD)
        self._taken = 0

    @property
    def taken(self) -> int:
        """The number of running and waiting calls."""
        return self._taken

    async def run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run the call in a thread and return its result. Raises `RequestError` (overloaded, timeout) and the
        errors of the call."""
        if self._taken >= self._slots:
            raise RequestError("overloaded")
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        self._taken += 1
        future = self._executor.submit(context.run, lambda: call(*args, **kwargs))
        future.add_done_callback(lambda _: _call_soon(loop, self._give_back))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except asyncio.TimeoutError as error:
            raise RequestError("timeout", f"the limit is {self._seconds:g} s") from error

    def close(self) -> None:
        """Reject new calls; running calls finish."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _give_back(self) -> None:
        self._taken -= 1


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
