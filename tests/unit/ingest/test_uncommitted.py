"""Decisions without rows are committed after a while: until then, a table seems to lag behind its events."""

from headwater.capture.position import Position
from simulator.product.pipeline import SimulatedPipeline
from simulator.scenario import Scenario, Step
from simulator.world import World

BEFORE, AFTER = 29.0, 2.0
"""Seconds after a batch without rows: together, long enough for a commit."""


class Lake:
    """A mirror on the simulated bucket that has committed an object."""

    def __init__(self) -> None:
        self.world = World(Scenario(0, (), tables=("mirror",)))
        self.ingest(Step("put", 0, 5))
        (self.table,) = self.world.lake.data.values()
        assert self.is_up_to_date()

    def ingest(self, *changes: Step) -> None:
        """Change the bucket and ingest the events in one batch."""
        for step in (*changes, *(Step("deliver") for _ in changes), Step("receive", 9), Step("commit")):
            self.world.take(step)
        assert self.pipeline.run_batch() is not None

    @property
    def pipeline(self) -> SimulatedPipeline:
        return self.world.process.pipelines[0]

    def poll(self, seconds: float) -> None:
        """Look for events after a time; there are none."""
        self.world.clock.advance(seconds)
        assert self.pipeline.run_batch() is None

    def is_up_to_date(self) -> bool:
        metadata = self.table.load_timeline().find_metadata("checkpoint") or {}
        return Position.parse(metadata["checkpoint"]) == self.world.process.events.find_newest()

    def count_commits(self) -> int:
        return len(self.table.load_timeline().commits)


CREATED_AND_REMOVED = (Step("put", 1, 5), Step("remove", 1))


def test_idle_table_commits_the_offset_of_a_batch_without_rows_once() -> None:
    lake = Lake()
    before = lake.count_commits()
    lake.ingest(*CREATED_AND_REMOVED)
    lake.poll(BEFORE)
    assert not lake.is_up_to_date()
    lake.poll(AFTER)
    assert lake.is_up_to_date()
    for _ in range(3):
        lake.poll(BEFORE)
    assert lake.count_commits() == before + 1


def test_later_batches_without_rows_do_not_delay_the_commit() -> None:
    lake = Lake()
    lake.ingest(*CREATED_AND_REMOVED)
    lake.world.clock.advance(BEFORE + AFTER)
    lake.ingest(*CREATED_AND_REMOVED)
    assert lake.is_up_to_date()


def test_rows_commit_earlier_decisions_and_restart_the_wait() -> None:
    lake = Lake()
    lake.ingest(*CREATED_AND_REMOVED)
    lake.world.clock.advance(BEFORE)
    lake.ingest(Step("put", 0, 6))
    assert lake.is_up_to_date()
    before = lake.count_commits()
    lake.poll(AFTER)
    assert lake.count_commits() == before
    lake.ingest(*CREATED_AND_REMOVED)
    lake.poll(AFTER)
    assert lake.count_commits() == before
