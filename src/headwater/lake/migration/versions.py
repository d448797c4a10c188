"""Plans the steps between Hudi table versions and describes their changes. Pure."""

from dataclasses import dataclass
from typing import Literal

from headwater.errors import UsageError
from headwater.lake.properties import TableProperties

NEWEST_VERSION = 9
OLDEST_VERSION = 6
"""The versions that the pinned Hudi reads and writes; older ones it only upgrades."""

Direction = Literal["upgrade", "downgrade"]

_UP = {
    0: "the markers of incomplete writes get other names",
    1: "the table's properties name its columns and its key generator",
    2: "the existing metadata table is deleted and rebuilt",
    3: "the table's properties get a checksum and an entry for the metadata table",
    4: "partitions without a value get another name",
    5: "existing compaction requests are deleted from the auxiliary folder",
    6: "only the version number changes",
    7: "the timeline moves to `.hoodie/timeline`, its instants get completion times, the archive becomes a "
    "tree of Parquet files, and the table's properties record the merge mode",
    8: "the payload class becomes a merge mode, and the indexes in the metadata table get a version",
}
_DOWN = {
    9: "the merge mode becomes a payload class again, and secondary indexes of the newer version are removed",
    8: "the timeline moves back to `.hoodie`, instants lose their completion times, the archive becomes log "
    "files, and the metadata table is deleted if that version cannot read it",
    7: "only the version number changes",
}


@dataclass(frozen=True, slots=True)
class VersionStep:
    """One step between adjacent versions, with a description of its changes."""

    before: int
    after: int
    changes: str


@dataclass(frozen=True, slots=True)
class VersionPlan:
    """A plan from version `before` to version `after`; no `steps` if the table already has that version.

    `first` describes what Hudi does before the steps.
    """

    before: int
    after: int
    steps: tuple[VersionStep, ...]
    first: tuple[str, ...] = ()


def plan_versions(
    name: str, properties: TableProperties, direction: Direction, target: int | None
) -> VersionPlan:
    """Plan the steps to `target`: by default the latest version, or for a downgrade the previous one.

    Raises `UsageError` for a version that is unavailable in that direction.
    """
    before = properties.read_number("table_version", 0)
    is_up = direction == "upgrade"
    after = (NEWEST_VERSION if is_up else max(before - 1, OLDEST_VERSION)) if target is None else target
    if not OLDEST_VERSION <= after <= NEWEST_VERSION:
        raise UsageError(
            f"--to {after}: this Hudi writes tables of version {OLDEST_VERSION} to {NEWEST_VERSION}",
            hint=f"--to {NEWEST_VERSION if is_up else OLDEST_VERSION}",
        )
    if (after < before) if is_up else (after > before):
        other = "downgrade" if is_up else "upgrade"
        raise UsageError(
            f"table {name} has version {before}, and `{direction}` cannot change it to version {after}",
            hint=f"headwater table {name} {other} --to {after}",
        )
    return VersionPlan(before, after, _list_steps(before, after), _list_first(properties, before, after))


def _list_steps(before: int, after: int) -> tuple[VersionStep, ...]:
    if after >= before:
        return tuple(VersionStep(at, at + 1, _UP[at]) for at in range(before, after))
    return tuple(VersionStep(at, at - 1, _DOWN[at]) for at in range(before, after, -1))


def _list_first(properties: TableProperties, before: int, after: int) -> tuple[str, ...]:
    if before == after:
        return ()
    first = ["incomplete writes are rolled back"]
    crosses_layouts = min(before, after) < 8 <= max(before, after)
    if crosses_layouts and properties.read("table_type").upper() == "MERGE_ON_READ":
        first.append(
            "log files are compacted into base files, because the versions have different log formats"
        )
    return tuple(first)
