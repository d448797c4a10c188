"""The test of the test: each mistake that is switched on is caught, and soon."""

import pytest

from simulator.bugs import BUGS
from simulator.campaign import run_campaign
from simulator.scenario import Scenario, Step, StepName, build_scenario
from simulator.shrinking import shrink
from simulator.world import run_scenario

# Mistakes that show only when two rare things meet: episodes in which these happen often.
EMPHASIS: dict[str, tuple[StepName, ...]] = {
    "first_handle_used": ("delete",),
    "ids_kept_after_failure": ("fail",),
    "removal_believed": ("remove_version",),
    "superseded_not_looked": ("drop", "race"),
    "missing_not_retracted": ("remove", "race"),
    "checkpoint_is_last": ("crash",),
    "vanished_not_told": ("remove", "drop"),
    "listing_of_known": ("drop",),
    "listing_wins": ("reconcile",),
    "time_of_look_forgotten": ("request",),
    "empty_forgets_found": ("request",),
    "named_forgets_found": ("request", "race"),
    "position_by_request": ("reconcile",),
    "sequencer_case_kept": ("put",),
    "request_adds_rows": ("request",),
    "cleaned_before_announced": ("clean",),
    "changed_object_cleaned": ("clean",),
    "one_table_is_enough": ("clean", "reconcile"),
    "cleaning_unknown": ("clean", "reconcile"),
}
ENOUGH_STEPS = 20_000
INGESTED = (*(Step("receive", 9), Step("commit"), Step("delete", 4, 1)), *(Step("ingest"), Step("ingest")))
# What hundreds of thousands of steps do not meet.
SCENARIOS = {
    # All that is heard of something that the table has seen, is what lay there before it.
    "seen_not_asked": (
        *(Step("put", 0, 5), Step("remove"), Step("put", 0, 2), Step("drop", 2)),
        *(Step("deliver"), *INGESTED, Step("deliver"), *INGESTED, Step("save")),
        *(Step("remove"), Step("drop")),
    ),
}


@pytest.mark.parametrize("bug", SCENARIOS)
def test_each_rare_mistake_is_caught(bug):
    scenario = Scenario(0, SCENARIOS[bug])
    assert run_scenario(scenario, frozenset([bug])).broken is not None
    assert run_scenario(scenario).broken is None


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in SCENARIOS])
def test_each_mistake_is_caught(bug):
    findings = run_campaign(0, ENOUGH_STEPS, frozenset([bug]), emphasis=EMPHASIS.get(bug, ()), shrinks=False)
    assert findings.broken is not None, f"{BUGS[bug]}: not caught in {findings.steps} steps"
    # It is the mistake that was caught, not something else that is wrong.
    scenario = build_scenario(findings.episode_seed, emphasis=EMPHASIS.get(bug, ()))
    assert run_scenario(scenario).broken is None


def test_there_are_enough_of_them():
    assert len(BUGS) >= 20


def test_a_failure_is_made_small():
    bugs = frozenset(["shrunk_object_keeps_rows"])
    findings = run_campaign(0, ENOUGH_STEPS, bugs)
    assert findings.smallest is not None
    broken = run_scenario(findings.smallest, bugs).broken
    assert broken is not None
    assert findings.broken is not None
    assert broken.code == findings.broken.code
    assert len(findings.smallest.steps) <= 20


def test_shrinking_keeps_the_needed_steps():
    steps = (Step("put", 0, 2), Step("tag"), Step("put", 1, 1), Step("advance"), Step("deliver"))
    scenario = build_scenario(0).with_steps(steps)
    bugs = frozenset(["delete_before_commit"])
    broken = run_scenario(scenario, bugs).broken
    assert broken is not None
    assert len(shrink(scenario, broken.code, bugs).steps) == 1
