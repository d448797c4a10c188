"""Which notification configurations are created and deleted, and which stay."""

from dataclasses import replace

from headwater.sources.gcs.judging import NotificationRule
from headwater.sources.gcs.planning.notification_merge import (
    WANTED_EVENTS,
    Merge,
    describe_rule,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.gcs.planning.ownership import RULE_ATTRIBUTE, build_owner

OWNER = build_owner("gs://lake", "acme", "in/")
EARLIER = build_owner("gs://lake", "acme")
STRANGER = build_owner("gs://other", "acme", "in/")
TOPIC = "projects/p/topics/landing"
ALL = frozenset(WANTED_EVENTS)
OURS = NotificationRule("1", TOPIC, ALL, "in/", attributes={RULE_ATTRIBUTE: OWNER.rule_id})
THEIRS = NotificationRule("2", "projects/p/topics/theirs")


def merge(*present: NotificationRule, prune: bool = False) -> Merge:
    return merge_notification(present, TOPIC, "in/", OWNER, prune=prune)


def test_ours_is_created_alongside_those_of_others() -> None:
    found = merge(THEIRS)
    assert found.create is not None
    assert found.create == replace(OURS, id="")
    assert (found.delete, found.orphans, found.problems) == ((), (), ())
    (change,) = found.changes
    assert change.after == (
        f"OBJECT_FINALIZE, OBJECT_DELETE, OBJECT_ARCHIVE of keys that start with 'in/' to {TOPIC}"
    )


def test_a_good_one_stays_and_its_copy_is_deleted() -> None:
    copy = replace(OURS, id="3")
    assert merge(OURS, THEIRS).changes == ()
    found = merge(OURS, copy)
    assert (found.create, found.delete) == (None, (copy,))


def test_one_that_differs_is_replaced() -> None:
    for other in (
        replace(OURS, topic="projects/p/topics/old"),
        replace(OURS, prefix=""),
        replace(OURS, events=frozenset()),
        replace(OURS, payload_format="NONE"),
    ):
        found = merge(other)
        assert found.create is not None
        assert found.delete == (other,)
        (change,) = found.changes
        assert change.before == describe_rule(other)


def test_events_that_another_owner_already_sends_to_the_topic_are_left_to_it() -> None:
    theirs = NotificationRule("4", TOPIC, frozenset({"OBJECT_FINALIZE"}))
    found = merge(theirs)
    assert found.create is not None
    assert found.create.events == {"OBJECT_DELETE", "OBJECT_ARCHIVE"}
    everything = NotificationRule("4", TOPIC)
    found = merge(everything)
    assert (found.create, found.delete) == (None, ())
    assert "already sends" in found.note
    assert merge(everything, OURS).delete == (OURS,)


def test_others_that_do_not_send_every_key_there_are_not_counted_on() -> None:
    for theirs in (
        NotificationRule("4", TOPIC, prefix="in/orders/"),
        NotificationRule("4", "projects/p/topics/landing2"),
    ):
        found = merge(theirs)
        assert found.create is not None
        assert found.create.events == ALL


def test_those_of_an_earlier_configuration_are_orphans_until_they_are_pruned() -> None:
    earlier = replace(OURS, id="5", attributes={RULE_ATTRIBUTE: EARLIER.rule_id})
    found = merge(OURS, earlier)
    assert (found.delete, found.orphans) == ((), (earlier,))
    assert merge(OURS, earlier, prune=True).delete == (earlier,)
    assert withdraw_notification([OURS, earlier, THEIRS], OWNER).delete == (OURS,)
    assert withdraw_notification([OURS, earlier, THEIRS], OWNER, prune=True).delete == (OURS, earlier)


def test_another_lakes_are_its_own() -> None:
    theirs = replace(OURS, id="6", attributes={RULE_ATTRIBUTE: STRANGER.rule_id})
    found = merge(theirs, prune=True)
    assert (found.delete, found.orphans) == ((), ())
    assert withdraw_notification([theirs], OWNER, prune=True).delete == ()


def test_a_hundred_are_the_limit_for_a_new_one_only() -> None:
    others = [replace(THEIRS, id=str(at)) for at in range(100)]
    (problem,) = merge(*others).problems
    assert "100" in problem.detail
    assert merge(*others[:99], replace(OURS, prefix="")).problems == ()


def test_a_description_names_all_that_is_sent() -> None:
    assert describe_rule(THEIRS) == "all events to projects/p/topics/theirs"
    metadata = NotificationRule("7", TOPIC, frozenset({"OBJECT_METADATA_UPDATE"}), payload_format="NONE")
    assert describe_rule(metadata) == f"OBJECT_METADATA_UPDATE to {TOPIC} as NONE"
