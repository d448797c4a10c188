"""What a table knows of an object after an event, in the orders that the simulator has shown to matter."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest

from headwater.capture.control_events import DROP_EVENT, RETRACT_EVENT, build_control_event
from headwater.capture.reconcile.newest_state import TableObservation, fold_known
from headwater.ingest.accounting import to_skip
from headwater.ingest.planning.fold import APPENDS, FoldRules, fold
from headwater.ingest.planning.ledger_entry import CLOCK_MARGIN, apply_outcome, find_observation
from headwater.ingest.planning.outcome import ObjectOutcome, order_outcomes
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison
from tests.fixtures.events import START, build_event, build_stored

MIRROR = FoldRules(mirrors=True)


def state_of(*outcomes):
    state = None
    for outcome in outcomes:
        state = apply_outcome(state, outcome)
    return state


def ingested(event, version=None, *, looked=False):
    stored = event if hasattr(event, "source") else build_stored(event)
    version = version or stored.event.version
    return ObjectOutcome(stored, "ingested", rows=1, version=version, etag=version, looked=looked)


def listed(etag="e", seconds=1.0, *, removed=False, size=10):
    event = replace(
        build_event(kind="removed" if removed else "created", etag=etag, size=size),
        sequencer=None,
        order_key=None,
        event_time=START + timedelta(seconds=seconds),
    )
    return replace(build_stored(event), source="listing")


def instant_at(after):
    """The instant of a commit so long after the beginning."""
    return f"{START + after:%Y%m%d%H%M%S}000"


def decide(events, state, rules=APPENDS):
    stored = [
        event if hasattr(event, "source") else build_stored(event, at) for at, event in enumerate(events)
    ]
    states = {state.object_id: state} if state else {}
    return fold(stored, states, rules)


def actions(events, state, rules=APPENDS):
    return [(d.action, d.reason) for d in decide(events, state, rules)]


def may_exist(event, state, rules=APPENDS):
    (decision,) = decide([event], state, rules)
    return (decision.action, decision.may_exist) == ("read", True)


# --- append and merge: a set of contents ---


def test_ignored_removal_does_not_make_content_found_by_reading_forgotten():
    found = ingested(build_event(sequence=1), "v3", looked=True)
    removal = build_stored(build_event(sequence=2, kind="removed", version_id="v1"))
    state = state_of(found, ObjectOutcome(removal, "skipped", "removal_ignored", version="v1"))
    assert (state.version, state.looked, state.rows) == ("v3", True, 1)
    assert actions([build_event(sequence=3, version_id="v3")], state) == [("skip", "already_ingested")]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_newest_readable_version_counts_if_a_newer_one_was_deleted_before_it_was_read(order):
    deleted = build_stored(build_event(sequence=3, version_id="v3"))
    outcomes = [
        ingested(build_event(sequence=1, version_id="v1"), "v1"),
        ingested(build_event(sequence=2, version_id="v2"), "v2"),
        ObjectOutcome(deleted, "superseded", "superseded"),
    ]
    state = state_of(*(outcomes[at] for at in order))
    assert (state.status, state.version, state.rows) == ("ingested", "v2", 1)
    assert state.order_key == outcomes[1].stored.event.order_key


@pytest.mark.parametrize("sequencer", [True, False])
@pytest.mark.parametrize("first", ["created", "removed"])
def test_version_overtaken_by_an_ignored_removal_counts(sequencer, first):
    def event(sequence, **fields):
        found = build_event(sequence=sequence, **fields)
        return found if sequencer else replace(found, sequencer=None, order_key=None)

    removal = build_stored(event(5, kind="removed", version_id="v4"))
    outcomes = [ObjectOutcome(removal, "skipped", "removal_ignored", version="v4")]
    if first == "created":
        outcomes.insert(0, ingested(event(1, version_id="v1")))
    state = state_of(*outcomes, ingested(event(2, version_id="v2")), ingested(event(3, version_id="v3")))
    assert (state.version, state.status, state.events) == ("v3", "ingested", 2 + len(outcomes))


def test_content_observed_after_a_late_event_counts():
    newest = ObjectOutcome(build_stored(build_event(sequence=4)), "skipped", "empty_object", version="e4")
    state = state_of(newest, ingested(build_event(sequence=2), "e5", looked=True))
    assert (state.version, state.looked, state.order_key[:16]) == ("e5", True, f"{4:016x}")
    assert actions([build_event(sequence=5, etag="e5")], state) == [("skip", "already_ingested")]


def test_another_version_ingested_leaves_content_found_by_reading_unnamed():
    found = ingested(build_event(sequence=1, version_id="v1"), "v4", looked=True)
    state = state_of(found, ingested(build_event(sequence=3, version_id="v3")))
    assert state.looked
    late = replace(build_event(sequence=4, version_id="v4"), event_time=START + 2 * CLOCK_MARGIN)
    assert may_exist(late, state)
    own = build_stored(build_event(version_id="v4", sequence=4))
    assert not state_of(found, ObjectOutcome(own, "superseded", "already_ingested")).looked


def test_content_found_by_an_earlier_read_may_exist_when_that_of_a_later_read_is_confirmed():
    requests = [ingested(listed(seconds=0), found, looked=True) for found in ("v5", "v7")]
    # Both reads came long after the requests.
    fifth, seventh = (
        replace(
            build_event(sequence=n, version_id=f"v{n}"),
            event_time=START + 2 * CLOCK_MARGIN + timedelta(seconds=n),
        )
        for n in (5, 7)
    )
    confirmed = ObjectOutcome(build_stored(seventh), "superseded", "already_ingested")
    state = replace(state_of(*requests, confirmed), instant=instant_at(2 * CLOCK_MARGIN))
    assert not state.looked
    assert may_exist(fifth, state)
    later = replace(seventh, event_time=seventh.event_time + 2 * CLOCK_MARGIN, version_id="v9")
    assert not may_exist(later, state)


def test_listed_content_may_exist_until_its_event_can_no_longer_arrive():
    state = state_of(
        ingested(listed("e2", seconds=2), looked=True), ingested(build_event(sequence=1, etag="e1"))
    )
    state = replace(state, instant=instant_at(timedelta(seconds=4)))
    assert not state.looked
    assert may_exist(build_event(sequence=2, etag="e2"), state)
    later = replace(build_event(sequence=9, etag="e2"), event_time=START + timedelta(minutes=9))
    assert not may_exist(later, state)
    assert not may_exist(build_event(sequence=2, etag="e2"), state, FoldRules(merges=True))


def test_content_put_before_a_late_read_of_a_request_may_exist():
    # The request waited for ten minutes, and its read found what was put in the ninth.
    state = state_of(ingested(listed("e2"), looked=True), ingested(build_event(sequence=1, etag="e1")))
    put = replace(build_event(sequence=2, etag="e2"), event_time=START + timedelta(minutes=9))
    assert may_exist(put, replace(state, instant=instant_at(timedelta(minutes=10))))
    assert not may_exist(put, replace(state, instant=instant_at(timedelta(minutes=2))))
    assert may_exist(put, state)  # decided, and not committed yet


def test_merge_ingests_re_read_content_with_its_event_time():
    state = state_of(ingested(build_event(sequence=1), "e4", looked=True))
    own = build_event(sequence=4, etag="e4")
    assert actions([own], state, FoldRules(merges=True)) == [("read", None)]
    assert actions([own], state, FoldRules()) == [("skip", "already_ingested")]


def test_listing_of_content_that_was_ingested_by_its_version_is_not_read_again():
    state = replace(state_of(ingested(build_event(version_id="v2", etag="e2"))), etag="e2")
    assert actions([listed("e2")], state) == [("skip", "already_ingested")]
    assert actions([listed("e3")], state) == [("read", None)]


def test_listing_is_read_unless_a_version_matches_it():
    versions = [build_event(sequence=n, version_id=f"v{n}", etag=f"e{n}") for n in (1, 2)]
    assert [action for action, _ in actions([*versions, listed("e9")], None)] == ["read", "read", "read"]
    # A later version may have the same bytes.
    assert actions([*versions, listed("e2")], None)[2] == ("read", None)
    named = replace(listed("e2"), event=replace(listed("e2").event, version_id="v2"))
    assert actions([*versions, named], None)[2] == ("skip", "superseded")
    unversioned = [build_event(sequence=n, etag=f"e{n}") for n in (1, 2)]
    assert actions([*unversioned, listed("e2")], None)[2] == ("skip", "superseded")
    assert actions([*unversioned, listed("e9")], None)[2] == ("read", None)


def test_listing_of_content_that_was_superseded_before_it_was_read_is_read():
    superseded = ObjectOutcome(
        build_stored(build_event(etag="e1")), "superseded", "superseded", version="e1", etag="e1"
    )
    assert actions([listed("e1")], state_of(superseded)) == [("read", None)]


def test_listings_that_have_seen_different_contents_are_all_read():
    assert actions([listed("e1"), listed("e2")], None) == [("read", None), ("read", None)]
    assert actions([listed("e0", size=0)], None) == [("read", None)]


def test_late_version_does_not_hide_listed_content():
    shown = ObjectOutcome(seen(listed("e6"), 9), "ingested", rows=1, version="v6", etag="e6", looked=True)
    late = ingested(build_event(sequence=5, version_id="v5", etag="e5"))
    assert state_of(shown, late).version == "v6"
    newer = ingested(build_event(sequence=10, version_id="v10", etag="e10"))
    assert state_of(shown, late, newer).version == "v10"


def test_listed_states_are_applied_after_notifications():
    late = ingested(build_event(sequence=5, version_id="v5", etag="e5"))
    shown = ObjectOutcome(seen(listed("e6"), 9), "ingested", rows=1, version="v6", etag="e6", looked=True)
    newer = ingested(build_event(sequence=10, version_id="v10", etag="e10"))
    assert order_outcomes([newer, shown, late]) == [late, newer, shown]


def test_content_whose_rows_are_there_already_counts_when_its_event_is_the_newest():
    found = ingested(build_event(sequence=1), "v4", looked=True)
    between = ingested(build_event(sequence=3, version_id="v3"))
    own = build_stored(build_event(sequence=4, version_id="v4"))
    kept = ObjectOutcome(own, "superseded", "already_ingested", version="v4", etag="e4", kept=7)
    state = state_of(found, between, kept)
    assert (state.version, state.etag, state.rows, state.status) == ("v4", "e4", 7, "ingested")


# --- mirrors: the state is what the last read found ---


def test_tags_that_overtake_their_object_do_not_count_as_its_content():
    tags = build_event(sequence=1, kind="tagged", etag="e1")
    state = state_of(ObjectOutcome(build_stored(tags), "skipped", "not_content", version="e1", etag="e1"))
    assert (state.version, state.etag) == ("", "")
    assert actions([build_event(sequence=2, etag="e1")], state, MIRROR) == [("look", None)]


def test_mirror_reads_for_an_event_that_its_state_does_not_cover():
    state = state_of(ingested(build_event(sequence=3, kind="removed"), "v5", looked=True))
    assert actions([build_event(sequence=2, version_id="v2")], state, MIRROR) == [("skip", "superseded")]
    assert actions([build_event(sequence=4, version_id="v4")], state, MIRROR) == [("look", None)]
    assert actions([build_event(sequence=5, version_id="v5")], state, MIRROR) == [
        ("skip", "already_ingested")
    ]


@pytest.mark.parametrize("kind", ["created", "removed"])
def test_mirror_reads_once_for_all_the_events_of_a_batch(kind):
    events = [
        build_event(sequence=1),
        build_event(sequence=3, kind=kind),
        build_event(sequence=2),
        listed("e9"),
    ]
    wanted = [("skip", "superseded"), ("skip", "superseded"), ("look", None), ("skip", "superseded")]
    assert actions(events, None, MIRROR) == wanted


def test_mirror_reads_listed_content_unless_ingested():
    state = state_of(ingested(build_event(sequence=1, etag="e2")))
    assert actions([listed("e2")], state, MIRROR) == [("skip", "already_ingested")]
    assert actions([listed("e3")], state, MIRROR) == [("look", None)]
    assert actions([listed(removed=True)], state, MIRROR) == [("look", None)]
    assert actions([listed("e1"), listed("e2")], None, MIRROR) == [("skip", "superseded"), ("look", None)]


def test_mirror_ignores_absence_of_unknown_objects():
    removal = ObjectOutcome(build_stored(build_event(kind="removed")), "removed", looked=True)
    for state in (None, state_of(removal)):
        assert actions([listed(removed=True)], state, MIRROR) == [("skip", "already_removed")]


def test_listing_is_not_lost_with_a_late_event():
    state = state_of(ObjectOutcome(build_stored(build_event(sequence=3, kind="removed")), "removed"))
    late = build_event(sequence=1, kind="removed")
    assert actions([late, seen(listed("e6"), 9)], state, MIRROR) == [("skip", "superseded"), ("look", None)]


def test_state_is_the_content_read_whatever_the_trigger():
    """Observations are merged by their maximum, so that their order does not matter."""
    first = ingested(build_event(sequence=5), "e9", looked=True)
    for later in (build_event(sequence=4), listed("e1"), build_event(sequence=6, kind="removed")):
        state = state_of(first, ingested(later, "e8", looked=True))
        assert state.version == "e8"
        assert state.order_key >= (first.stored.event.order_key or "")


# --- what a reconcile asks of all tables ---


def seen(stored, seconds):
    """The event, received so long after the start."""
    return replace(stored, received_at=START + timedelta(seconds=seconds))


def test_read_is_later_than_the_newest_received_event():
    found = ingested(build_event(sequence=1), "other", looked=True)
    state = apply_outcome(None, found, "20260501120000250")
    received = build_event(sequence=1).event_time
    observation = TableObservation(received, "other", found.stored.received_at)
    assert find_observation(state) == observation
    assert find_observation(replace(state, looked=False)) == observation
    assert find_observation(replace(state, status="superseded")) == replace(observation, etag="")
    named = apply_outcome(None, ingested(build_event(sequence=1)), "20260501120000250")
    unknown = [named, replace(state, status="removed"), replace(state, reason="cleaned")]
    assert [find_observation(one) for one in unknown] == [None] * 3


def test_object_found_absent_without_a_removal_event_is_asked_about():
    absent = ObjectOutcome(seen(build_stored(build_event(sequence=2)), 60), "removed", "missing", looked=True)
    state = apply_outcome(None, absent, "20260501120000250")
    observation = find_observation(state)
    assert observation == TableObservation(build_event(sequence=2).event_time, "", absent.stored.received_at)
    assert observation.is_absence
    removal = build_stored(build_event(sequence=3, kind="removed"))
    assert find_observation(state_of(absent, ObjectOutcome(removal, "removed", looked=True))) is None


@pytest.mark.parametrize("event_name", [DROP_EVENT, RETRACT_EVENT])
def test_object_given_up_or_excluded_is_not_reported_by_the_next_reconcile(event_name):
    found = seen(listed("e1"), 60)
    state = apply_outcome(
        None, ObjectOutcome(found, "quarantined", "unparsable", version="e1", etag="e1", looked=True)
    )
    event = found.event
    control = build_stored(
        build_control_event(event_name, event.provider, event.bucket, event.key, START).event
    )
    (decision,) = fold([replace(control, source="listing")], {state.object_id: state})
    state = apply_outcome(state, to_skip(decision))
    assert state.reason in ("dropped", "filtered")
    observation = find_observation(state)
    assert observation is not None
    (known,) = fold_known([found], event.bucket, {event.key: [observation]})
    present = ListedObject(event.key, event.size, "e1", None, event.event_time)
    assert Comparison(event.key, present, known).verdict == "same"
