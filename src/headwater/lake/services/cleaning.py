"""Cleaning: deletes superseded file slices, and with them older states of the table."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.options import CleanBy, cleaning_options
from headwater.lake.service_table import ServiceTable


@dataclass(frozen=True, slots=True)
class CleanPolicy:
    """What to retain: the files of the latest `count` commits, hours or file versions.

    Without `by`, the table's own options apply, by default 10 commits.
    """

    by: CleanBy | None = None
    count: int = 10


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """The `files` to delete, as paths.

    `earliest_retained` is the requested time of the oldest commit whose state remains readable. It is empty
    if nothing is deleted, or if the policy does not determine it.
    """

    files: tuple[str, ...]
    earliest_retained: str


@dataclass(frozen=True, slots=True)
class CleanResult:
    """The result of a clean; `instant` is empty if there was nothing to delete."""

    instant: str
    files: int
    earliest_retained: str
    seconds: float


def clean_file_groups(table: ServiceTable, file_ids: Collection[str]) -> CleanResult:
    """Delete all superseded files of these file groups, and none of others; savepoints are retained.

    Raises `LakeError`.
    """
    started = time.monotonic()

    def is_wanted(path: str) -> bool:
        name = parse_data_file_name(path.rpartition("/")[2])
        return name is not None and name.file_id in file_ids

    with table.open_client(cleaning_options("versions", 1)) as client:
        instant, files = table.java.clean_files(client, is_wanted)
    return CleanResult(instant, files, "", time.monotonic() - started)


def plan_clean(table: ServiceTable, policy: CleanPolicy) -> CleanPlan:
    """Plan a clean now with Hudi's own planner. Raises `LakeError`."""
    with table.open_client(cleaning_options(policy.by, policy.count)) as client:
        planner = table.java.build_clean_planner(client)
        earliest = planner.getEarliestCommitToRetain()
        files: list[str] = []
        for partition in planner.getPartitionPathsToClean(earliest):
            removed: Any = planner.getDeletePaths(partition, earliest).getRight()
            files += [str(file.getFilePath()) for file in removed]
    has_earliest = bool(files) and earliest.isPresent()
    return CleanPlan(tuple(sorted(files)), str(earliest.get().requestedTime()) if has_earliest else "")


def clean(table: ServiceTable, policy: CleanPolicy) -> CleanResult:
    """Delete the files that the policy does not retain. Raises `LakeError`."""
    started = time.monotonic()
    with table.open_client(cleaning_options(policy.by, policy.count)) as client:
        done = client.clean()
        if done is None:
            return CleanResult("", 0, "", time.monotonic() - started)
        return CleanResult(
            instant=str(done.getStartCleanTime()),
            files=int(done.getTotalFilesDeleted()),
            earliest_retained=str(done.getEarliestCommitToRetain() or ""),
            seconds=time.monotonic() - started,
        )
