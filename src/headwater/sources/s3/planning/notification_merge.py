"""Merges our rules into and out of a bucket's notification configuration; keeps other rules. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.sources.finding import SetupFinding
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import AttributeChange
from headwater.sources.s3.judging.notification import NAME, Route, RouteKind
from headwater.sources.s3.planning.notification_rules import (
    CONFIGURATION_KEYS,
    EVENTBRIDGE,
    MAX_RULES,
    WANTED_KINDS,
    Configuration,
    NamedRoute,
    build_rule,
    describe_route,
    expand,
    fold_kinds,
    list_routes,
    list_rules,
    overlap,
)


@dataclass(frozen=True, slots=True)
class WantedRule:
    """The desired route of the bucket's events: `kind` "eventbridge" has no target and receives all keys."""

    kind: RouteKind
    target: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """The configuration to write and its changes; with a problem nothing may be written.

    `orphans` are ids of rules of an earlier configuration of ours.
    """

    configuration: Configuration
    changes: tuple[AttributeChange, ...] = ()
    problems: tuple[SetupFinding, ...] = ()
    orphans: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def merge_notification(
    current: Configuration, wanted: WantedRule, owner: Owner, *, prune: bool = False
) -> Merge:
    """Add our rule or change it as desired; `prune` removes rules of our earlier configurations.

    Leaves events to another owner's rule that already sends them to the same destination.
    """
    present = list_routes(current)
    orphans = [item.id for item in present if owner.is_former_rule(item.id)]
    replaced = {owner.rule_id, *(orphans if prune else ())}
    others = [item for item in present if item.id not in replaced]
    rule = _find_missing(wanted, others)
    problems = [*_judge_overlaps(rule, others, owner), *_judge_count(rule, others)] if rule else []
    merged = _without(current, replaced)
    notes: tuple[str, ...] = ()
    if wanted.kind == "eventbridge":
        merged[EVENTBRIDGE] = current.get(EVENTBRIDGE, {})
    elif rule is None:
        notes = ("another rule already sends these events to the same destination",)
    else:
        name = CONFIGURATION_KEYS[rule.kind][0]
        merged[name] = [*list_rules(merged, name), build_rule(owner.rule_id, rule)]
    changes = tuple(_diff(current, merged))
    return Merge(merged, changes, tuple(problems), tuple(orphans), notes)


def withdraw_notification(current: Configuration, owner: Owner, *, prune: bool = False) -> Merge:
    """Remove our rule. EventBridge stays enabled, because its other consumers are unknown."""
    orphans = [item.id for item in list_routes(current) if owner.is_former_rule(item.id)]
    left = _without(current, {owner.rule_id, *(orphans if prune else ())})
    notes = ("EventBridge stays on: it may have other consumers",) if EVENTBRIDGE in current else ()
    return Merge(left, tuple(_diff(current, left)), (), tuple(orphans), notes)


def _find_missing(wanted: WantedRule, others: list[NamedRoute]) -> Route | None:
    """Return the rule for events that no rule sends there yet; None if there are none."""
    if wanted.kind not in ("queue", "topic"):
        return None
    there = [
        item.route
        for item in others
        if item.route.kind == wanted.kind
        and item.route.target == wanted.target
        and item.route.covers(wanted.prefix)
    ]
    carried = frozenset(event for event in WANTED_KINDS if any(route.carries(event) for route in there))
    missing = fold_kinds(WANTED_KINDS - carried)
    return Route(wanted.kind, wanted.target, missing, wanted.prefix) if missing else None


def _judge_overlaps(rule: Route, others: list[NamedRoute], owner: Owner) -> Iterator[SetupFinding]:
    for other in others:
        shared = overlap(rule, other.route)
        if not shared:
            continue
        events = ", ".join(sorted(fold_kinds(expand(shared))))
        detail = (
            f"the bucket's rule {other.id or 'without an id'!r} ({describe_route(other.route)}) matches "
            f"{events} of the same keys; S3 allows only one rule for them"
        )
        if owner.is_former_rule(other.id):
            fix = "it belongs to another headwater configuration: `headwater up --prune` removes it"
        else:
            fix = (
                "set source.notifications to eventbridge, which works alongside all rules; or narrow that "
                "rule; or send it to an SNS topic, subscribe your queue to it and set source.queue.url"
            )
        yield SetupFinding(f"{NAME}.overlap", "problem", detail, fix)


def _judge_count(rule: Route, others: list[NamedRoute]) -> Iterator[SetupFinding]:
    del rule
    count = sum(item.route.kind != "eventbridge" for item in others)
    if count >= MAX_RULES:
        yield SetupFinding(
            f"{NAME}.limit",
            "problem",
            f"the bucket already has {count} notification rules; S3 allows {MAX_RULES}",
            "remove an unused rule, or set source.notifications to eventbridge, which needs none",
        )


def _without(current: Configuration, replaced: set[str]) -> dict[str, object]:
    left: dict[str, object] = {}
    for name, _ in CONFIGURATION_KEYS.values():
        rules = [rule for rule in list_rules(current, name) if rule.get("Id") not in replaced]
        if rules:
            left[name] = rules
    if EVENTBRIDGE in current:
        left[EVENTBRIDGE] = current[EVENTBRIDGE]
    return left


def _diff(before: Configuration, after: Configuration) -> Iterator[AttributeChange]:
    old, new = _describe(before), _describe(after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield AttributeChange(name, old.get(name, ""), new.get(name, ""))


def _describe(configuration: Configuration) -> dict[str, str]:
    found = {
        item.id: describe_route(item.route)
        for item in list_routes(configuration)
        if item.route.kind != "eventbridge"
    }
    return {**found, "EventBridge": "on"} if EVENTBRIDGE in configuration else found
