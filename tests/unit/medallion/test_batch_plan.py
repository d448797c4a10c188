"""What a batch of a table with several sources reads, and the watermarks that it commits."""

import pytest

from headwater.ingest.planning.outcome import FOLLOWED
from headwater.lake.queries.change_plan import ChangePlan
from headwater.medallion.batch_plan import BatchPlan
from headwater.medallion.follow_state import (
    FollowState,
    parse_follow_state,
    parse_watermarks,
    write_watermarks,
)

BOTH = ("orders", "customers")
NOTHING = ChangePlan("nothing", "1", "1")
CHANGES = ChangePlan("changes", "2", "5")
ALL = ChangePlan("all", "", "7")


@pytest.mark.parametrize(
    ("orders", "customers", "kind", "changed"),
    [
        (NOTHING, NOTHING, "nothing", []),
        (CHANGES, NOTHING, "changes", ["orders"]),
        (CHANGES, ALL, "all", ["orders", "customers"]),
        (NOTHING, ALL, "all", ["customers"]),
    ],
)
def test_one_source_with_unknown_changes_makes_the_batch_read_everything(
    orders: ChangePlan, customers: ChangePlan, kind: str, changed: list[str]
) -> None:
    plan = BatchPlan({"orders": orders, "customers": customers})
    assert plan.kind == kind
    assert list(plan.changed) == changed
    # Every source has its watermark after the batch, changed or not.
    assert plan.as_of == {"orders": orders.upto, "customers": customers.upto}


def test_the_watermarks_of_all_sources_are_in_one_commit() -> None:
    state = FollowState({"orders": "5", "customers": "7"}, "made so", "4 buckets")
    assert parse_follow_state(state.to_metadata(), BOTH) == state
    assert parse_follow_state(None, BOTH) == FollowState()


def test_a_single_watermark_has_the_form_of_earlier_releases() -> None:
    assert FollowState({"orders": "5"}).to_metadata()[FOLLOWED] == "5"
    assert parse_watermarks("5", ["orders"]) == {"orders": "5"}
    assert parse_watermarks("", ["orders"]) == {}


def test_watermarks_of_other_sources_are_not_taken_over() -> None:
    assert parse_watermarks("5", BOTH) == {}
    assert parse_watermarks(write_watermarks({"orders": "5", "people": "6"}), BOTH) == {"orders": "5"}
    assert parse_watermarks(write_watermarks({"orders": "5", "people": "6"}), ["orders"]) == {"orders": "5"}
