"""Which notification configurations of a bucket are created and deleted; others' stay. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.sources.finding import SetupFinding
from headwater.sources.gcs.judging import CREATED, NOTIFICATION, REMOVED, NotificationRule, list_missing
from headwater.sources.gcs.planning.ownership import RULE_ATTRIBUTE
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import AttributeChange

WANTED_EVENTS = (CREATED, *REMOVED)
MAX_RULES = 100


@dataclass(frozen=True, slots=True)
class Merge:
    """The configurations to create and to delete; with a problem nothing may be written.

    `orphans` are those of an earlier configuration of ours.
    """

    create: NotificationRule | None = None
    delete: tuple[NotificationRule, ...] = ()
    orphans: tuple[NotificationRule, ...] = ()
    problems: tuple[SetupFinding, ...] = ()
    note: str = ""

    @property
    def changes(self) -> tuple[AttributeChange, ...]:
        """Return the changes: a configuration cannot be updated, so a new one replaces the old one."""
        before = [describe_rule(rule) for rule in self.delete]
        after = [describe_rule(self.create)] if self.create else []
        count = max(len(before), len(after))
        pairs = zip(_pad(before, count), _pad(after, count), strict=True)
        return tuple(AttributeChange("rule", old, new) for old, new in pairs)


def merge_notification(
    present: Sequence[NotificationRule], topic: str, prefix: str, owner: Owner, *, prune: bool = False
) -> Merge:
    """Add our configuration or replace it as desired; `prune` deletes those of our earlier configurations.

    Leaves events to another owner's configuration that already sends them to the same topic.
    """
    ours = [rule for rule in present if _read_mark(rule) == owner.rule_id]
    orphans = find_orphans(present, owner)
    others = [rule for rule in present if rule not in ours and rule not in orphans]
    sending = [rule for rule in others if rule.topic == topic and rule.covers(prefix)]
    missing = list_missing(sending, WANTED_EVENTS)
    attributes = {RULE_ATTRIBUTE: owner.rule_id}
    wanted = NotificationRule("", topic, frozenset(missing), prefix, attributes=attributes)
    good = [rule for rule in ours if missing and _is_same(rule, wanted)][:1]
    create = wanted if missing and not good else None
    return Merge(
        create,
        tuple(rule for rule in (*ours, *(orphans if prune else ())) if rule not in good),
        tuple(orphans),
        _judge_count(present) if create and not ours else (),
        "" if missing else "another notification already sends these events to the topic",
    )


def withdraw_notification(present: Sequence[NotificationRule], owner: Owner, *, prune: bool = False) -> Merge:
    """Delete our configuration."""
    ours = [rule for rule in present if _read_mark(rule) == owner.rule_id]
    orphans = find_orphans(present, owner)
    return Merge(None, (*ours, *(orphans if prune else ())), tuple(orphans))


def find_orphans(present: Sequence[NotificationRule], owner: Owner) -> list[NotificationRule]:
    """Return our configurations for other sources."""
    return [rule for rule in present if owner.is_former_rule(_read_mark(rule))]


def describe_rule(rule: NotificationRule) -> str:
    """Return `OBJECT_FINALIZE of keys that start with 'in/' to TOPIC`."""
    known = [event for event in WANTED_EVENTS if event in rule.events]
    events = ", ".join([*known, *sorted(rule.events - set(known))]) or "all events"
    keys = f" of keys that start with {rule.prefix!r}" if rule.prefix else ""
    payload = "" if rule.payload_format == "JSON_API_V1" else f" as {rule.payload_format}"
    return f"{events}{keys} to {rule.topic}{payload}"


def _read_mark(rule: NotificationRule) -> str:
    return rule.attributes.get(RULE_ATTRIBUTE, "")


def _is_same(one: NotificationRule, other: NotificationRule) -> bool:
    """True if two configurations send the same, whatever their ids and further attributes."""
    return (one.topic, one.events, one.prefix, one.payload_format) == (
        other.topic,
        other.events,
        other.prefix,
        other.payload_format,
    )


def _judge_count(present: Sequence[NotificationRule]) -> tuple[SetupFinding, ...]:
    if len(present) < MAX_RULES:
        return ()
    detail = f"the bucket already has {len(present)} notification configurations; {MAX_RULES} are allowed"
    return (SetupFinding(f"{NOTIFICATION}.limit", "problem", detail, "delete one that is not used"),)


def _pad(texts: list[str], count: int) -> list[str]:
    return [*texts, *[""] * (count - len(texts))]
