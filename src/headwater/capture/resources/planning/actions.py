"""Desired against observed: what has to be created, changed or removed, attribute by attribute. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headwater.capture.resources.finding import SetupFinding
from headwater.capture.resources.planning.ownership import LAKE_TAG, Owner
from headwater.capture.resources.planning.wishes import Wish

ResourceKind = Literal["dead_letter_queue", "queue", "topic", "subscription", "rule", "notification"]
Change = Literal["create", "update", "delete", "none"]
TAG = "tag "


@dataclass(frozen=True, slots=True)
class Desired:
    """A resource as it should be. One without tags belongs to whom its parent belongs."""

    kind: ResourceKind
    name: str
    arn: str
    attributes: Mapping[str, Wish]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """A resource as it is."""

    kind: ResourceKind
    name: str
    arn: str
    attributes: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """One attribute (`tag NAME` for a tag); empty texts stand for its absence."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ResourceAction:
    """What `up` or `down` does to one resource. `arn` is where it is or will be.

    An orphan is ours and in no configuration any more; it is removed only when that is asked for.
    """

    kind: ResourceKind
    resource: str
    change: Change
    attributes: tuple[AttributeChange, ...] = ()
    arn: str = ""
    note: str = ""
    orphan: bool = False

    def list_written(self) -> tuple[dict[str, str], dict[str, str]]:
        """Attributes and tags to be written."""
        written = {item.name: item.after for item in self.attributes}
        tags = {name.removeprefix(TAG): value for name, value in written.items() if name.startswith(TAG)}
        return {name: value for name, value in written.items() if not name.startswith(TAG)}, tags


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in the order in which they are applied; with a problem none of them is."""

    actions: tuple[ResourceAction, ...] = ()
    problems: tuple[SetupFinding, ...] = ()
    warnings: tuple[SetupFinding, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether applying it would change anything, orphans left aside."""
        return any(action.change != "none" and not action.orphan for action in self.actions)

    @property
    def orphans(self) -> tuple[ResourceAction, ...]:
        """What is ours and no longer configured."""
        return tuple(action for action in self.actions if action.orphan)


def plan_resource(
    desired: Desired, observed: Observed | None, owner: Owner, *, adopt: bool = False
) -> ResourceAction | SetupFinding:
    """The action that makes a resource what it should be; a problem when it is not ours to change.

    `adopt` takes over what is not ours.
    """
    if observed is None:
        changes = diff_attributes(desired, {}, {})
        return ResourceAction(desired.kind, desired.name, "create", changes, desired.arn)
    if desired.tags and not adopt:
        standing = owner.judge(observed.tags)
        if standing != "ours":
            return _refuse(observed, standing == "another's")
    changes = diff_attributes(desired, observed.attributes, observed.tags)
    note = "taken over" if desired.tags and owner.judge(observed.tags) != "ours" else ""
    return ResourceAction(
        desired.kind, desired.name, "update" if changes else "none", changes, observed.arn, note
    )


def plan_removal(observed: Observed | None, kind: ResourceKind, name: str, owner: Owner) -> ResourceAction:
    """The action that removes a resource, if it is there and ours."""
    if observed is None:
        return ResourceAction(kind, name, "none", note="not there")
    if owner.judge(observed.tags) != "ours":
        return ResourceAction(
            kind, name, "none", arn=observed.arn, note="without headwater's tag: left as it is"
        )
    return ResourceAction(kind, name, "delete", arn=observed.arn)


def plan_orphans(
    tagged: Iterable[tuple[ResourceKind, str, str]], wanted: Iterable[str]
) -> list[ResourceAction]:
    """What carries our tag (kind, name, ARN) and is not among the wanted ARNs."""
    known = set(wanted)
    note = "ours by its tag, and not in this configuration"
    return [
        ResourceAction(kind, name, "delete", arn=arn, note=note, orphan=True)
        for kind, name, arn in sorted(tagged)
        if arn not in known
    ]


def diff_attributes(
    desired: Desired, attributes: Mapping[str, str], tags: Mapping[str, str]
) -> tuple[AttributeChange, ...]:
    """Attributes and tags that differ from what they should be; tags of others are left alone."""
    wished = [
        AttributeChange(name, attributes.get(name, ""), wish.settle(attributes.get(name, "")))
        for name, wish in desired.attributes.items()
    ]
    tagged = [
        AttributeChange(f"{TAG}{name}", tags.get(name, ""), value) for name, value in desired.tags.items()
    ]
    return tuple(change for change in (*wished, *tagged) if change.before != change.after)


def _refuse(observed: Observed, is_anothers: bool) -> SetupFinding:
    word = observed.kind.replace("_", " ")
    lake = observed.tags.get(LAKE_TAG, "unknown")
    whose = f"belongs to the headwater of lake {lake}" if is_anothers else "exists and is not headwater's"
    way_out = "set source.resources.name to make another"
    if observed.kind == "queue":
        way_out += ", put its URL at source.queue.url to use it as it is"
    return SetupFinding(
        f"source.resources.{observed.kind}",
        "problem",
        f"{word} {observed.name} {whose}",
        f"{way_out}, or take it over with `headwater up --adopt` (then `headwater down` removes it)",
    )
