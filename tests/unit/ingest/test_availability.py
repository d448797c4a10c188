"""An outage fails the batch, and single objects that stay unavailable do not for ever."""

from types import SimpleNamespace
from typing import cast

import pytest

from headwater.errors import IngestError
from headwater.ingest.pipeline import TablePipeline
from headwater.ingest.planning.outcome import ObjectOutcome
from tests.fixtures.events import build_event, build_stored

OUT = ObjectOutcome(build_stored(build_event("a")), "unavailable", "unavailable", "503")
IN = ObjectOutcome(build_stored(build_event("b")), "ingested")


class Checked:
    """The pipeline's rule with what it remembers between batches."""

    def __init__(self) -> None:
        self._state = cast(TablePipeline, SimpleNamespace(name="orders", _unavailable_attempts=0))

    def check(self, *outcomes: ObjectOutcome) -> bool:
        """Whether the batch goes on."""
        try:
            TablePipeline._check_available(self._state, outcomes)
        except IngestError:
            return False
        return True


def test_a_batch_with_an_unavailable_object_is_tried_three_times() -> None:
    batch = Checked()
    assert [batch.check(OUT, IN) for _ in range(3)] == [False, False, True]
    assert batch.check(OUT, IN) is False, "the next batch has three attempts of its own"


def test_an_object_that_is_there_again_ends_the_count() -> None:
    batch = Checked()
    assert [batch.check(OUT, IN), batch.check(OUT, IN), batch.check(IN)] == [False, False, True]
    assert [batch.check(OUT, IN) for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("attempts", [2, 10])
def test_an_outage_never_passes(attempts: int) -> None:
    batch = Checked()
    assert not any(batch.check(OUT) for _ in range(attempts))
