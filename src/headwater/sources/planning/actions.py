"""Compares desired with observed state, by attribute, to create, change or remove resources. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.sources.finding import SetupFinding
from headwater.sources.planning.desired_values import DesiredValue
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import AttributeChange, ResourceAction, ResourceKind

ORPHAN_NOTE = "created by headwater, but not in this configuration"


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state of a resource. One without tags has the owner of its parent.

    `way_out` is what a user can do, besides adopting it, if another owner has a resource of this name.
    """

    kind: ResourceKind
    name: str
    address: str
    attributes: Mapping[str, DesiredValue]
    tags: Mapping[str, str] = field(default_factory=dict)
    way_out: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The observed state of a resource."""

    kind: ResourceKind
    name: str
    address: str
    attributes: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)


def plan_resource(
    desired: Desired, observed: Observed | None, owner: Owner, *, adopt: bool = False
) -> ResourceAction | SetupFinding:
    """Return the action that brings a resource to its desired state; a problem if it is not ours to change.

    `adopt` takes ownership of other resources.
    """
    if observed is None:
        changes = diff_attributes(desired, {}, {}, owner.style.word)
        return ResourceAction(desired.kind, desired.name, "create", changes, desired.address)
    if desired.tags and not adopt and owner.judge(observed.tags) != "ours":
        return _refuse(desired, observed, owner)
    changes = diff_attributes(desired, observed.attributes, observed.tags, owner.style.word)
    note = "ownership taken" if desired.tags and owner.judge(observed.tags) != "ours" else ""
    return ResourceAction(
        desired.kind, desired.name, "update" if changes else "none", changes, observed.address, note
    )


def plan_removal(observed: Observed | None, kind: ResourceKind, name: str, owner: Owner) -> ResourceAction:
    """Return the action that removes a resource if it exists and is ours."""
    if observed is None:
        return ResourceAction(kind, name, "none", note="does not exist")
    if owner.judge(observed.tags) != "ours":
        return ResourceAction(
            kind,
            name,
            "none",
            address=observed.address,
            note=f"without headwater's {owner.style.word}: left unchanged",
        )
    return ResourceAction(kind, name, "delete", address=observed.address)


def plan_orphans(
    tagged: Iterable[tuple[ResourceKind, str, str]], wanted: Iterable[str]
) -> list[ResourceAction]:
    """Return tagged resources of ours (kind, name, address) whose address is not desired."""
    known = set(wanted)
    return [
        ResourceAction(kind, name, "delete", address=address, note=ORPHAN_NOTE, orphan=True)
        for kind, name, address in sorted(tagged)
        if address not in known
    ]


def diff_attributes(
    desired: Desired, attributes: Mapping[str, str], tags: Mapping[str, str], word: str
) -> tuple[AttributeChange, ...]:
    """Return attributes and tags that differ from their desired value; ignores other owners' tags."""
    changes = [
        AttributeChange(name, attributes.get(name, ""), desired_value.settle(attributes.get(name, "")))
        for name, desired_value in desired.attributes.items()
    ]
    tagged = [
        AttributeChange(f"{word} {name}", tags.get(name, ""), value) for name, value in desired.tags.items()
    ]
    return tuple(change for change in (*changes, *tagged) if change.before != change.after)


def _refuse(desired: Desired, observed: Observed, owner: Owner) -> SetupFinding:
    kind = observed.kind.replace("_", " ")
    lake = observed.tags.get(owner.style.lake, "unknown")
    is_anothers = owner.judge(observed.tags) == "another's"
    whose = f"belongs to the headwater of lake {lake}" if is_anothers else "exists and is not headwater's"
    return SetupFinding(
        f"source.resources.{observed.kind}",
        "problem",
        f"{kind} {observed.name} {whose}",
        f"{desired.way_out}, or take ownership with `headwater up --adopt`; then `headwater down` removes it",
    )
