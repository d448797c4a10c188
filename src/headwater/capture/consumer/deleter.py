"""Deletes messages after their commit, in threads, while the next batch fills."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context

import structlog

from headwater.capture.consumer.intake import Intake
from headwater.capture.consumer.stats import StatsCounter
from headwater.errors import SourceError
from headwater.observability.crash_points import crash_point
from headwater.observability.part_board import Part, build_part, describe_error
from headwater.observability.tracing.traces import note_failure, span
from headwater.sources.queue import Queue

log = structlog.stdlib.get_logger(__name__)

_CHUNK = 100
_ROUNDS = 3


class Deleter:
    """Deletes committed messages with their newest handles. Failures never end a run: undeleted messages are
    redelivered, recognised as duplicates, and deleted then.
    """

    def __init__(
        self, queue: Queue, intake: Intake, stats: StatsCounter, threads: int, part: Part | None = None
    ) -> None:
        self._queue = queue
        self._intake = intake
        self._stats = stats
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="delete")
        self._part = part or build_part("deleter")
        self._part.note("running")
        self._running: set[Future[None]] = set()
        self._lock = threading.Lock()

    def submit(self, message_ids: Sequence[str]) -> None:
        """Delete these in the background. Does nothing after `close`."""
        # At least two parts, so that partial deletion is a reachable state.
        size = max(1, min(_CHUNK, (len(message_ids) + 1) // 2))
        for at in range(0, len(message_ids), size):
            try:
                # The deletions are steps of the batch's trace, which may end before them.
                future = self._pool.submit(copy_context().run, self._delete, message_ids[at : at + size])
            except RuntimeError:  # closed: the message reappears after its visibility timeout
                return
            with self._lock:
                self._running.add(future)
            future.add_done_callback(self._forget)

    def _forget(self, future: "Future[None]") -> None:
        with self._lock:
            self._running.discard(future)

    def drain(self) -> None:
        """Wait until all submitted deletions are done."""
        with self._lock:
            running = tuple(self._running)
        wait(running)

    def close(self) -> None:
        """Wait for submitted deletions and end the threads."""
        self._pool.shutdown(wait=True)
        self._part.note("stopped")

    def _delete(self, message_ids: Sequence[str]) -> None:
        with span("delete", messages=len(message_ids)):
            try:
                failure = delete_messages(self._queue, self._intake, self._stats, message_ids)
            except Exception as error:
                # The pool would keep it in a future whose result is never read, and the messages stay held.
                log.exception("message deletion failed unexpectedly", messages=len(message_ids))
                self._intake.end_deletion(self._intake.handles(message_ids))
                failure = describe_error(error)
            if failure:
                note_failure("message deletion failed", failure)
        if failure:
            self._part.retry(failure)
        else:
            self._part.note("running")


def delete_messages(queue: Queue, intake: Intake, stats: StatsCounter, message_ids: Sequence[str]) -> str:
    """Delete committed messages; retry a few times for messages redelivered in the meantime.

    Returns why some of them could not be deleted; empty if all were.
    """
    left, failure = list(message_ids), ""
    for _ in range(_ROUNDS):
        used = intake.handles(left)
        if not used:
            break
        try:
            failed = queue.ack(used)
        except SourceError as error:
            failed = dict.fromkeys(used, error.message)
        crash_point("mid_delete")
        left = intake.end_deletion(used)
        stats.add("deleted", len(used) - len(failed.keys() | set(left)))
        lost = failed.keys() - set(left)
        if lost:
            stats.add("deletes_failed", len(lost))
            failure = failed[next(iter(lost))]
            log.warning(
                "message deletion failed; redeliveries will be deduplicated",
                messages=len(lost),
                reason=failure,
            )
    return failure
