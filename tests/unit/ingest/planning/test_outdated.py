"""Which stored rows a batch puts out of date, and which it must leave alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from headwater.capture.control_events import REPAIR_EVENT, RETRACT_EVENT
from headwater.capture.position import BEGINNING
from headwater.ingest.accounting import to_skip
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, keeps_rows
from headwater.ingest.planning.outcome import ObjectOutcome, OutcomeStatus
from headwater.ingest.planning.outdated import find_outdated
from headwater.ingest.planning.plan import Batch, BatchPlan
from tests.fixtures.events import START, build_event, build_stored

MIRROR = FoldRules(mirrors=True)
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


def plan_of(*decisions: Decision, states: Mapping[str, LedgerEntry] = MappingProxyType({})) -> BatchPlan:
    events = tuple(decision.stored for decision in decisions)
    return BatchPlan(Batch(events, BEGINNING, 0, Counter(), more=False), decisions, states)


def find(outcome: ObjectOutcome, rules: FoldRules = MIRROR, *decisions: Decision) -> list[bool]:
    """Of each object whose rows go, whether a repair writes them again."""
    states = {outcome.stored.event.object_id: STATE}
    found = find_outdated(plan_of(*decisions, states=states), [outcome], rules)
    return [one.is_replaced for one in found]


@pytest.mark.parametrize("reason", ["forbidden", "unavailable", "missing", "dropped", "cleaned", "tagged"])
def test_rows_stay_of_an_object_that_cannot_be_seen_now(reason: str) -> None:
    status: OutcomeStatus = "skipped" if reason in ("dropped", "cleaned", "tagged") else "quarantined"
    outcome = ObjectOutcome(STORED, status, reason)
    assert keeps_rows(outcome)
    assert find(outcome) == []


@pytest.mark.parametrize("reason", ["unparsable", "schema", "oversize"])
def test_rows_go_of_an_object_that_was_overwritten_with_something_unusable(reason: str) -> None:
    outcome = ObjectOutcome(STORED, "quarantined", reason)
    assert not keeps_rows(outcome)
    assert find(outcome) == [False]


@pytest.mark.parametrize(
    ("status", "reason"), [("superseded", ""), ("skipped", "not_content"), ("superseded", "already_ingested")]
)
def test_an_event_that_changes_nothing_takes_no_row(status: OutcomeStatus, reason: str) -> None:
    assert find(ObjectOutcome(STORED, status, reason)) == []


@pytest.mark.parametrize("rules", [FoldRules(), FoldRules(merges=True)])
def test_new_content_and_removals_take_the_rows_of_a_mirror_and_of_no_other_table(rules: FoldRules) -> None:
    for outcome in (ObjectOutcome(STORED, "ingested", version="v2"), ObjectOutcome(STORED, "removed")):
        assert find(outcome) == [False]
        assert find(outcome, rules) == []


@pytest.mark.parametrize(
    ("rules", "wanted"), [(MIRROR, [True]), (FoldRules(), [True]), (FoldRules(merges=True), [])]
)
def test_a_repair_replaces_rows_unless_their_keys_do(rules: FoldRules, wanted: list[bool]) -> None:
    event = replace(build_event(), event_name=REPAIR_EVENT)
    assert find(ObjectOutcome(build_stored(event), "ingested", version="v1"), rules) == wanted


@pytest.mark.parametrize("rules", [FoldRules(), FoldRules(merges=True)])
def test_repair_of_a_deleted_object_keeps_rows_if_removals_are_ignored(
    rules: FoldRules,
) -> None:
    """A mirror of the same objects led to it."""
    gone = build_stored(replace(build_event(kind="removed"), event_name=REPAIR_EVENT))
    (decision,) = fold([gone], {STORED.event.object_id: STATE}, rules)
    assert (decision.action, decision.reason) == ("skip", "removal_ignored")
    assert find(to_skip(decision), rules, decision) == []


@pytest.mark.parametrize("rules", [MIRROR, FoldRules(), FoldRules(merges=True)])
def test_an_object_that_the_rules_exclude_takes_all_its_rows(rules: FoldRules) -> None:
    excluded = build_stored(replace(build_event(), event_name=RETRACT_EVENT))
    (decision,) = fold([excluded], {STORED.event.object_id: STATE}, rules)
    assert (decision.action, decision.reason) == ("retract", "filtered")
    assert find(ObjectOutcome(excluded, "skipped", "filtered"), rules, decision) == [False]
