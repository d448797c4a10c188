"""Whatever configurations exist: others keep theirs, all events arrive, and one merge is enough."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.gcs.judging import NotificationRule, list_missing
from headwater.sources.gcs.planning.notification_merge import (
    WANTED_EVENTS,
    Merge,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.gcs.planning.ownership import RULE_ATTRIBUTE, build_owner

OWNER = build_owner("gs://lake", "acme", "in/")
MARKS = [
    OWNER.rule_id,
    build_owner("gs://lake", "acme").rule_id,
    build_owner("gs://other", "acme", "in/").rule_id,
    "",
]
TOPIC = "projects/p/topics/landing"

prefixes = st.sampled_from(["", "i", "in/", "in/a", "out/"])
rules = st.builds(
    NotificationRule,
    st.just(""),
    st.sampled_from([TOPIC, "projects/p/topics/other"]),
    st.frozensets(st.sampled_from([*WANTED_EVENTS, "OBJECT_METADATA_UPDATE"])),
    prefixes,
    st.sampled_from(["JSON_API_V1", "NONE"]),
    st.sampled_from(MARKS).map(lambda mark: {RULE_ATTRIBUTE: mark}),
)


@st.composite
def configurations(draw: st.DrawFn) -> list[NotificationRule]:
    found = draw(st.lists(rules, max_size=6))
    return [
        NotificationRule(str(at), one.topic, one.events, one.prefix, one.payload_format, one.attributes)
        for at, one in enumerate(found)
    ]


def apply(present: Sequence[NotificationRule], merge: Merge) -> list[NotificationRule]:
    created = [merge.create] if merge.create else []
    return [*(rule for rule in present if rule not in merge.delete), *created]


def is_theirs(rule: NotificationRule) -> bool:
    return not rule.attributes[RULE_ATTRIBUTE].startswith(OWNER.rule_start)


@given(configurations(), st.booleans())
def test_those_of_others_are_never_deleted(present: list[NotificationRule], prune: bool) -> None:
    theirs = [rule for rule in present if is_theirs(rule)]
    merged = apply(present, merge_notification(present, TOPIC, "in/", OWNER, prune=prune))
    withdrawn = apply(merged, withdraw_notification(merged, OWNER, prune=prune))
    assert [rule for rule in merged if rule in theirs] == theirs
    assert [rule for rule in withdrawn if rule in theirs] == theirs
    if prune:
        assert withdrawn == theirs


@given(configurations(), st.booleans())
def test_all_events_reach_the_topic_after_one_merge(present: list[NotificationRule], prune: bool) -> None:
    merged = apply(present, merge_notification(present, TOPIC, "in/", OWNER, prune=prune))
    sending = [rule for rule in merged if rule.topic == TOPIC and rule.covers("in/")]
    assert list_missing(sending, WANTED_EVENTS) == []
    assert merge_notification(merged, TOPIC, "in/", OWNER, prune=prune).changes == ()
    assert sum(rule.attributes.get(RULE_ATTRIBUTE) == OWNER.rule_id for rule in merged) <= 1
