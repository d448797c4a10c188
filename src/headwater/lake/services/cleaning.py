"""Cleaning: files that newer ones have superseded are removed; the past of the table goes with them."""

import time
from dataclasses import dataclass
from typing import Any

from headwater.lake.options import CleanBy, cleaning_options
from headwater.lake.service_table import ServiceTable


@dataclass(frozen=True, slots=True)
class CleanPolicy:
    """What is kept: the files of the newest `count` commits, of so many hours, or so many versions of each
    file group. Without `by` what the table's own options say, by default 10 commits."""

    by: CleanBy | None = None
    count: int = 10


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """`files` are paths; `earliest_retained` is the requested time of the oldest commit as of which the table
    can still be read afterwards, empty where nothing is removed or the policy does not tell."""

    files: tuple[str, ...]
    earliest_retained: str


@dataclass(frozen=True, slots=True)
class CleanResult:
    """`instant` is empty when there was nothing to remove."""

    instant: str
    files: int
    earliest_retained: str
    seconds: float


def plan_clean(table: ServiceTable, policy: CleanPolicy) -> CleanPlan:
    """What a clean would remove now, as Hudi's own planner says. Raises `LakeError`."""
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
    """Remove what the policy does not keep. Raises `LakeError`."""
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
