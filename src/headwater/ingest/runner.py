"""Runs the pipelines of all tables concurrently: one thread and one fair pool each.

A pipeline waits for commits to its input: the events table, or the tables that its own is built from.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential_jitter,
)

from headwater.errors import (
    CheckFailedError,
    ConfigError,
    DefectError,
    HeadwaterError,
    LakeError,
    NewColumnsError,
    TableDamagedError,
    TableMismatchError,
    TransformError,
)
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.turns import Turns
from headwater.lake.commit_signal import CommitSignal
from headwater.lake.executors import count_cores
from headwater.lake.jvm import explained_lake
from headwater.lake.prerequisites.run_log import describe_run_log
from headwater.lake.session import can_run_jobs
from headwater.observability.part_board import Part, PartBoard
from headwater.observability.part_state import TABLE_PREFIX

_log = logging.getLogger(__name__)

_ONCE_ATTEMPTS = 5
_DEFECT_ATTEMPTS = 5
"""A table is given up after this number of consecutive unexpected exceptions."""
_MAX_BACKOFF_SECONDS = 60.0

_LASTING = (
    CheckFailedError,
    ConfigError,
    NewColumnsError,
    TableDamagedError,
    TableMismatchError,
    TransformError,
)
"""Errors that persist until a user fixes the cause."""

OnBatch = Callable[[BatchResult], None]


class Pipeline(Protocol):
    """Keeps one table up to date with its source."""

    name: str

    def run_batch(self) -> BatchResult | None:
        """Ingest new events or a part of them; return None if there are none."""
        ...

    def save_checkpoint(self) -> bool:
        """Commit progress outside of batches; return whether there was any."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """When tables run. `follows` names the tables that a table is built from: it is drained when all of their
    pipelines have ended. `intervals` are the seconds between the starts of two batches of a table, 0 for
    those not named; a backlog and the end of a run do not wait.
    """

    follows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    intervals: Mapping[str, float] = field(default_factory=dict)


class Runner:
    """Threads that run pipelines until they are stopped or the source is drained.

    `on_busy` receives the number of tables that work on a batch and of all tables; the others wait for
    events.
    """

    def __init__(
        self,
        spark: SparkSession,
        events: CommitSignal,
        pipelines: Sequence[Pipeline],
        on_batch: OnBatch,
        on_failure: Callable[[str, HeadwaterError], None],
        on_busy: Callable[[int, int], None] = lambda *_: None,
        schedule: Schedule = Schedule(),
    ) -> None:
        self._spark = spark
        self._events = events
        self._pipelines = pipelines
        self._on_batch = on_batch
        self._on_failure = on_failure
        self._on_busy = on_busy
        self._intervals = schedule.intervals
        self._due: dict[str, float] = {}
        self._busy: set[str] = set()
        self._busy_lock = threading.Lock()
        self._stop = threading.Event()
        self._drained = threading.Event()
        self._threads: list[threading.Thread] = []
        self._turns = Turns(self._count_cores)
        self._ended = {pipeline.name: threading.Event() for pipeline in pipelines}
        # Of other tables, no pipeline here commits.
        self._follows = {
            name: [source for source in sources if source in self._ended]
            for name, sources in schedule.follows.items()
        }
        self._signals = {name: CommitSignal() for name, sources in self._follows.items() if sources}
        self._began: dict[str, float] = {}
        self.failures: dict[str, HeadwaterError] = {}
        self._parts: dict[str, Part] = {}
        self.report_to(PartBoard())

    def report_to(self, board: PartBoard) -> None:
        """Report the states of the tables to the board. Call it before `start`."""
        self._parts = {
            pipeline.name: board.add(f"{TABLE_PREFIX}{pipeline.name}") for pipeline in self._pipelines
        }

    def start(self) -> None:
        """Start one thread per table."""
        for pipeline in self._pipelines:
            thread = InheritableThread(target=self._run, args=(pipeline,), name=f"table-{pipeline.name}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()

    def finish(self) -> None:
        """Process all remaining events, save the checkpoints and return. Failures are in `failures`."""
        self._drained.set()
        self._join()

    def stop(self) -> None:
        """Finish the current batch, save the checkpoints and return."""
        self._stop.set()
        self._join()

    def measure_batch(self, name: str) -> float:
        """Return the seconds since the start of the table's current or last batch."""
        return time.monotonic() - self._began.get(name, time.monotonic())

    def _count_cores(self) -> int:
        # Executors come and go. Raises `LakeError` if the session has ended, as a batch does.
        with explained_lake("the Spark session"):
            return count_cores(self._spark)

    def _join(self) -> None:
        for signal in (self._events, *self._signals.values()):
            signal.wake()
        for thread in self._threads:
            thread.join()

    def _run(self, pipeline: Pipeline) -> None:
        name = pipeline.name
        try:
            with _explained_defect(name):
                self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)
                self._parts[name].note("waiting")
                for attempt in self._build_retrying(pipeline):
                    with attempt:
                        self._run_batches(pipeline, attempt.retry_state)
            self._parts[name].note("stopped")
        except HeadwaterError as error:
            self.failures[name] = error
            self._parts[name].fail(error.message)
            self._on_failure(name, error)
        finally:
            self._ended[pipeline.name].set()
            self._wake_followers(pipeline.name)

    def _build_retrying(self, pipeline: Pipeline) -> Retrying:
        def report(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, HeadwaterError):
                self._parts[pipeline.name].retry(error.message)
                self._on_failure(pipeline.name, error)

        def is_finished(state: RetryCallState) -> bool:
            # While the run continues, a failing table is retried without limit; a run that ends gives up.
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, DefectError) and stop_after_attempt(_DEFECT_ATTEMPTS)(state):
                return True
            if self._stop.is_set():
                return True
            return self._is_drained(pipeline.name) and (
                stop_after_attempt(_ONCE_ATTEMPTS)(state) or not can_run_jobs(self._spark)
            )

        return Retrying(
            retry=retry_if_exception_type(HeadwaterError) & _may_pass,
            stop=is_finished,
            wait=wait_exponential_jitter(initial=1, max=_MAX_BACKOFF_SECONDS),
            sleep=self._sleep,
            before_sleep=report,
            reraise=True,
        )

    def _sleep(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _is_drained(self, name: str) -> bool:
        """True if no further events will come."""
        sources = self._follows.get(name, ())
        return self._drained.is_set() and all(self._ended[source].is_set() for source in sources)

    def _wake_followers(self, name: str) -> None:
        for follower, signal in self._signals.items():
            if name in self._follows[follower]:
                signal.wake()

    def _run_batches(self, pipeline: Pipeline, state: RetryCallState) -> None:
        signal = self._signals.get(pipeline.name, self._events)
        while not self._stop.is_set():
            self._wait_until_due(pipeline.name, signal)
            drained = self._is_drained(pipeline.name)
            seen = signal.count
            with self._working(pipeline.name), _explained_defect(pipeline.name), self._turns.take():
                if self._stop.is_set():
                    break
                self._began[pipeline.name] = time.monotonic()
                result = pipeline.run_batch()
            self._parts[pipeline.name].note("waiting")
            if result is not None:
                state.attempt_number = 1
                if result.committed and not result.more:
                    interval = self._intervals.get(pipeline.name, 0)
                    self._due[pipeline.name] = self._began[pipeline.name] + interval
                if result.committed:
                    self._wake_followers(pipeline.name)
                self._on_batch(result)
            elif drained:
                break
            else:
                signal.wait(seen, signal.external_seconds)
                signal.refresh()
        with _explained_defect(pipeline.name):
            pipeline.save_checkpoint()

    def _wait_until_due(self, name: str, signal: CommitSignal) -> None:
        while True:
            seen = signal.count
            left = self._due.get(name, 0.0) - time.monotonic()
            if left <= 0 or self._stop.is_set() or self._is_drained(name):
                return
            signal.wait(seen, left)

    @contextmanager
    def _working(self, name: str) -> Iterator[None]:
        self._note_work(name, is_busy=True)
        try:
            yield
        finally:
            self._note_work(name, is_busy=False)

    def _note_work(self, name: str, *, is_busy: bool) -> None:
        if is_busy:
            self._parts[name].note("working")
        with self._busy_lock:
            (self._busy.add if is_busy else self._busy.discard)(name)
            self._on_busy(len(self._busy), len(self._pipelines))


@contextmanager
def _explained_defect(table: str) -> Iterator[None]:
    """Raise `LakeError` if the JVM is unreachable, `DefectError` for an unexpected exception.

    The traceback of the latter is in the log.
    """
    try:
        yield
    except HeadwaterError:
        raise
    except ConnectionError as error:
        # py4j's errors: reads from a source have their own. The run ends with its JVM.
        raise LakeError(
            f"table {table}: the JVM is not responding: {error}",
            hint=f"it may have ended; {describe_run_log()}",
        ) from error
    except Exception as error:
        _log.exception("table %s: unexpected error", table)
        raise DefectError(
            f"table {table}: unexpected {type(error).__name__}: {str(error)[:500]}",
            hint=f"this is a bug in headwater: please report it with the log; {describe_run_log()}",
        ) from error


def _may_pass(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return not isinstance(error, _LASTING)
