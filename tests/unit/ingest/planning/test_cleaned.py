"""What `clean_source` does to the bucket changes no table; what comes after it does."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.capture.control_events import (
    CLEANED_EVENT,
    LISTED_EVENT,
    REPAIR_EVENT,
    TAGGED_EVENT,
    VANISHED_EVENT,
    build_control_event,
    with_content,
)
from headwater.capture.position import Position
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.accounting import find_cleaned, settle_outcome
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome, keeps_rows
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.sources.object_event import EventKind
from tests.fixtures.events import START, build_event, build_stored

MIRROR, APPEND, MERGE = FoldRules(mirrors=True), FoldRules(), FoldRules(merges=True)

PUT = build_stored(build_event(sequence=1, etag="e1"))
INGESTED = replace(
    apply_outcome(None, ObjectOutcome(PUT, "ingested", version="e1", etag="e1", rows=3)),
    instant="20260501000001000",
)


def own(name: str, kind: EventKind = "other", etag: str | None = "e1", at: int = 100) -> StoredEvent:
    now = START + timedelta(seconds=at)
    captured = with_content(build_control_event(name, "s3", "landing", "a/1.json", now), kind, etag)
    return StoredEvent(
        captured.event.event_id, captured.event, now, "listing", Position(f"2026050100000{at:04d}")
    )


def real(kind: EventKind, sequence: int, etag: str = "e1", version_id: str | None = None) -> StoredEvent:
    return build_stored(build_event(sequence=sequence, kind=kind, etag=etag, version_id=version_id), sequence)


def run(
    rules: FoldRules, state: LedgerEntry | None, *events: StoredEvent
) -> dict[str, tuple[str, str | None]]:
    states = {state.object_id: state} if state else {}
    return {d.stored.event_id: (d.action, d.reason) for d in fold(events, states, rules)}


def clean(state: LedgerEntry = INGESTED, name: str = CLEANED_EVENT) -> LedgerEntry:
    reason = "tagged" if name == TAGGED_EVENT else "cleaned"
    return apply_outcome(state, ObjectOutcome(own(name), "skipped", reason))


CLEANED = clean()


def test_control_event_keeps_the_object_ingested() -> None:
    mark = own(CLEANED_EVENT)
    assert run(MIRROR, INGESTED, mark) == {mark.event_id: ("skip", "cleaned")}
    assert (CLEANED.status, CLEANED.reason, CLEANED.rows, CLEANED.version) == ("ingested", "cleaned", 3, "e1")
    assert (CLEANED.sort_key, CLEANED.instant) == (INGESTED.sort_key, INGESTED.instant)
    assert clean(CLEANED, TAGGED_EVENT).reason == "tagged"


@pytest.mark.parametrize(
    "state", [None, replace(INGESTED, etag="e0", version="e0"), replace(INGESTED, status="quarantined")]
)
def test_control_event_of_an_unknown_object_is_ignored(state: LedgerEntry | None) -> None:
    mark, removal = own(CLEANED_EVENT), real("removed", 2)
    found = run(MIRROR, state, mark, removal)
    assert found[mark.event_id] == ("skip", "superseded")
    assert found[removal.event_id][0] == "look"
    assert apply_outcome(state, ObjectOutcome(mark, "superseded", "superseded")).reason != "cleaned"


REMOVALS = [
    real("removed", 2),
    real("removed", 2, version_id="v1"),
    own(VANISHED_EVENT, "removed", None, at=200),
]


@pytest.mark.parametrize("removal", REMOVALS, ids=["notified", "version", "vanished"])
@pytest.mark.parametrize("is_known", [True, False], ids=["after", "in one batch"])
def test_our_own_removal_is_not_followed(removal: StoredEvent, is_known: bool) -> None:
    events = [removal] if is_known else [own(CLEANED_EVENT), removal]
    found = run(MIRROR, CLEANED if is_known else INGESTED, *events)
    assert found[removal.event_id] == ("skip", "cleaned")
    outcome = ObjectOutcome(removal, "skipped", "cleaned")
    assert keeps_rows(outcome)
    after = apply_outcome(CLEANED, outcome)
    assert replace(after, events=CLEANED.events) == CLEANED


def test_table_that_ignores_removals_keeps_its_watermark() -> None:
    removal = real("removed", 2)
    after = apply_outcome(CLEANED, ObjectOutcome(removal, "skipped", "removal_ignored"))
    assert (after.status, after.reason, after.rows) == ("ingested", "cleaned", 3)


def test_a_new_put_is_ingested_and_its_removal_is_followed() -> None:
    put, removal = real("created", 3, "e2"), real("removed", 4)
    ours = real("removed", 2)
    assert run(MIRROR, CLEANED, ours, put)[put.event_id][0] == "look"
    after = apply_outcome(CLEANED, ObjectOutcome(put, "ingested", version="e2", etag="e2", rows=1))
    assert (after.status, after.reason) == ("ingested", "")
    assert run(MIRROR, after, removal)[removal.event_id][0] == "look"
    found = run(MIRROR, CLEANED, ours, put, removal)
    assert found[ours.event_id] == ("skip", "cleaned")
    assert found[removal.event_id][0] == "look"


def test_a_version_that_can_still_be_read_is_read_unless_the_table_is_a_mirror() -> None:
    put = real("created", 3, "e2", version_id="v2")
    assert [run(rules, CLEANED, put)[put.event_id][0] for rules in (MIRROR, APPEND)] == ["look", "read"]


def test_the_same_bytes_put_again_are_new() -> None:
    put, removal = real("created", 3, "e1"), real("removed", 4)
    assert run(MIRROR, CLEANED, put)[put.event_id] == ("look", None)
    assert run(APPEND, CLEANED, put)[put.event_id] == ("read", None)
    after = apply_outcome(CLEANED, ObjectOutcome(put, "superseded", "already_ingested", looked=True))
    assert (after.reason, after.rows) == ("", 3)
    assert run(MIRROR, after, removal)[removal.event_id][0] == "look"


@pytest.mark.parametrize("rules", [MIRROR, APPEND, MERGE])
def test_late_event_of_a_listed_object_is_not_read_again(rules: FoldRules) -> None:
    listed = replace(CLEANED, order_key="", looked=True)
    late = real("created", 1, "e1")
    assert run(rules, listed, late)[late.event_id] == ("skip", "already_ingested")
    after = apply_outcome(listed, ObjectOutcome(late, "superseded", "already_ingested"))
    assert (after.reason, after.looked) == ("cleaned", False)


def test_a_put_notified_after_its_own_removal_is_read() -> None:
    """The removal was taken for ours: its place in the order must not hide the put."""
    after = apply_outcome(CLEANED, ObjectOutcome(real("removed", 9), "skipped", "cleaned"))
    put = real("created", 8, "e2", version_id="v2")
    assert run(MIRROR, after, put)[put.event_id] == ("look", None)


def test_a_listing_that_still_shows_it_changes_nothing() -> None:
    listed = own(LISTED_EVENT, "created", "e1")
    assert run(MIRROR, CLEANED, listed)[listed.event_id] == ("skip", "already_ingested")
    assert apply_outcome(CLEANED, ObjectOutcome(listed, "superseded", "already_ingested")).reason == "cleaned"


@pytest.mark.parametrize("is_known", [True, False])
def test_a_repair_finds_nothing_and_keeps_the_rows(is_known: bool) -> None:
    repair = own(REPAIR_EVENT, "created", None, at=200)
    states = {INGESTED.object_id: CLEANED if is_known else INGESTED}
    decisions = fold([own(CLEANED_EVENT), repair], states, MIRROR)
    assert [d.action for d in decisions if d.stored is repair] == ["look"]
    missing = ObjectOutcome(repair, "missing", "missing")
    kept = settle_outcome(missing, find_cleaned(decisions, states), mirrors=True)
    assert (kept.status, kept.reason) == ("skipped", "cleaned")
    assert apply_outcome(CLEANED, kept).rows == 3


def test_a_real_event_that_finds_nothing_is_an_answer() -> None:
    missing = ObjectOutcome(real("created", 3, "e2"), "missing", "missing")
    assert settle_outcome(missing, {INGESTED.object_id}, mirrors=True).status == "removed"
    assert settle_outcome(missing, {INGESTED.object_id}, mirrors=False) is missing


def test_tags_change_nothing() -> None:
    tagged = build_stored(replace(build_event(sequence=5, kind="tagged"), event_name="ObjectTagging:Put"))
    for state in (INGESTED, CLEANED):
        assert run(MIRROR, state, tagged) == {tagged.event_id: ("skip", "not_content")}
        after = apply_outcome(state, ObjectOutcome(tagged, "skipped", "not_content"))
        assert replace(after, events=state.events) == state


def test_a_skipped_object_remembers_why_it_was_skipped() -> None:
    empty = replace(INGESTED, status="skipped", reason="empty_object", rows=0)
    assert (clean(empty).status, clean(empty).reason, clean(empty).detail) == (
        "skipped",
        "cleaned",
        "empty_object",
    )
    assert clean(clean(empty), TAGGED_EVENT).detail == "empty_object"


def describe(decisions: Sequence[Decision]) -> list[tuple[str, str, str | None]]:
    return [(d.stored.event_id, d.action, d.reason) for d in decisions]


def test_every_event_of_a_cleaned_object_has_one_decision() -> None:
    events = [
        own(CLEANED_EVENT),
        *REMOVALS,
        real("created", 3, "e2"),
        real("removed", 4),
        real("created", 1, "e1"),
    ]
    for state in (None, INGESTED, CLEANED):
        for rules in (MIRROR, APPEND, MERGE):
            states = {state.object_id: state} if state else {}
            found = describe(fold(events, states, rules))
            assert sorted(at for at, _, _ in found) == sorted({e.event_id for e in events})
            assert sorted(describe(fold(events[::-1] + events, states, rules))) == sorted(found)
