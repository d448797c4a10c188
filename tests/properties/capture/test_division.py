"""A table takes the same events from a divided commit as from all of its events."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.control_events import RETRACT_EVENT
from headwater.capture.division import DividedEvents, Division
from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Batch, Limits, Location, Scope, take_batch
from headwater.ingest.planning.selection import build_selector, find_beginnings
from tests.fixtures.events import build_event, build_stored

COMPLETED = "20260501000000000"
END = Position(COMPLETED)
paths = st.lists(
    st.sampled_from(["a/*", "a/b/*", "a/**", "ab*", "b/c/**", "{a,b}/*", "**", "c/x"]),
    min_size=1,
    max_size=3,
    unique=True,
)
prefixes = st.sampled_from(["", "in/"])
keys = st.tuples(st.sampled_from(["", "in/"]), st.text("abcx/", min_size=1, max_size=6)).map("".join)
kinds = st.sampled_from(["own", "own", "other", "other", "foreign", "retract"])
# Which of two sources, each with a bucket, a table takes objects of.
takes = st.sampled_from([("landing",), ("other",), ("landing", "other")])
BUCKETS = {"other": "other", "foreign": "theirs"}


def build_scope(sources: Mapping[str, str], path: Sequence[str], taken: Sequence[str]) -> Scope:
    table = TableConfig(path=tuple(path), format="json")
    return Scope(
        tuple(Location("s3", bucket, sources[bucket]) for bucket in taken),
        build_selector(table),
        find_beginnings(table.path),
        other_buckets=frozenset(sources.keys() - set(taken)),
    )


def build_commit(keys: Sequence[tuple[str, str]]) -> list[StoredEvent]:
    events = []
    for at, (key, kind) in enumerate(keys):
        event = build_event(key=key, sequence=at, bucket=BUCKETS.get(kind, "landing"))
        if kind == "retract":
            object.__setattr__(event, "event_name", RETRACT_EVENT)
        events.append(build_stored(event, at, COMPLETED))
    return events


def take(events: Sequence[StoredEvent], scope: Scope, limits: Limits, omitted: int = 0) -> Batch:
    return take_batch(EventPage(tuple(events), END, more=False, omitted=omitted), scope, limits)


@given(
    st.fixed_dictionaries({"landing": prefixes, "other": prefixes}),
    st.lists(st.tuples(paths, takes), min_size=1, max_size=4),
    st.lists(st.tuples(keys, kinds), max_size=12),
)
def test_table_takes_from_a_divided_commit_what_it_takes_from_all_of_it(sources, tables, found) -> None:
    scopes = [build_scope(sources, path, taken) for path, taken in tables]
    commit = build_commit(found)
    division = Division(sources, {text for scope in scopes for text in scope.full_beginnings})
    divided = DividedEvents(commit, division)
    for scope in scopes:
        selected = divided.select(scope.full_beginnings)
        assert [stored.position for stored in selected] == sorted({one.position for one in selected})
        for limits in (Limits(100, 10**9), Limits(2, 10**9)):
            whole = take(commit, scope, limits)
            share = take(selected, scope, limits, omitted=len(commit) - len(selected))
            assert (share.events, share.end, share.more) == (whole.events, whole.end, whole.more)
            if not whole.more:
                assert (share.filtered, share.foreign) == (whole.filtered, whole.foreign)


def test_table_without_a_share_gets_all_events() -> None:
    commit = build_commit([("a/1", "own"), ("b/1", "own")])
    divided = DividedEvents(commit, Division(["landing"], ["a/"]))
    assert divided.select(["a/"]) == commit[:1]
    assert divided.select(["a/", "b/"]) == commit
    assert divided.select(None) == commit
    assert DividedEvents(commit).select(["a/"]) == commit
