"""Ranges of keys listed at the same time are one listing."""

import threading
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import SourceError
from headwater.sources.lister import ListedObject
from headwater.sources.memory.lister import MemoryLister
from headwater.sources.parallel_lister import ParallelLister
from tests.fixtures.waiting import wait_until

KEYS = st.text(alphabet="ab/\u00e9\U0001f600", min_size=1, max_size=4)


def listed(key: str) -> ListedObject:
    return ListedObject(key, 1, "e", None, datetime(2026, 5, 1, tzinfo=timezone.utc))


def build(keys: list[str]) -> MemoryLister:
    return MemoryLister(map(listed, keys))


@given(st.lists(KEYS), st.lists(KEYS), st.sampled_from(["", "a", "a/"]), st.sampled_from(["", "a/b", "b"]))
def test_any_boundaries_give_the_same_listing(
    keys: list[str], boundaries: list[str], prefix: str, start_after: str
) -> None:
    plain = build(keys)
    ranges = ParallelLister(plain, lambda: boundaries, threads=3)
    found = list(ranges.iter_objects(prefix, start_after))
    assert found == list(plain.iter_objects(prefix, start_after))


class Slow(MemoryLister):
    """Notes which ranges were begun, and waits in each until it is released."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__(map(listed, keys))
        self.begun: list[str] = []
        self.release = threading.Event()

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        self.begun.append(start_after)
        for found in super().iter_objects(prefix, start_after):
            self.release.wait(20)
            yield found


def test_ranges_are_listed_at_the_same_time_and_begun_in_order() -> None:
    lister = Slow(["a", "b", "c", "d"])
    objects = ParallelLister(lister, lambda: ["c", "a", "b"], threads=3).iter_objects()
    threading.Timer(0.0, lambda: (wait_until(lambda: len(lister.begun) == 3), lister.release.set())).start()
    assert [found.key for found in objects] == ["a", "b", "c", "d"]
    assert sorted(lister.begun) == ["", "a", "b", "c"]
    assert lister.begun[3] == "c"


def test_threads_wait_for_the_reader_and_end_with_it() -> None:
    count = 0

    class Counting(MemoryLister):
        def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
            nonlocal count
            for found in super().iter_objects(prefix, start_after):
                count += 1
                yield found

    keys = [f"{n:06}" for n in range(60_000)]
    objects = ParallelLister(Counting(map(listed, keys)), lambda: [keys[30_000]], threads=2).iter_objects()
    assert next(iter(objects)).key == keys[0]
    wait_until(lambda: count >= 20_000, "both ranges ahead of the reader")
    del objects
    wait_until(
        lambda: not any(t.name.startswith("listing-") for t in threading.enumerate()), "the threads' end"
    )
    assert count <= 30_000


def test_an_error_comes_after_the_objects_before_it() -> None:
    class Broken(MemoryLister):
        def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
            yield from super().iter_objects(prefix, start_after)
            raise SourceError("the bucket does not answer")

    keys = [f"{n:06}" for n in range(3_000)]
    objects = ParallelLister(Broken(map(listed, keys)), lambda: [keys[1_000]]).iter_objects()
    assert [next(objects).key for _ in keys] == keys
    with pytest.raises(SourceError, match="does not answer"):
        next(objects)
