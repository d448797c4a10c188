"""Which stored rows a batch puts out of date, and which it must leave alone."""

from collections import Counter

import pytest

from headwater.capture.position import BEGINNING
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, keeps_rows
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.outdated import find_outdated, is_doubtful, keep_left
from headwater.ingest.planning.plan import BatchPlan
from tests.fixtures.events import START, build_event, build_stored

MIRROR = FoldRules(mirrors=True)
RETRACT = FoldRules(on_object_removed="retract")
STORED = build_stored(build_event(sequence=5))
STATE = LedgerEntry(
    STORED.event.object_id,
    "s3",
    "landing",
    "a/1.json",
    version="v1",
    order_key=build_event(sequence=1).order_key or "",
    event_time=START,
    status="ingested",
    rows=3,
)


def plan_of(*decisions: Decision) -> BatchPlan:
    return BatchPlan(decisions, BEGINNING, 0, Counter(), more=False)


def find(outcome: ObjectOutcome, rules: FoldRules = MIRROR, *decisions: Decision) -> list[tuple[str, bool]]:
    states = {outcome.stored.event.object_id: STATE}
    found = find_outdated(plan_of(*decisions), [outcome], states, rules)
    return [(one.version, one.is_replaced) for one in found]


@pytest.mark.parametrize("reason", ["forbidden", "unavailable", "missing", "dropped", "cleaned", "tagged"])
def test_rows_stay_of_an_object_that_cannot_be_seen_now(reason: str) -> None:
    status: str = "skipped" if reason in ("dropped", "cleaned", "tagged") else "quarantined"
    outcome = ObjectOutcome(STORED, status, reason)
    assert keeps_rows(outcome)
    assert find(outcome) == []


@pytest.mark.parametrize("reason", ["unparsable", "schema", "oversize"])
def test_rows_go_of_an_object_that_was_overwritten_with_something_unusable(reason: str) -> None:
    outcome = ObjectOutcome(STORED, "quarantined", reason)
    assert not keeps_rows(outcome)
    assert find(outcome) == [("", False)]


@pytest.mark.parametrize(
    ("status", "reason"), [("superseded", ""), ("skipped", "not_content"), ("superseded", "already_ingested")]
)
def test_an_event_that_changes_nothing_takes_no_row(status: str, reason: str) -> None:
    assert find(ObjectOutcome(STORED, status, reason)) == []


def test_new_content_replaces_the_rows_of_a_mirror_and_of_no_other_table() -> None:
    outcome = ObjectOutcome(STORED, "ingested", version="v2")
    assert find(outcome) == [("", False)]
    assert find(outcome, RETRACT) == []


def test_a_removed_version_takes_its_own_rows_only() -> None:
    removal = build_stored(build_event(sequence=6, kind="removed", version_id="v1"))
    (decision,) = fold([removal], {STORED.event.object_id: STATE}, RETRACT)
    assert (decision.action, decision.version) == ("retract", "v1")
    outcome = ObjectOutcome(removal, "removed", version="v1")
    assert find(outcome, RETRACT, decision) == [("v1", False)]


def test_a_removed_object_takes_all_its_rows() -> None:
    removal = build_stored(build_event(sequence=6, kind="removed"))
    (decision,) = fold([removal], {STORED.event.object_id: STATE}, RETRACT)
    assert find(ObjectOutcome(removal, "removed"), RETRACT, decision) == [("", False)]


def test_an_object_that_a_look_did_not_find_takes_its_rows() -> None:
    assert find(ObjectOutcome(STORED, "removed", looked=True), RETRACT) == [("", False)]
    assert find(ObjectOutcome(STORED, "removed"), RETRACT) == []


def test_what_was_retracted_is_not_left() -> None:
    removal = build_stored(build_event(sequence=6, kind="removed", version_id="v1"))
    whole = Decision(build_stored(build_event("gone", 6, "removed")), "retract")
    plan = plan_of(Decision(removal, "retract", version="v1"), whole)
    states = {
        ("landing", "a/1.json", "v1"): 1,
        ("landing", "a/1.json", "v2"): 2,
        ("landing", "gone", "v1"): 3,
        ("landing", "other", "v1"): 4,
    }
    assert keep_left(states, plan) == {
        ("landing", "a/1.json", "v2"): 2,
        ("landing", "other", "v1"): 4,
    }


def test_content_is_doubtful_behind_what_was_applied() -> None:
    states = {STORED.event.object_id: STATE}
    assert not is_doubtful(STORED, states)
    assert is_doubtful(build_stored(build_event(sequence=0)), states)
    assert not is_doubtful(STORED, {})
