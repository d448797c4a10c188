"""Objects that a run keeps are no longer examined, and are freed when the next run begins."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from headwater.app.garbage import exempt_existing_objects


class Cycle:
    """Freed by the garbage collection only."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_existing_objects_are_exempt_and_later_ones_are_collected() -> None:
    kept = Cycle()
    exempt_existing_objects()
    assert gc.get_freeze_count() > 1_000
    later = Cycle()
    seen, seen_later = weakref.ref(kept), weakref.ref(later)
    del kept, later
    gc.collect()
    assert (seen() is None, seen_later() is None) == (False, True)


def test_garbage_among_exempt_objects_is_collected_by_the_next_call() -> None:
    kept = Cycle()
    exempt_existing_objects()
    seen = weakref.ref(kept)
    del kept
    exempt_existing_objects()
    assert seen() is None
