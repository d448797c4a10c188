"""Threads that ask the index, so that the event loop never waits; bounded, and so is who waits for them."""

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
    """`threads` calls at a time, four times as many waiting; more are refused at once.

    A call that takes too long keeps its thread until it ends: what is hung is never doubled.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._seconds = seconds
        self._places = threads * (1 + WAITING_PER_THREAD)
        self._taken = 0

    @property
    def taken(self) -> int:
        """Calls that run or wait."""
        return self._taken

    async def run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The call's result. Raises `RequestError` (overloaded, timeout) and whatever the call raises."""
        if self._taken >= self._places:
            raise RequestError("overloaded")
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        self._taken += 1
        future = self._executor.submit(context.run, lambda: call(*args, **kwargs))
        future.add_done_callback(lambda _: _call_soon(loop, self._give_back))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except asyncio.TimeoutError as error:
            raise RequestError("timeout", f"not within {self._seconds:g} s") from error

    def close(self) -> None:
        """Take no more; running calls end by themselves."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _give_back(self) -> None:
        self._taken -= 1


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
