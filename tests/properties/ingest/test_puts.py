"""Puts of a content are counted from notifications and listings, never more than there were."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    LISTED_EVENT,
    REPAIR_EVENT,
    RETRACT_EVENT,
    RETRY_EVENT,
    TAGGED_EVENT,
    build_control_event,
    build_retry,
)
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.outdated import ContentWrite
from headwater.ingest.planning.puts import count_puts
from headwater.sources.object_event import ObjectEvent
from tests.fixtures.events import START, build_event, build_stored

contents = st.sampled_from(["one", "two", "three", ""])
"""An empty content is a removal."""


@dataclass(frozen=True, slots=True)
class Put:
    """A write or, without content, a removal. So many listings found it, and a request, if it `is_read`."""

    content: str
    is_announced: bool
    listings: int
    is_read: bool

    @property
    def is_known(self) -> bool:
        return bool(self.is_announced or self.listings or self.is_read)


histories = st.lists(st.builds(Put, contents, st.booleans(), st.integers(0, 2), st.booleans()), max_size=8)


def build_write(at: int, content: str) -> ObjectEvent:
    return build_event(sequence=at, kind="created" if content else "removed", etag=content or None)


def build_listed(at: int, content: str, listing: int) -> StoredEvent:
    """What a listing says of the write: its time, and an identity of its own."""
    time = build_write(at, content).event_time
    found = build_control_event(LISTED_EVENT, "s3", "landing", "a/1.json", time)
    event = replace(found.event, etag=content, sequencer=f"listing {at} {listing}")
    return replace(build_stored(event), source="listing")


def build_read(at: int, content: str) -> tuple[StoredEvent, ContentWrite]:
    """A request that names no content, and the rows of the content that it found, shortly after the write."""
    time = build_write(at, content).event_time + timedelta(milliseconds=500)
    event = build_retry("s3", "landing", "a/1.json", None, None, time).event
    rows = ContentWrite(content, event.event_id, int(time.timestamp() * 1e6), 1)
    return replace(build_stored(event), source="listing"), rows


def observe(history: Sequence[Put]) -> tuple[list[StoredEvent], list[ContentWrite]]:
    events: list[StoredEvent] = []
    writes: list[ContentWrite] = []
    for at, put in enumerate(history):
        if put.is_announced:
            event = build_write(at, put.content)
            events.append(build_stored(event))
            writes += [ContentWrite(put.content, event.event_id, 0, 1)] if put.content else []
        if put.content:
            events += [build_listed(at, put.content, one) for one in range(put.listings)]
        if put.content and put.is_read:
            request, rows = build_read(at, put.content)
            events.append(request)
            writes.append(rows)
    return events, writes


@given(histories, st.randoms(use_true_random=False))
def test_no_put_is_counted_twice_and_no_notified_one_is_omitted(history, order: random.Random) -> None:
    events, writes = observe(history)
    counted = count_puts(events, writes)
    put = Counter(one.content for one in history if one.content)
    sent = Counter(one.content for one in history if one.content and one.is_announced)
    assert counted.keys() == {one.content for one in history if one.content and one.is_known}
    assert all(max(1, sent[content]) <= count <= put[content] for content, count in counted.items())
    again = [*events, *events]
    order.shuffle(again)
    assert count_puts(again, writes) == counted


@given(histories)
def test_counts_are_exact_while_only_contents_that_differ_follow_each_other(history) -> None:
    known = [
        # A removal that was not announced stays unknown.
        replace(
            one, is_announced=one.is_announced or not one.content, is_read=one.is_read or not one.listings
        )
        for at, one in enumerate(history)
        if at == 0 or one.content != history[at - 1].content
    ]
    assert count_puts(*observe(known)) == Counter(one.content for one in known if one.content)


def test_requests_and_cleanings_put_nothing() -> None:
    names = (REPAIR_EVENT, RETRY_EVENT, DROP_EVENT, RETRACT_EVENT, CLEANED_EVENT, TAGGED_EVENT)
    built = [build_control_event(name, "s3", "landing", "a/1.json", START).event for name in names]
    requests = [replace(build_stored(event), source="listing") for event in built]
    put = build_stored(build_event(sequence=1, etag="one"))
    assert count_puts([put, *requests]) == {"one": 1}


def test_file_moved_away_and_back_was_put_twice_although_its_time_is_the_same() -> None:
    first, removed, back = (
        build_stored(replace(build_write(at, content), event_time=START + timedelta(seconds=seconds)))
        for at, content, seconds in ((1, "one", 5), (2, "", 9), (3, "one", 5))
    )
    assert count_puts([back, removed, first]) == {"one": 2}


def test_digest_of_a_file_does_not_distinguish_its_puts() -> None:
    names = ("16-3", "16-3-digest")
    events = [replace(build_write(at, name), provider="local") for at, name in enumerate(names)]
    assert count_puts(map(build_stored, events)) == {"16-3": 2}
