"""A table with a window has the rows of one without, whose history has no content outside the window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.control_events import LISTED_EVENT
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.window import EVERYTHING, Window
from tests.fixtures.events import START, build_event, build_stored

HOURS = st.integers(0, 12)
BOUNDS = st.none() | HOURS.map(lambda hour: START + timedelta(hours=hour))
WINDOWS = st.builds(Window, BOUNDS, BOUNDS)


@dataclass(frozen=True)
class Version:
    """One content. `age` is its last-modified time, and `upload` what its notification adds to that."""

    number: int
    age: timedelta
    upload: timedelta
    is_listed: bool

    @property
    def name(self) -> str:
        return f"v{self.number}"

    def announce(self) -> StoredEvent:
        """Return the notification, or the event of a listing."""
        event = build_event(sequence=self.number, version_id=self.name)
        if not self.is_listed:
            return build_stored(replace(event, event_time=START + self.age + self.upload), self.number)
        listed = replace(event, order_key=None, event_name=LISTED_EVENT, event_time=START + self.age)
        return replace(build_stored(listed, self.number), source="listing")


@st.composite
def histories(draw: Callable[..., list[tuple[int, int, bool]]]) -> list[Version]:
    """Versions in the order in which they became current; a replica is older than its notification."""
    drawn = draw(st.lists(st.tuples(HOURS, HOURS, st.booleans()), min_size=1, max_size=5))
    return [
        Version(number, timedelta(hours=age), timedelta(hours=upload), is_listed)
        for number, (age, upload, is_listed) in enumerate(drawn, 1)
    ]


def has(window: Window, version: Version) -> bool:
    return window.has(START + version.age)


def find_contents(versions: Sequence[Version], rules: FoldRules, stored: Sequence[Version]) -> set[str]:
    """Return the contents that a table ingests. A read finds the version named, or the current one."""
    by_name = {version.name: version for version in stored}
    found = set()
    for decision in fold([version.announce() for version in versions], rules=rules):
        if decision.action in ("read", "look"):
            is_named = decision.action == "read"
            version = by_name[decision.stored.event.version_id or ""] if is_named else stored[-1]
            if has(rules.window, version):
                found.add(version.name)
    return found


@given(histories(), WINDOWS, st.booleans())
def test_append_and_merge_take_each_content_in_the_window(
    versions: list[Version], window: Window, merges: bool
) -> None:
    within = [version for version in versions if has(window, version)]
    expected = find_contents(within, FoldRules(merges=merges), versions)
    assert find_contents(versions, FoldRules(merges=merges, window=window), versions) == expected


@given(histories(), WINDOWS)
def test_a_mirror_takes_the_newest_content_if_it_is_in_the_window(
    versions: list[Version], window: Window
) -> None:
    expected = {versions[-1].name} if has(window, versions[-1]) else set()
    assert find_contents(versions, FoldRules(mirrors=True, window=window), versions) == expected


@given(histories(), WINDOWS)
def test_a_mirror_reads_an_object_with_rows_as_without_a_window(
    versions: list[Version], window: Window
) -> None:
    """Only a read retracts the rows."""
    event = versions[0].announce().event
    entry = LedgerEntry(event.object_id, "s3", "landing", event.key, status="ingested", rows=1)
    decided = [
        fold(
            [version.announce() for version in versions],
            {event.object_id: entry},
            FoldRules(mirrors=True, window=window),
        )
        for window in (window, EVERYTHING)
    ]
    assert decided[0] == decided[1]
