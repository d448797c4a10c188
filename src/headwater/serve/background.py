"""Background tasks of the server: refresh the index, and record its age."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from headwater.serve.service import LagSample, Service

SAMPLE_SECONDS = 5.0
POLL_SECONDS = 2.0
"""Seconds between two reads of the index's age if another process keeps the index up to date."""
LEARN_SECONDS = 600.0
"""Seconds between two reads of the words of all rows, used to correct misspelt queries: each takes seconds
of CPU."""
_LONGEST_PAUSE = 60.0
log = structlog.stdlib.get_logger(__name__)


async def refresh_for_ever(refresh: Callable[[], None], interval: float, name: str = "sync") -> None:
    """Call `refresh` repeatedly, `interval` seconds apart, in a separate thread called `name`.

    After a failure the pause doubles, up to a minute; requests use the last good index.
    """
    pause = interval = interval or POLL_SECONDS
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        while True:
            try:
                await loop.run_in_executor(thread, refresh)
                pause = interval
            # On any error, a server that still has an index keeps answering from it.
            except Exception as error:
                pause = min(_LONGEST_PAUSE, pause * 2)
                log.warning("index refresh failed; retrying", step=name, error=str(error), again_in=pause)
            await asyncio.sleep(pause)
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


async def sample_for_ever(service: Service) -> None:
    """Record the age of the index, for the plot."""
    while True:
        service.history.append(LagSample(service.now(), service.lag_seconds()))
        await asyncio.sleep(SAMPLE_SECONDS)
