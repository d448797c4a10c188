"""A timeline whose archive is read in pieces says the same as one that is read at once."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.lake.timeline import Instant, Timeline, timeline

DAY = 20260501000000000


class MemoryReader:
    """A `TimelineReader` in this process."""

    def __init__(self, archived: Sequence[Instant], active: Sequence[Instant]) -> None:
        self._archived = archived
        self._active = active
        self.listed = 0

    def exists(self) -> bool:
        return True

    def read_properties(self) -> Mapping[str, str]:
        return {}

    def list_active(self) -> Sequence[Instant]:
        return self._active

    def list_archived(
        self, since: str = "", completed_after: str = "", most: int | None = None
    ) -> Sequence[Instant]:
        found = [i for i in self._archived if i.requested >= since and i.completed > completed_after]
        self.listed += len(sorted(found)[:most])
        return sorted(found)[:most]

    def find_last_archived(self, since: str) -> str:
        return max((i.completed for i in self._archived if i.is_commit and i.requested >= since), default="")

    def read_extra_metadata(self, instants: Sequence[Instant]) -> Mapping[Instant, Mapping[str, str]]:
        return {instant: {"headwater.requested": instant.requested} for instant in instants}

    def count_deletes(self, instant: Instant) -> int:
        raise NotImplementedError(instant)  # a count needs rows, and these tests have none


@st.composite
def draw_instants(draw: st.DrawFn) -> list[Instant]:
    """Writes, some of which overlap, and cleans, which may be requested at the same time as a write."""
    start, length = st.integers(0, 40), st.integers(1, 12)
    times = draw(st.lists(st.tuples(start, length), max_size=14, unique_by=(lambda time: time[0], sum)))
    writes = [Instant(*_format(first, "commit", first + long)) for first, long in times]
    cleans = [Instant(*_format(first, "clean", first)) for first in draw(st.sets(start, max_size=5))]
    return writes + cleans


def _format(start: int, action: str, end: int) -> tuple[str, str, str]:
    return str(DAY + start * 10), action, str(DAY + end * 10 + 5)


LONG = [Instant(*_format(0, "commit", 3)), Instant(*_format(1, "commit", 2))]
"""What is archived first completes last."""


@example(instants=LONG, share=1.0, sizes=(1, 1), after=2)
@example(instants=LONG, share=1.0, sizes=(1, 1), after=3)
@given(
    instants=draw_instants(),
    share=st.floats(0, 1),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    after=st.integers(0, 60),
)
def test_archive_in_pieces(instants: list[Instant], share: float, sizes: tuple[int, int], after: int) -> None:
    ordered = sorted(set(instants))
    cut = int(len(ordered) * share)
    archived = [Instant(i.requested, i.action, i.completed, archived=True) for i in ordered[:cut]]
    # Archiving that was interrupted leaves an action in both places.
    active = ordered[max(0, cut - 1) :]
    commits = sorted(i.commit for i in ordered if i.is_commit)
    time = str(DAY + after * 10 + 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "_LISTED_FIRST", sizes[0])
        patch.setattr(timeline, "_LISTED_AT_ONCE", sizes[1])
        patch.setattr(timeline, "_READ_AT_ONCE", 2)
        found = Timeline(MemoryReader(archived, active))
        read = list(found.iter_metadata(time))
        assert [commit for commit, _ in read] == [c for c in commits if c.completed > time]
        assert [metadata["requested"] for _, metadata in read] == [commit.requested for commit, _ in read]
        assert list(found.archived) == archived[: max(0, cut - 1)]
        assert found.has_completed(time) == any(commit.completed == time for commit in commits)
        assert sorted(found.list_in_progress(time)) == [
            c for c in commits if c.requested <= time <= c.completed
        ]
        asked = {commit.requested for commit in commits[::2]} | {"20260601000000000"}
        assert found.find_completions(asked) == {c.requested: c.completed for c in commits[::2]}


def test_a_reader_that_is_hardly_behind_lists_little_of_a_large_archive() -> None:
    first = 20260501000000000
    archived = [Instant(str(first + n), "commit", str(first + n), archived=True) for n in range(100_000)]
    reader = MemoryReader(archived, [Instant(str(first + 100_000), "commit", str(first + 100_000))])
    found = Timeline(reader)
    behind = list(found.iter_metadata(str(first + 99_899)))
    assert len(behind) == 101
    assert reader.listed == 100
    next(found.iter_metadata(""))
    assert reader.listed <= 100 + 2_500
