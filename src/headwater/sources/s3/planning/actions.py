"""Compares desired with observed state, by attribute, to create, change or remove resources. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.sources.finding import SetupFinding
from headwater.sources.provisioner import TAG, AttributeChange, ResourceAction, ResourceKind
from headwater.sources.s3.planning.desired_values import DesiredValue
from headwater.sources.s3.planning.ownership import LAKE_TAG, Owner


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state of a resource. One without tags has the owner of its parent."""

    kind: ResourceKind
    name: str
    arn: str
    attributes: Mapping[str, DesiredValue]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """The observed state of a resource."""

    kind: ResourceKind
    name: str
    arn: str
    attributes: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)


def plan_resource(
    desired: Desired, observed: Observed | None, owner: Owner, *, adopt: bool = False
) -> ResourceAction | SetupFinding:
    """Return the action that brings a resource to its desired state; a problem if it is not ours to change.

    `adopt` takes ownership of other resources.
    """
    if observed is None:
        changes = diff_attributes(desired, {}, {})
        return ResourceAction(desired.kind, desired.name, "create", changes, desired.arn)
    if desired.tags and not adopt:
        standing = owner.judge(observed.tags)
        if standing != "ours":
            return _refuse(observed, standing == "another's")
    changes = diff_attributes(desired, observed.attributes, observed.tags)
    note = "ownership taken" if desired.tags and owner.judge(observed.tags) != "ours" else ""
    return ResourceAction(
        desired.kind, desired.name, "update" if changes else "none", changes, observed.arn, note
    )


def plan_removal(observed: Observed | None, kind: ResourceKind, name: str, owner: Owner) -> ResourceAction:
    """Return the action that removes a resource if it exists and is ours."""
    if observed is None:
        return ResourceAction(kind, name, "none", note="does not exist")
    if owner.judge(observed.tags) != "ours":
        return ResourceAction(
            kind, name, "none", arn=observed.arn, note="without headwater's tag: left unchanged"
        )
    return ResourceAction(kind, name, "delete", arn=observed.arn)


def plan_orphans(
    tagged: Iterable[tuple[ResourceKind, str, str]], wanted: Iterable[str]
) -> list[ResourceAction]:
    """Return tagged resources of ours (kind, name, ARN) whose ARN is not desired."""
    known = set(wanted)
    note = "tagged by headwater, but not in this configuration"
    return [
        ResourceAction(kind, name, "delete", arn=arn, note=note, orphan=True)
        for kind, name, arn in sorted(tagged)
        if arn not in known
    ]


def diff_attributes(
    desired: Desired, attributes: Mapping[str, str], tags: Mapping[str, str]
) -> tuple[AttributeChange, ...]:
    """Return attributes and tags that differ from their desired value; ignores other owners' tags."""
    changes = [
        AttributeChange(name, attributes.get(name, ""), desired_value.settle(attributes.get(name, "")))
        for name, desired_value in desired.attributes.items()
    ]
    tagged = [
        AttributeChange(f"{TAG}{name}", tags.get(name, ""), value) for name, value in desired.tags.items()
    ]
    return tuple(change for change in (*changes, *tagged) if change.before != change.after)


def _refuse(observed: Observed, is_anothers: bool) -> SetupFinding:
    word = observed.kind.replace("_", " ")
    lake = observed.tags.get(LAKE_TAG, "unknown")
    whose = f"belongs to the headwater of lake {lake}" if is_anothers else "exists and is not headwater's"
    way_out = "set source.resources.name to create another"
    if observed.kind == "queue":
        way_out += ", set source.queue.url to its URL to use it unchanged"
    return SetupFinding(
        f"source.resources.{observed.kind}",
        "problem",
        f"{word} {observed.name} {whose}",
        f"{way_out}, or take ownership with `headwater up --adopt` (then `headwater down` removes it)",
    )
