"""What goes on beside the requests: the index is brought up to date, and its age is noted."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from headwater.serve.service import LagSample, Service

SAMPLE_SECONDS = 5.0
LOOK_SECONDS = 2.0
"""Between two looks at how old the index is, where another process keeps it up to date."""
LEARN_SECONDS = 600.0
"""Between two times that the words of all rows are read, for mistyped queries: that takes the CPU seconds."""
_LONGEST_PAUSE = 60.0
log = structlog.stdlib.get_logger(__name__)


async def refresh_for_ever(refresh: Callable[[], None], interval: float, name: str = "sync") -> None:
    """Call `refresh` again and again, `interval` seconds apart, in a thread of its own, called `name`.

    After a failure the pauses double, up to a minute: requests go on with the last good index.
    """
    pause = interval = interval or LOOK_SECONDS
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        while True:
            try:
                await loop.run_in_executor(thread, refresh)
                pause = interval
            # Whatever it is: a server that still has an index goes on answering from it.
            except Exception as error:
                pause = min(_LONGEST_PAUSE, pause * 2)
                log.warning("index could not be refreshed", step=name, error=str(error), again_in=pause)
            await asyncio.sleep(pause)
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


async def sample_for_ever(service: Service) -> None:
    """Note how old the index is, for the plot."""
    while True:
        service.history.append(LagSample(service.now(), service.lag_seconds()))
        await asyncio.sleep(SAMPLE_SECONDS)
