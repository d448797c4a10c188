"""The progress of a run: a line for each step and commit, in terminals and notebooks."""

import sys
import threading
import time
from typing import TextIO

from headwater.app.run import RunObserver
from headwater.capture.consumer import CommitReport
from headwater.errors import HeadwaterError
from headwater.ingest.planning.outcome import BatchResult


def is_watched(stream: TextIO) -> bool:
    """True if a person probably reads the stream now: a terminal, or the output of a notebook."""
    return stream.isatty() or "ipykernel" in sys.modules


class Progress:
    """Writes what a run does to a stream, if there is one, with the seconds since its start. Thread-safe."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def note_start(self) -> None:
        """Say that the JVM starts, which takes most of a short run."""
        self.say("starting Spark")

    def note_session(self) -> None:
        """Say that the JVM has started."""
        self.say("Spark is up")

    def build_observer(self) -> RunObserver:
        """Return what the run calls."""
        return RunObserver(self._note_capture, self._note_batch, self._note_failure)

    def say(self, text: str) -> None:
        """Write one line."""
        if self._stream is None:
            return
        with self._lock:
            self._stream.write(f"{time.monotonic() - self._started:7.1f} s  {text}\n")

    def _note_capture(self, report: CommitReport) -> None:
        self.say(f"{report.events:,} events captured")

    def _note_batch(self, result: BatchResult) -> None:
        if objects := result.objects.total():
            self.say(f"{result.table}: {objects:,} objects, {result.rows:,} rows")

    def _note_failure(self, table: str, error: HeadwaterError) -> None:
        self.say(f"{table}: {error.message}")
