"""An outage fails the batch, and single objects that stay unavailable do not for ever."""

import pytest

from headwater.errors import IngestError
from simulator.scenario import Scenario, Step
from simulator.world import World


class Lake:
    """A mirror on the simulated bucket, whose store does not answer some of the requests."""

    def __init__(self, objects: int) -> None:
        self.world = World(Scenario(0, (), tables=("mirror",)))
        self._content = 5
        self.put(objects)
        (self.pipeline,) = self.world.process.pipelines

    def put(self, objects: int) -> None:
        """New content under as many keys, of which the events table knows."""
        self._content += 1
        steps = [Step("put", key, self._content) for key in range(objects)]
        for step in (*steps, *(Step("deliver") for _ in steps), Step("receive", 9), Step("commit")):
            self.world.take(step)

    def passes(self, *, failing: int) -> bool:
        """Whether a batch goes on while so many of its reads fail."""
        self.world.store.outage = failing
        try:
            return self.pipeline.run_batch() is not None
        except IngestError:
            return False

    def quarantined(self) -> list[str]:
        """Reasons of what is in quarantine."""
        return [item.reason for item in self.world.lake.quarantine.peek()]


def test_a_batch_with_an_unavailable_object_is_tried_three_times() -> None:
    lake = Lake(2)
    assert [lake.passes(failing=1) for _ in range(3)] == [False, False, True]
    assert lake.quarantined() == ["unavailable"]
    lake.put(2)
    assert lake.passes(failing=1) is False, "the next batch has three attempts of its own"


def test_an_object_that_is_there_again_ends_the_count() -> None:
    lake = Lake(2)
    assert [lake.passes(failing=failing) for failing in (1, 1, 0)] == [False, False, True]
    assert lake.quarantined() == []
    lake.put(2)
    assert [lake.passes(failing=1) for _ in range(3)] == [False, False, True]


def test_attempts_during_an_outage_do_not_count_for_single_objects() -> None:
    lake = Lake(2)
    assert [lake.passes(failing=failing) for failing in (2, 2, 1, 2, 1, 1)] == [False] * 5 + [True]
    assert lake.quarantined() == ["unavailable"]


@pytest.mark.parametrize("attempts", [2, 10])
def test_an_outage_never_passes(attempts: int) -> None:
    lake = Lake(2)
    assert not any(lake.passes(failing=2) for _ in range(attempts))
