"""Our rule among those of others: what is written, and when nothing may be."""

from collections.abc import Sequence

import pytest

from headwater.sources.s3.judging.notification import Route
from headwater.sources.s3.planning.notification_merge import (
    Merge,
    WantedRule,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.s3.planning.notification_rules import (
    Configuration,
    build_rule,
    expand,
    is_same,
    list_routes,
)
from headwater.sources.s3.planning.ownership import build_owner

LAKE = "s3a://lake"
OWNER = build_owner(LAKE, "acme")
QUEUE = "arn:aws:sqs:eu-west-1:1:landing"
OTHER = "arn:aws:lambda:eu-west-1:1:function:thumbnails"
TO_QUEUE = WantedRule("queue", QUEUE)
WANTED = [
    "s3:LifecycleExpiration:*",
    "s3:ObjectCreated:*",
    "s3:ObjectRemoved:*",
    "s3:ObjectRestore:Completed",
]


def to_function(*events: str, prefix: str = "", suffix: str = "") -> dict[str, object]:
    filters = [{"Name": "Prefix", "Value": prefix}, {"Name": "Suffix", "Value": suffix}]
    return {
        "Id": "thumbnails",
        "LambdaFunctionArn": OTHER,
        "Events": list(events),
        "Filter": {"Key": {"FilterRules": [rule for rule in filters if rule["Value"]]}},
    }


def functions(*rules: dict[str, object]) -> Configuration:
    return {"LambdaFunctionConfigurations": list(rules)}


def merge(current: Configuration, prefix: str = "") -> Merge:
    return merge_notification(current, WantedRule("queue", QUEUE, prefix), OWNER)


def list_problems(found: Merge) -> list[str]:
    assert all(problem.fix for problem in found.problems)
    return [problem.name.removeprefix("source.notification.") for problem in found.problems]


def list_ours(found: Merge) -> Sequence[object]:
    rules = found.configuration["QueueConfigurations"]
    assert isinstance(rules, list)
    return rules


def test_an_empty_bucket_gets_one_rule_with_all_that_is_wanted() -> None:
    found = merge({}, prefix="in/a b+c/")
    assert list_ours(found) == [
        {
            "Id": OWNER.rule_id,
            "QueueArn": QUEUE,
            "Events": WANTED,
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/a+b%2Bc/"}]}},
        }
    ]
    assert list_routes(found.configuration)[0].route.prefix == "in/a b+c/"
    [change] = found.changes
    assert (change.name, change.before) == (OWNER.rule_id, "")
    assert "of keys that start with 'in/a b+c/'" in change.after


def test_rules_of_others_are_written_back_as_they_were() -> None:
    current = {
        **functions({**to_function("s3:ObjectCreated:*", suffix=".jpg"), "NewField": {"x": 1}}),
        "TopicConfigurations": [
            {"Id": "t", "TopicArn": "arn:t", "Events": ["s3:ReducedRedundancyLostObject"]}
        ],
        "EventBridgeConfiguration": {},
    }
    found = merge(current, prefix="in/")
    assert list_problems(found) == ["overlap"]
    for name, value in current.items():
        assert found.configuration[name] == value


@pytest.mark.parametrize(
    ("events", "prefix", "suffix", "ours", "is_overlap"),
    [
        (["s3:ObjectCreated:*"], "", "", "in/", True),
        (["s3:ObjectCreated:Put"], "in/images/", "", "in/", True),
        (["s3:ObjectCreated:Put"], "out/", "", "in/", False),
        (["s3:ObjectCreated:*"], "", ".jpg", "in/", True),
        (["s3:ObjectTagging:*"], "", "", "in/", False),
        (["s3:ObjectRestore:Completed"], "", "", "", True),
        (["s3:ObjectRestore:*"], "", "", "", True),
        (["s3:ObjectRestore:Post"], "", "", "", False),
        (["s3:LifecycleExpiration:DeleteMarkerCreated"], "i", "", "in/", True),
    ],
)
def test_overlap_is_of_events_and_keys_both(
    events: list[str], prefix: str, suffix: str, ours: str, is_overlap: bool
) -> None:
    found = merge(functions(to_function(*events, prefix=prefix, suffix=suffix)), prefix=ours)
    assert list_problems(found) == (["overlap"] if is_overlap else [])
    if is_overlap:
        [problem] = found.problems
        assert "thumbnails" in problem.detail
        assert OTHER in problem.detail
        assert "eventbridge" in problem.fix


def test_eventbridge_is_compatible_with_an_overlapping_rule() -> None:
    current = functions(to_function("s3:ObjectCreated:*"))
    found = merge_notification(current, WantedRule("eventbridge"), OWNER)
    assert found.problems == ()
    assert found.configuration == {**current, "EventBridgeConfiguration": {}}
    assert [(change.name, change.after) for change in found.changes] == [("EventBridge", "on")]
    again = merge_notification(found.configuration, WantedRule("eventbridge"), OWNER)
    assert again.changes == ()


@pytest.mark.parametrize(("count", "expected"), [(99, []), (100, ["limit"])])
def test_a_hundred_rules_are_all_that_a_bucket_takes(count: int, expected: list[str]) -> None:
    rules = [to_function("s3:ObjectCreated:*", prefix=f"out/{at}/") for at in range(count)]
    assert list_problems(merge(functions(*rules), prefix="in/")) == expected


def test_the_hundredth_rule_may_be_our_own() -> None:
    rules = [to_function("s3:ObjectCreated:*", prefix=f"out/{at}/") for at in range(99)]
    first = merge(functions(*rules), prefix="in/")
    assert list_problems(merge(first.configuration, prefix="in/")) == []


def test_external_rules_to_the_queue_are_kept() -> None:
    whole = {"QueueConfigurations": [{"Id": "by-hand", "QueueArn": QUEUE, "Events": WANTED}]}
    found = merge(whole, prefix="in/")
    assert (found.changes, found.problems) == ((), ())
    assert found.notes

    creations = {
        "QueueConfigurations": [{"Id": "by-hand", "QueueArn": QUEUE, "Events": ["s3:ObjectCreated:*"]}]
    }
    found = merge(creations, prefix="in/")
    assert found.problems == ()
    assert list_ours(found)[1]["Events"] == [event for event in WANTED if "Created" not in event]  # type: ignore[index]


def test_modified_own_rule_is_corrected() -> None:
    rule = build_rule(OWNER.rule_id, Route("queue", QUEUE, frozenset({"s3:ObjectCreated:Put"})))
    found = merge({"QueueConfigurations": [rule]})
    [change] = found.changes
    assert change.before.startswith("s3:ObjectCreated:Put to")
    assert expand(WANTED) == expand(list_routes(found.configuration)[0].route.events)


def test_another_way_takes_our_old_rule_away() -> None:
    old = merge({}).configuration
    found = merge_notification(old, WantedRule("topic", "arn:topic"), OWNER)
    assert found.problems == ()
    assert [item.route.kind for item in list_routes(found.configuration)] == ["topic"]


def test_a_rule_of_our_earlier_prefix_is_an_orphan_until_it_is_pruned() -> None:
    earlier = build_owner(LAKE, "acme", "in/")
    old = merge_notification({}, WantedRule("queue", f"{QUEUE}-old", "in/"), earlier).configuration
    found = merge_notification(old, WantedRule("queue", QUEUE, "in/orders/"), OWNER)
    assert found.orphans == (earlier.rule_id,)
    assert [problem.name for problem in found.problems] == ["source.notification.overlap"]
    assert "--prune" in found.problems[0].fix
    pruned = merge_notification(old, WantedRule("queue", QUEUE, "in/orders/"), OWNER, prune=True)
    assert pruned.problems == ()
    assert [item.id for item in list_routes(pruned.configuration)] == [OWNER.rule_id]


def test_withdrawing_takes_ours_and_leaves_the_rest() -> None:
    current = functions(to_function("s3:ObjectCreated:*", prefix="out/"))
    merged = merge(current, prefix="in/").configuration
    assert is_same(withdraw_notification(merged, OWNER).configuration, current)
    assert withdraw_notification(current, OWNER).changes == ()


def test_eventbridge_stays_on_when_ours_is_withdrawn() -> None:
    found = withdraw_notification({"EventBridgeConfiguration": {}}, OWNER)
    assert found.changes == ()
    assert "EventBridge stays on" in found.notes[0]
