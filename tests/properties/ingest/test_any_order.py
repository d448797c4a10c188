"""Any order, any repetition and any split into batches of the same events give the same rows.

The objects stay as they are meanwhile: everything was written before the first event is read. Among the
events are what listings show, requests, and what else headwater itself appends. A split into batches gives
each batch the states of those before it.
"""

import json
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer.reading import read_message
from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REPAIR_EVENT,
    RETRACT_EVENT,
    build_control_event,
    build_retry,
    with_content,
)
from headwater.capture.reconcile.decision import EventOrigin, build_event
from headwater.sources.listing_diff import Comparison
from headwater.sources.message_parser import parse_message
from headwater.sources.queue import Message
from simulator.contents import KEYS, build_content
from simulator.outside.bucket import BUCKET
from simulator.scenario import Scenario
from simulator.world import World

NUMBER_OF_KEYS = 2
CONTENTS = 12


class Operation(NamedTuple):
    """What somebody does to an object; `content` None removes it, -1 deletes one of its versions for good."""

    key: int
    content: int | None


class Request(NamedTuple):
    """An event that headwater makes itself; `choice` is the object.

    The table's rules include every object: an event for tables that exclude it (`excluded`) changes nothing.
    """

    name: str
    choice: int


histories = st.lists(
    st.builds(Operation, st.integers(0, NUMBER_OF_KEYS - 1), st.none() | st.integers(-1, CONTENTS - 1)),
    min_size=1,
    max_size=6,
    # Without versions equal contents cannot be told apart: how often one is ingested depends on the batches.
    unique_by=lambda operation: operation if operation.content not in (None, -1) else object(),
)
requests = st.lists(
    st.builds(
        Request,
        st.sampled_from(["listing", "repair", "retry", "drop", "excluded", "cleaned"]),
        st.integers(0, NUMBER_OF_KEYS - 1),
    ),
    max_size=3,
)


def build_world(versioning, kind):
    return World(Scenario(0, (), versioning=versioning, tables=(kind,), keys=NUMBER_OF_KEYS, max_files=1_000))


def write_history(world, history):
    """The notifications of what is done to the bucket."""
    events: list[CapturedEvent] = []
    for at, (number, content) in enumerate(history):
        key = KEYS[number]
        if content is None:
            record = world.bucket.remove(key, at)
        elif content < 0:
            record = world.bucket.remove_version(key, at, at)
        else:
            record = world.bucket.put(key, build_content(content), at)
        world.clock.advance(1)
        if record is None:
            continue
        message = Message(f"m{at}", "", json.dumps({"Records": [record]}), world.clock.now())
        events += read_message(message, parse_message).events
    world.clock.advance(3_600)
    return events


def build_request(world, request):
    """What a listing shows of an object, or a request about it."""
    key, now = KEYS[request.choice], world.clock.next_moment()
    names = {"repair": REPAIR_EVENT, "drop": DROP_EVENT, "excluded": RETRACT_EVENT}
    if request.name in names:
        return build_control_event(names[request.name], "s3", BUCKET, key, now)
    if request.name == "retry":
        return build_retry("s3", BUCKET, key, None, None, now)
    listed = next((found for found in world.bucket.list_objects() if found.key == key), None)
    if request.name == "cleaned" and listed is not None:
        world.watch.note_due(key)
        return with_content(build_control_event(CLEANED_EVENT, "s3", BUCKET, key, now), "other", listed.etag)
    return build_event(Comparison(key, listed, None), EventOrigin("s3", BUCKET, now))


def ingest(world, batches):
    """The rows of the table, and the content that counts by its ledger, after these batches of events."""
    (pipeline,) = world.process.pipelines
    for batch in batches:
        world.process.events.append(batch)
        world.clock.advance(1)
        while pipeline.run_batch():
            pass
    (table,) = world.lake.data.values()
    stored = table.peek() if table.exists else ()
    rows = Counter((row.key, row.number, row.text, row.version) for row in stored)
    states = pipeline.ledger.find_states(
        {captured.event.object_id for batch in batches for captured in batch}
    )
    return rows, {s.key: (s.version, s.rows) for s in states.values() if s.status == "ingested"}


@st.composite
def arrangements(draw, events):
    """The events in another order, some of them repeated, split into batches."""
    repeated = draw(st.lists(st.sampled_from(events), max_size=3)) if events else []
    shuffled = draw(st.permutations([*events, *repeated]))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(shuffled) - 1)), max_size=4)))
    return [shuffled[begin:end] for begin, end in pairwise([0, *cuts, len(shuffled)])]


@pytest.mark.parametrize("versioning", ["off", "on"])
@pytest.mark.parametrize("kind", ["mirror", "append", "merge"])
@given(data=st.data(), history=histories, wanted=requests)
def test_same_events_give_the_same_rows(kind, versioning, data, history, wanted):
    results: list[Any] = []
    for _ in range(2):
        world = build_world(versioning, kind)
        events = write_history(world, history) + [build_request(world, request) for request in wanted]
        results.append(ingest(world, data.draw(arrangements(events)) if results else [events]))
    in_order, arranged = results
    assert arranged == in_order
