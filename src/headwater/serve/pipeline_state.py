"""The state of the pipeline for the page: read in a separate thread, cached for a second."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

KEPT_SECONDS = 1.0
PATIENCE_SECONDS = 5.0
log = structlog.stdlib.get_logger(__name__)

ReadState = Callable[[], Mapping[str, Any]]


class PipelineState:
    """The last state read; while the lake is unavailable, the last good state with the name of the error."""

    def __init__(self, read: ReadState) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="status")
        self._reading: asyncio.Task[None] | None = None
        self._found: Mapping[str, Any] | None = None
        self._read_at = float("-inf")
        self._error = ""

    async def get(self) -> tuple[Mapping[str, Any] | None, str]:
        """Return the state (None before the first successful read) and the error of the last read."""
        if time.monotonic() - self._read_at > KEPT_SECONDS:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._refresh())
            # A caller waits for a limited time; the read continues for the next caller.
            await asyncio.wait([self._reading], timeout=PATIENCE_SECONDS)
        return self._found, self._error

    def close(self) -> None:
        """Stop reading."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _refresh(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._found = await loop.run_in_executor(self._thread, self._read)
            self._error = ""
        # On any error, the page shows that the state is old, and the log has the reason.
        except Exception as error:
            log.warning("pipeline state read failed", error=str(error))
            self._error = type(error).__name__
        self._read_at = time.monotonic()
