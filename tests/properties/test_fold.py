"""Any permutation of the same events, any of them repeated, means the same."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage
from headwater.config.table import TableConfig
from headwater.ingest.planning.fold import fold
from headwater.ingest.planning.plan import Limits, Location, Scope, take_batch
from headwater.ingest.planning.selection import build_selector
from tests.fixtures.events import build_event, build_stored

events = st.builds(
    build_event,
    key=st.sampled_from(["a/1.json", "a/2.json", "a/3.json", "a/"]),
    sequence=st.integers(0, 20),
    kind=st.sampled_from(["created", "removed", "restored", "tagged", "other"]),
    version_id=st.sampled_from([None, "v1", "v2"]),
    size=st.sampled_from([None, 0, 5]),
)

# A redelivered event is the same event in every field, so no two of a batch share an id.
batches = st.lists(events, max_size=12, unique_by=lambda event: event.event_id)


def decide(batch):
    return [(d.stored.event_id, d.action, d.reason) for d in fold(batch)]


@given(st.data(), batches)
def test_permutation_with_duplicates_gives_the_same_decisions(data, batch):
    stored = [build_stored(event, at) for at, event in enumerate(batch)]
    repeated = stored + data.draw(st.lists(st.sampled_from(stored), max_size=5)) if stored else []
    assert decide(data.draw(st.permutations(repeated))) == decide(stored)


@given(batches)
def test_every_event_has_exactly_one_decision_with_a_reason_unless_read(batch):
    decisions = fold([build_stored(event, at) for at, event in enumerate(batch)])
    assert sorted(d.stored.event_id for d in decisions) == sorted({event.event_id for event in batch})
    assert all((d.action == "read") == (d.reason is None) for d in decisions)


@given(batches)
def test_last_content_of_an_object_is_read_unless_it_is_removed(batch):
    decisions = fold([build_stored(event, at) for at, event in enumerate(batch)])
    read = {d.stored.event_id for d in decisions if d.action == "read"}
    for object_id in {event.object_id for event in batch}:
        changes = [
            e for e in batch if e.object_id == object_id and e.kind in ("created", "removed", "restored")
        ]
        if changes:
            last = max(changes, key=lambda e: (e.order_key, e.event_time.isoformat(), e.event_id))
            is_marker = last.key == "a/" and not last.size
            assert (last.event_id in read) == (last.kind != "removed" and not is_marker)


@given(batches, st.integers(1, 5), st.integers(1, 40))
def test_batches_of_any_size_cover_every_event_once_and_in_order(batch, max_files, max_bytes):
    completed = "20260501000000000"
    pending = [build_stored(event, at, completed) for at, event in enumerate(batch)]
    scope = Scope((Location("s3", "landing"),), build_selector(TableConfig(path="**", format="json")))
    seen, more = [], True
    while more:
        taken = take_batch(
            EventPage(tuple(pending), Position(completed), more=False), scope, Limits(max_files, max_bytes)
        )
        seen += [stored.event_id for stored in taken.events]
        pending = [event for event in pending if event.position > taken.end]
        more = taken.more
    assert pending == []
    assert set(seen) == {event.event_id for event in batch}
