"""Messages stay hidden while their commit takes long, though the queue fails now and then."""

from collections.abc import Mapping

from headwater.errors import SourceUnavailableError
from headwater.observability.clock import ManualClock
from headwater.sources.memory.queue import MemoryQueue
from tests.fixtures.capture import RunningConsumer, Tables, send_keys
from tests.fixtures.waiting import wait_until


class FailingQueue(MemoryQueue):
    """Its first extensions fail."""

    def __init__(self, clock: ManualClock, failures: int) -> None:
        super().__init__(visibility_timeout=30, clock=clock)
        self.failures = failures

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        if self.failures:
            self.failures -= 1
            raise SourceUnavailableError("503")
        return super().extend(handles, seconds)


def test_heartbeats_continue_after_a_queue_failure() -> None:
    clock = ManualClock()
    queue, tables = FailingQueue(clock, failures=2), Tables()
    tables.gate.clear()
    send_keys(queue, "k")
    with RunningConsumer(
        queue, tables, clock, visibility_timeout=30, batch_seconds=0, stop_patience=0.05
    ) as running:
        assert tables.waiting.wait(10)
        clock.advance(10)

        def is_extended() -> bool:
            # The pause begins after the failure is counted, so the clock goes on in small steps.
            clock.advance(0.05)
            return running.consumer.stats.extended >= 2

        wait_until(is_extended, "two extensions after two failures")
        assert running.consumer.stats.extensions_failed >= 2
        tables.gate.set()
        running.wait_for(deleted=1)
    queue.close()


def test_nothing_more_is_received_while_extensions_fail() -> None:
    """Messages that cannot be kept hidden are delivered again: more of them would only add to the load."""
    clock = ManualClock()
    queue, tables = FailingQueue(clock, failures=1_000_000), Tables()
    tables.gate.clear()
    send_keys(queue, "first")
    with RunningConsumer(
        queue, tables, clock, visibility_timeout=30, batch_seconds=0, stop_patience=0.05
    ) as running:
        assert tables.waiting.wait(10)
        clock.advance(10)

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
    queue.close()
