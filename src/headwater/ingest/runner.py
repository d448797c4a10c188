"""Run the pipelines of all tables side by side: one thread and one fair pool each."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential_jitter,
)

from headwater.capture.events_table import EventsTable
from headwater.errors import (
    CheckFailedError,
    ConfigError,
    HeadwaterError,
    NewColumnsError,
    TableMismatchError,
    TransformError,
)
from headwater.ingest.pipeline import TablePipeline
from headwater.ingest.planning.outcome import BatchResult

_log = logging.getLogger(__name__)

_FOREIGN_COMMITS_SECONDS = 5.0
"""How often to look for events committed by another process; our own announce themselves."""

_ONCE_ATTEMPTS = 5
_MAX_BACKOFF_SECONDS = 60.0

_LASTING = (CheckFailedError, ConfigError, NewColumnsError, TableMismatchError, TransformError)
"""What stays as it is until somebody does something."""

OnBatch = Callable[[BatchResult], None]


class Runner:
    """Threads that run pipelines until told to stop or until the source is drained.

    `on_busy` is told how many of how many tables work on a batch; the others wait for events.
    """

    def __init__(
        self,
        spark: SparkSession,
        events: EventsTable,
        pipelines: Sequence[TablePipeline],
        on_batch: OnBatch,
        on_failure: Callable[[str, HeadwaterError], None],
        on_busy: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self._spark = spark
        self._events = events
        self._pipelines = pipelines
        self._on_batch = on_batch
        self._on_failure = on_failure
        self._on_busy = on_busy
        self._busy: set[str] = set()
        self._busy_lock = threading.Lock()
        self._stop = threading.Event()
        self._drained = threading.Event()
        self._threads: list[threading.Thread] = []
        self._defects: list[Exception] = []
        self.failures: dict[str, HeadwaterError] = {}

    def start(self) -> None:
        """Start one thread a table."""
        for pipeline in self._pipelines:
            thread = InheritableThread(target=self._run, args=(pipeline,), name=f"table-{pipeline.name}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()

    def finish(self) -> None:
        """No more events will come: catch up, keep the checkpoints, return. Failures are in `failures`."""
        self._drained.set()
        self._join()

    def stop(self) -> None:
        """Finish the batch in hand, keep the checkpoints, return."""
        self._stop.set()
        self._join()

    def _join(self) -> None:
        self._events.wake()
        for thread in self._threads:
            thread.join()
        if self._defects:
            raise self._defects[0]

    def _run(self, pipeline: TablePipeline) -> None:
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", pipeline.name)
        try:
            for attempt in self._build_retrying(pipeline):
                with attempt:
                    self._run_batches(pipeline, attempt.retry_state)
        except HeadwaterError as error:
            self.failures[pipeline.name] = error
            self._on_failure(pipeline.name, error)
        except Exception as error:
            self._defects.append(error)

    def _build_retrying(self, pipeline: TablePipeline) -> Retrying:
        def report(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, HeadwaterError):
                self._on_failure(pipeline.name, error)

        def is_over(state: RetryCallState) -> bool:
            # While running on, a failing table tries for ever; a run that ends gives up.
            ending = self._drained.is_set() or self._stop.is_set()
            return (ending and stop_after_attempt(_ONCE_ATTEMPTS)(state)) or self._stop.is_set()

        return Retrying(
            retry=retry_if_exception_type(HeadwaterError) & _may_pass,
            stop=is_over,
            wait=wait_exponential_jitter(initial=1, max=_MAX_BACKOFF_SECONDS),
            sleep=self._sleep,
            before_sleep=report,
            reraise=True,
        )

    def _sleep(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _run_batches(self, pipeline: TablePipeline, state: RetryCallState) -> None:
        while not self._stop.is_set():
            drained = self._drained.is_set()
            seen = self._events.appends
            with self._working(pipeline.name):
                result = pipeline.run_batch()
            if result is not None:
                state.attempt_number = 1
                self._on_batch(result)
            elif drained:
                break
            else:
                self._events.wait(seen, _FOREIGN_COMMITS_SECONDS)
                self._events.refresh(_FOREIGN_COMMITS_SECONDS)
        pipeline.save_checkpoint()

    @contextmanager
    def _working(self, name: str) -> Iterator[None]:
        self._note_work(name, is_busy=True)
        try:
            yield
        finally:
            self._note_work(name, is_busy=False)

    def _note_work(self, name: str, *, is_busy: bool) -> None:
        with self._busy_lock:
            (self._busy.add if is_busy else self._busy.discard)(name)
            self._on_busy(len(self._busy), len(self._pipelines))


def _may_pass(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return not isinstance(error, _LASTING)
