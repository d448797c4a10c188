"""Messages stay hidden while their commit takes long, though the queue fails now and then."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from headwater.errors import SourceUnavailableError
from headwater.observability.clock import ManualClock
from headwater.sources.memory.queue import MemoryQueue
from tests.fixtures.capture import RunningConsumer, Tables, send_keys
from tests.fixtures.waiting import wait_until


class FailingQueue(MemoryQueue):
    """Its first extensions fail."""

    def __init__(self, clock: ManualClock, failures: int) -> None:
        super().__init__(visibility_timeout=30, clock=clock)
        self.clock = clock
        self.failures = failures

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        if self.failures:
            self.failures -= 1
            raise SourceUnavailableError("503")
        return super().extend(handles, seconds)


@contextmanager
def hold_commit(failures: int) -> Iterator[tuple[FailingQueue, Tables, RunningConsumer]]:
    """A message whose commit lasts until the gate opens, at the time of its first heartbeat."""
    clock = ManualClock()
    queue, tables = FailingQueue(clock, failures), Tables()
    tables.gate.clear()
    send_keys(queue, "first")
    with RunningConsumer(
        queue, tables, clock, visibility_timeout=30, batch_seconds=0, stop_patience=0.05
    ) as running:
        assert tables.waiting.wait(10)
        clock.advance(10)
        yield queue, tables, running
    queue.close()


def test_heartbeats_continue_after_a_queue_failure() -> None:
    with hold_commit(failures=2) as (queue, tables, running):
        clock = queue.clock

        def is_extended() -> bool:
            # The pause begins after the failure is counted, so the clock goes on in small steps.
            clock.advance(0.05)
            return running.consumer.stats.extended >= 2

        wait_until(is_extended, "two extensions after two failures")
        assert running.consumer.stats.extensions_failed >= 2
        tables.gate.set()
        running.wait_for(deleted=1)


def test_nothing_more_is_received_while_extensions_fail() -> None:
    """Messages that cannot be kept hidden are delivered again: more of them would only add to the load."""
    with hold_commit(failures=1_000_000) as (queue, tables, running):
        clock = queue.clock

        def has_failed() -> bool:
            clock.advance(0.05)
            return running.consumer.stats.extensions_failed >= 2

        wait_until(has_failed, "two failed extensions")
        send_keys(queue, "second")
        for _ in range(100):
            clock.advance(0.01)
        assert running.consumer.stats.messages == 1
        queue.failures = 0

        def is_received() -> bool:
            clock.advance(0.05)
            return running.consumer.stats.messages == 2

        wait_until(is_received, "the next message after a successful extension")
        tables.gate.set()
        running.wait_for(deleted=2)
