"""Whatever is there: others keep theirs, and what was planned and applied needs no second plan."""

import json

from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.planning.actions import Desired, Observed, plan_resource
from headwater.sources.planning.desired_values import AtLeast, DesiredValue, Exactly
from headwater.sources.planning.names import MAX_NAME, derive_name
from headwater.sources.provisioner import ResourceAction
from headwater.sources.s3.judging.notification import Route, RouteKind
from headwater.sources.s3.planning.desired_values import PolicyWith, SameJson
from headwater.sources.s3.planning.notification_merge import (
    Merge,
    WantedRule,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.s3.planning.notification_rules import (
    CONFIGURATION_KEYS,
    WANTED_KINDS,
    Configuration,
    build_rule,
    expand,
    fold_kinds,
    is_same,
    list_routes,
    overlap,
)
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.resource_names import name_rule

OWNER = build_owner("s3a://lake", "acme")
QUEUE = "arn:aws:sqs:eu-west-1:1:landing"
TOPIC = "arn:aws:sns:eu-west-1:1:landing"
EVENTS = sorted(
    {
        *WANTED_KINDS,
        "s3:ObjectCreated:*",
        "s3:ObjectRemoved:*",
        "s3:LifecycleExpiration:*",
        "s3:ObjectTagging:*",
    }
)

keys = st.text(alphabet="ab/ +%ä", max_size=4)
kinds: st.SearchStrategy[RouteKind] = st.sampled_from(["queue", "topic", "function"])
targets = st.sampled_from([QUEUE, TOPIC, "arn:other"])
routes = st.builds(Route, kinds, targets, st.frozensets(st.sampled_from(EVENTS), min_size=1), keys, keys)
wanted_rules = st.one_of(
    st.builds(WantedRule, st.just("queue"), st.just(QUEUE), keys),
    st.builds(WantedRule, st.just("topic"), st.just(TOPIC), keys),
    st.just(WantedRule("eventbridge")),
)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Rules of others, some of which could not stand beside each other in a real bucket."""
    found: dict[str, object] = {}
    for at, route in enumerate(draw(st.lists(routes, max_size=5))):
        rules = found.setdefault(CONFIGURATION_KEYS[route.kind][0], [])
        assert isinstance(rules, list)
        rules.append({**build_rule(f"theirs-{at}", route), "Unknown": at})
    if draw(st.booleans()):
        found["EventBridgeConfiguration"] = {}
    return found


def list_theirs(configuration: Configuration) -> str:
    rules = {name: configuration.get(name, []) for name, _ in CONFIGURATION_KEYS.values()}
    theirs = {
        name: [rule for rule in found if not rule["Id"].startswith("headwater-")]  # type: ignore[attr-defined]
        for name, found in rules.items()
    }
    return json.dumps(theirs, sort_keys=True)


@given(configurations(), wanted_rules)
def test_rules_of_others_are_never_touched(current: Configuration, wanted: WantedRule) -> None:
    merged = merge_notification(current, wanted, OWNER).configuration
    assert list_theirs(merged) == list_theirs(current)
    assert list_theirs(withdraw_notification(merged, OWNER).configuration) == list_theirs(current)
    assert ("EventBridgeConfiguration" in current) <= ("EventBridgeConfiguration" in merged)


@given(configurations(), wanted_rules)
def test_a_merged_configuration_needs_no_second_merge(current: Configuration, wanted: WantedRule) -> None:
    merged = merge_notification(current, wanted, OWNER)
    again = merge_notification(merged.configuration, wanted, OWNER)
    assert again.changes == ()
    assert is_same(again.configuration, merged.configuration)


@given(configurations(), wanted_rules, wanted_rules)
def test_the_way_can_be_changed_and_leaves_nothing_of_the_old_one(
    current: Configuration, first: WantedRule, second: WantedRule
) -> None:
    once = merge_notification(current, first, OWNER).configuration
    changed = merge_notification(once, second, OWNER)
    straight = merge_notification(current, second, OWNER)
    ours = [item for item in list_routes(changed.configuration) if item.id == OWNER.rule_id]
    assert ours == [item for item in list_routes(straight.configuration) if item.id == OWNER.rule_id]


@given(configurations(), wanted_rules)
def test_desired_state_is_reached_unless_there_is_a_problem(
    current: Configuration, wanted: WantedRule
) -> None:
    merged: Merge = merge_notification(current, wanted, OWNER)
    found = [item.route for item in list_routes(merged.configuration)]
    if wanted.kind == "eventbridge":
        assert Route("eventbridge") in found
        return
    ways = [
        route
        for route in found
        if (route.kind, route.target) == (wanted.kind, wanted.target) and route.covers(wanted.prefix)
    ]
    assert all(any(route.carries(event) for route in ways) for event in WANTED_KINDS)
    ours = [item.route for item in list_routes(merged.configuration) if item.id == OWNER.rule_id]
    others = [item.route for item in list_routes(merged.configuration) if item.id != OWNER.rule_id]
    is_clean = not any(overlap(one, other) for one in ours for other in others)
    assert is_clean == (not merged.problems)


@given(routes, routes, keys, st.sampled_from(sorted(WANTED_KINDS)))
def test_overlap_is_a_key_and_an_event_that_both_take(
    one: Route, other: Route, middle: str, event: str
) -> None:
    assert bool(overlap(one, other)) == bool(overlap(other, one))
    key = max(one.prefix, other.prefix, key=len) + middle + max(one.suffix, other.suffix, key=len)

    def takes(route: Route) -> bool:
        return route.carries(event) and key.startswith(route.prefix) and key.endswith(route.suffix)

    if takes(one) and takes(other):
        assert event in expand(overlap(one, other))


@given(st.frozensets(st.sampled_from(sorted(WANTED_KINDS))))
def test_families_say_the_same_as_their_members(kinds: frozenset[str]) -> None:
    assert expand(fold_kinds(kinds)) == kinds


@given(routes)
def test_a_rule_is_read_as_it_was_written(route: Route) -> None:
    written = {CONFIGURATION_KEYS[route.kind][0]: [build_rule("id", route)]}
    assert list_routes(written)[0].route == route


values = st.one_of(st.text(max_size=6), st.integers(0, 10**7).map(str), st.just('{"Statement": []}'))
desired_values: st.SearchStrategy[DesiredValue] = st.one_of(
    st.builds(Exactly, values),
    st.builds(AtLeast, st.just(65_536), st.integers(65_536, 10**6)),
    st.just(SameJson('{"a": 1}')),
    st.builds(PolicyWith, st.just(({"Sid": "HeadwaterSend", "Effect": "Allow"},))),
)
names = st.sampled_from(["a", "b", "c"])
tags = st.dictionaries(st.sampled_from(["team", "cost"]), st.text(max_size=3), max_size=2)


@given(desired_values, values)
def test_settling_twice_changes_nothing_more(desired_value: DesiredValue, found: str) -> None:
    settled = desired_value.settle(found)
    assert desired_value.settle(settled) == settled


@given(
    st.dictionaries(names, desired_values), tags, st.none() | st.tuples(st.dictionaries(names, values), tags)
)
def test_applied_plan_is_idempotent(
    attributes: dict[str, DesiredValue],
    further: dict[str, str],
    there: tuple[dict[str, str], dict[str, str]] | None,
) -> None:
    desired = Desired("queue", "q", "arn", attributes, OWNER.build_tags(further))
    observed = Observed("queue", "q", "arn", there[0], there[1]) if there else None
    action = plan_resource(desired, observed, OWNER, adopt=True)
    assert isinstance(action, ResourceAction)
    written, written_tags = action.list_written()
    found = there or ({}, {})
    after = Observed("queue", "q", "arn", {**found[0], **written}, {**found[1], **written_tags})
    again = plan_resource(desired, after, OWNER)
    assert isinstance(again, ResourceAction)
    assert again.change == "none"


@given(st.text(min_size=1, max_size=70), st.text(max_size=1_024))
def test_every_bucket_and_prefix_has_a_name_that_aws_takes(bucket: str, prefix: str) -> None:
    name = derive_name(bucket, prefix)
    assert 0 < len(name) <= MAX_NAME
    assert all(char.isascii() and (char.isalnum() or char in "-_") for char in name)
    assert len(name_rule(name)) <= 64
