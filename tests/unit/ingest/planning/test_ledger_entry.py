"""What a table knows of an object after an event, in the orders that the simulator has shown to matter."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.ingest.planning.fold import IGNORE_REMOVALS, FoldRules, fold
from headwater.ingest.planning.ledger_entry import VANISHED, apply_outcome, find_seen_after
from headwater.ingest.planning.outcome import ObjectOutcome, order_outcomes
from headwater.ingest.planning.outdated import is_doubtful
from tests.fixtures.events import START, build_event, build_stored

MIRROR = FoldRules(mirrors=True, on_object_removed="retract")
RETRACT = FoldRules(on_object_removed="retract")


def state_of(*outcomes):
    state = None
    for outcome in outcomes:
        state = apply_outcome(state, outcome)
    return state


def ingested(event, version=None, *, looked=False):
    return ObjectOutcome(
        build_stored(event), "ingested", rows=1, version=version or event.version, looked=looked
    )


def listed(etag="e", seconds=1.0, *, removed=False):
    event = replace(
        build_event(kind="removed" if removed else "created", etag=etag),
        sequencer=None,
        order_key=None,
        event_time=START + timedelta(seconds=seconds),
    )
    return replace(build_stored(event), source="listing")


def actions(events, state, rules=IGNORE_REMOVALS):
    stored = [
        event if hasattr(event, "source") else build_stored(event, at) for at, event in enumerate(events)
    ]
    states = {state.object_id: state} if state else {}
    return [(d.action, d.reason) for d in fold(stored, states, rules)]


def test_ignored_removal_does_not_make_content_found_by_looking_forgotten():
    found = ingested(build_event(sequence=1), "v3", looked=True)
    removal = build_stored(build_event(sequence=2, kind="removed", version_id="v1"))
    state = state_of(found, ObjectOutcome(removal, "skipped", "removal_ignored", version="v1"))
    assert (state.version, state.looked, state.rows) == ("v3", True, 1)
    assert actions([build_event(sequence=3, version_id="v3")], state) == [("skip", "already_ingested")]


@pytest.mark.parametrize("sequencer", [True, False])
@pytest.mark.parametrize("first", ["created", "removed"])
def test_version_that_an_ignored_removal_has_overtaken_is_what_counts(sequencer, first):
    def event(sequence, **fields):
        found = build_event(sequence=sequence, **fields)
        return found if sequencer else replace(found, sequencer=None, order_key=None)

    removal = build_stored(event(5, kind="removed", version_id="v4"))
    outcomes = [ObjectOutcome(removal, "skipped", "removal_ignored", version="v4")]
    if first == "created":
        outcomes.insert(0, ingested(event(1, version_id="v1")))
    state = state_of(*outcomes, ingested(event(2, version_id="v2")), ingested(event(3, version_id="v3")))
    assert (state.version, state.status, state.events) == ("v3", "ingested", 2 + len(outcomes))


def test_content_found_after_a_late_event_is_what_counts():
    newest = ObjectOutcome(
        build_stored(build_event(sequence=4, size=0)), "skipped", "empty_object", version="e4"
    )
    state = state_of(newest, ingested(build_event(sequence=2), "e5", looked=True))
    assert (state.version, state.looked, state.order_key[:16]) == ("e5", True, f"{4:016x}")
    assert actions([build_event(sequence=5, etag="e5")], state) == [("skip", "already_ingested")]


def test_another_version_taken_in_leaves_content_found_by_looking_unnamed():
    found = ingested(build_event(sequence=1, version_id="v1"), "v4", looked=True)
    state = state_of(found, ingested(build_event(sequence=3, version_id="v3")))
    assert state.looked
    confirmed = ObjectOutcome(
        build_stored(build_event(sequence=3, version_id="v3")), "superseded", "already_ingested"
    )
    assert not state_of(
        found, replace(confirmed, stored=build_stored(build_event(version_id="v4", sequence=4)))
    ).looked


def test_the_same_empty_object_twice_does_not_name_content_found_by_looking():
    found = ingested(build_event(sequence=1), "e9", looked=True)
    empty, again = (build_stored(build_event(sequence=sequence, etag="empty", size=0)) for sequence in (2, 4))
    state = state_of(
        found,
        ObjectOutcome(empty, "skipped", "empty_object", version="empty", etag="empty"),
        ObjectOutcome(again, "superseded", "superseded", version="empty", etag="empty"),
    )
    # So the table is asked whether it has the content of the event to come.
    assert state.looked
    assert is_doubtful(build_stored(build_event(sequence=9, etag="e9")), {state.object_id: state})


def test_an_older_event_that_was_read_leaves_the_event_of_what_was_found_in_doubt():
    found = ObjectOutcome(listed("e2", seconds=2), "ingested", rows=1, version="e2", etag="e2", looked=True)
    state = state_of(found, ingested(build_event(sequence=1, etag="e1")))
    assert not state.looked
    assert is_doubtful(build_stored(build_event(sequence=2, etag="e2")), {state.object_id: state})
    later = replace(build_event(sequence=9, etag="e2"), event_time=START + timedelta(minutes=9))
    assert not is_doubtful(build_stored(later), {state.object_id: state})


def test_tags_that_overtake_their_object_do_not_count_as_its_content():
    tags = build_event(sequence=1, kind="tagged", etag="e1")
    state = state_of(ObjectOutcome(build_stored(tags), "skipped", "not_content", version="e1", etag="e1"))
    assert (state.version, state.etag) == ("", "")
    assert actions([build_event(sequence=2, etag="e1")], state, MIRROR) == [("read", None)]


def test_mirror_looks_when_an_event_may_be_older_than_what_was_found_by_looking():
    state = state_of(ingested(build_event(sequence=3, kind="removed"), "v5", looked=True))
    assert actions([build_event(sequence=4, version_id="v4")], state, MIRROR) == [("look", None)]
    assert actions([build_event(sequence=5, version_id="v5")], state, MIRROR) == [
        ("skip", "already_ingested")
    ]


def test_mirror_looks_when_a_listing_has_missed_the_object_after_the_event():
    gone = ObjectOutcome(listed(seconds=9, removed=True), "skipped", "already_removed")
    assert actions([build_event(sequence=5)], state_of(gone), MIRROR) == [("look", None)]
    assert actions([build_event(sequence=10)], state_of(gone), MIRROR) == [("read", None)]


def test_mirror_looks_when_two_listings_have_seen_different_things():
    assert [action for action, _ in actions([listed("e1"), listed("e2")], None, MIRROR)] == ["skip", "look"]


def test_listing_of_content_that_was_taken_in_by_its_version_is_not_read_again():
    state = replace(state_of(ingested(build_event(version_id="v2", etag="e2"))), etag="e2")
    assert actions([listed("e2")], state) == [("skip", "already_ingested")]
    assert actions([listed("e3")], state) == [("read", None)]


def test_listing_beside_versions_is_read_unless_one_of_them_is_what_it_saw():
    versions = [build_event(sequence=n, version_id=f"v{n}", etag=f"e{n}") for n in (1, 2)]
    assert [action for action, _ in actions([*versions, listed("e9")], None)] == ["read", "read", "read"]
    found = [action for action, _ in actions([*versions, listed("e2")], None)]
    assert sorted(found) == ["read", "read", "skip"]


def test_event_from_before_a_listing_missed_the_object_is_late_where_removals_are_followed():
    vanished = listed(seconds=9, removed=True)
    assert actions([vanished, build_event(sequence=5)], None, RETRACT) == [
        ("skip", "superseded"),
        ("retract", None),
    ]
    state = state_of(ObjectOutcome(vanished, "removed", VANISHED))
    assert actions([build_event(sequence=5)], state, RETRACT) == [("skip", "superseded")]
    assert actions([build_event(sequence=10)], state, RETRACT) == [("read", None)]


def test_event_from_before_a_listing_missed_the_object_is_still_late_after_another_one():
    vanished = ObjectOutcome(listed(seconds=9, removed=True), "removed", VANISHED)
    late = ObjectOutcome(build_stored(build_event(sequence=5)), "superseded", "superseded")
    assert actions([build_event(sequence=6)], state_of(vanished, late), RETRACT) == [("skip", "superseded")]


def test_object_put_again_after_a_removal_in_the_batch_is_read_though_it_was_found_by_looking():
    state = state_of(ingested(build_event(sequence=1), "e3", looked=True))
    batch = [build_event(sequence=2, kind="removed"), build_event(sequence=3, etag="e3")]
    assert actions(batch, state, RETRACT) == [("retract", None), ("read", None)]


def test_removal_of_a_delete_marker_makes_a_removed_object_looked_at():
    marker = replace(
        build_event(sequence=2, kind="removed", version_id="m2"),
        event_name="ObjectRemoved:DeleteMarkerCreated",
    )
    state = state_of(ObjectOutcome(build_stored(marker), "removed"))
    back = build_event(sequence=3, kind="removed", version_id="m2")
    assert actions([back], state, RETRACT) == [("look", None)]
    assert actions([marker, back], None, RETRACT) == [("retract", None), ("look", None)]


def test_merge_takes_content_found_by_looking_in_again_with_the_time_of_its_own_event():
    state = state_of(ingested(build_event(sequence=1), "e4", looked=True))
    own = build_event(sequence=4, etag="e4")
    assert actions([own], state, FoldRules(merges=True)) == [("read", None)]
    assert actions([own], state, FoldRules()) == [("skip", "already_ingested")]


def test_listing_of_content_that_was_superseded_before_it_was_read_is_read():
    superseded = ObjectOutcome(
        build_stored(build_event(etag="e1")), "superseded", "superseded", version="e1", etag="e1"
    )
    assert actions([listed("e1")], state_of(superseded)) == [("read", None)]


def test_listings_that_have_seen_different_things_are_all_read():
    assert actions([listed("e1"), listed("e2")], None) == [("read", None), ("read", None)]


def test_empty_object_of_a_listing_is_over_when_a_later_one_shows_something_else():
    state = replace(state_of(ingested(build_event(sequence=1), "e3", looked=True)), etag="e3")
    empty = listed("e0", seconds=2)
    empty = replace(empty, event=replace(empty.event, size=0))
    wanted = [("skip", "superseded"), ("skip", "already_ingested")]
    assert actions([empty, listed("e3", seconds=3)], state) == wanted
    assert actions([empty], state) == [("skip", "empty_object")]
    later = [empty, listed("e0", seconds=3)]
    assert actions(later, state) == [("skip", "empty_object"), ("read", None)]


def seen(stored, seconds):
    """The event, come so long after the start."""
    return replace(stored, received_at=START + timedelta(seconds=seconds))


def test_version_that_is_heard_of_late_does_not_hide_what_a_listing_has_shown():
    shown = ObjectOutcome(seen(listed("e6"), 9), "ingested", rows=1, version="v6", etag="e6", looked=True)
    late = ingested(build_event(sequence=5, version_id="v5", etag="e5"))
    assert state_of(shown, late).version == "v6"
    newer = ingested(build_event(sequence=10, version_id="v10", etag="e10"))
    assert state_of(shown, late, newer).version == "v10"


def test_listing_and_the_events_before_it_are_in_order_in_one_batch():
    late = ingested(build_event(sequence=5, version_id="v5", etag="e5"))
    shown = ObjectOutcome(seen(listed("e6"), 9), "ingested", rows=1, version="v6", etag="e6", looked=True)
    newer = ingested(build_event(sequence=10, version_id="v10", etag="e10"))
    assert order_outcomes([newer, shown, late]) == [late, shown, newer]


def test_content_whose_rows_are_there_already_counts_when_its_event_is_the_newest():
    found = ingested(build_event(sequence=1), "v4", looked=True)
    between = ingested(build_event(sequence=3, version_id="v3"))
    own = build_stored(build_event(sequence=4, version_id="v4"))
    kept = ObjectOutcome(own, "superseded", "already_ingested", version="v4", etag="e4", kept=7)
    state = state_of(found, between, kept)
    assert (state.version, state.etag, state.rows, state.status) == ("v4", "e4", 7, "ingested")


def test_removal_of_another_version_does_not_make_what_it_overtook_late():
    removal = build_stored(build_event(sequence=4, kind="removed", version_id="v1"))
    overtaken = ingested(build_event(sequence=3, version_id="v3"))
    first = ingested(build_event(sequence=2, version_id="v2"))
    assert state_of(first, ObjectOutcome(removal, "removed", version="v1"), overtaken).version == "v3"


def test_removal_from_before_a_listing_does_not_take_away_what_that_has_shown():
    shown = ObjectOutcome(seen(listed("e6"), 9), "ingested", rows=1, version="e6", etag="e6", looked=True)
    removal = build_event(sequence=5, kind="removed")
    assert actions([removal], state_of(shown), RETRACT) == [("skip", "superseded")]
    assert actions([removal], state_of(shown), MIRROR) == [("look", None)]
    assert actions([build_event(sequence=10, kind="removed")], state_of(shown), RETRACT) == [
        ("retract", None)
    ]
    batch = [seen(listed("e6"), 9), removal]
    assert actions(batch, None, RETRACT) == [("retract", None), ("read", None)]


def test_listing_is_not_lost_beside_a_late_event_of_a_mirrored_object():
    state = state_of(ObjectOutcome(build_stored(build_event(sequence=3, kind="removed")), "removed"))
    late = build_event(sequence=1, kind="removed")
    assert actions([late, seen(listed("e6"), 9)], state, MIRROR) == [("skip", "superseded"), ("look", None)]


def test_mirror_looks_when_a_listing_has_shown_something_else_than_what_it_has_applied():
    state = state_of(ingested(build_event(sequence=1), "e2", looked=True))
    own = build_event(sequence=2, etag="e2")
    assert actions([own], state, MIRROR) == [("skip", "already_ingested")]
    assert actions([own, seen(listed("e6"), 9)], state, MIRROR) == [("look", None), ("skip", "superseded")]


def test_empty_object_of_an_old_listing_does_not_count():
    stale = replace(seen(listed("e0"), 2), event=replace(listed("e0").event, size=0))
    assert actions([stale, build_event(sequence=5, version_id="v5")], None) == [
        ("skip", "superseded"),
        ("read", None),
    ]


def test_what_was_seen_was_seen_after_the_newest_event_that_was_heard_of():
    found = ingested(build_event(sequence=1), "other", looked=True)
    state = apply_outcome(None, found, "20260501120000250")
    heard_of = build_event(sequence=1).event_time
    assert find_seen_after(state) == heard_of
    assert find_seen_after(replace(state, looked=False)) == heard_of
    named = apply_outcome(None, ingested(build_event(sequence=1)), "20260501120000250")
    nobody_knows = [named, replace(state, status="removed"), replace(state, reason="cleaned")]
    assert [find_seen_after(one) for one in nobody_knows] == [None] * 3
