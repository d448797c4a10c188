"""The completed and pending actions of a table's timeline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.errors import LakeError
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.timeline.file_layout import Metadata
from headwater.lake.timeline.instants import Instant, State, parse_time

# These operations only rewrite rows, although Hudi counts the output as inserts and updates.
_REWRITES = frozenset({"compact", "log_compact", "cluster"})
_OPERATIONS = {"compaction": "compact", "logcompaction": "log_compact", "clustering": "cluster"}


@dataclass(frozen=True, slots=True)
class WriteStats:
    """The row counts of one write.

    Inserted, updated and deleted rows are Hudi's counts, 0 for compaction and clustering. `rows_written` are
    all rows in the written files, including unchanged ones.
    """

    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    rows_written: int
    bytes_written: int
    files_written: int
    file_groups_replaced: int
    partitions: int


@dataclass(frozen=True, slots=True)
class Action:
    """One action. `instant` and `completed` are Hudi's text, `requested_at` and `completed_at` times in UTC.

    `duration_seconds` is from request to completion, unknown for a savepoint. `age_seconds` is the time since
    the request of a pending action. `operation` is the type of write (`upsert`, `compact`, `cluster`, ...),
    planned or done. `problem` is why other fields are unknown.
    """

    instant: str
    action: str
    state: State
    operation: str | None
    requested_at: datetime | None
    completed: str | None
    completed_at: datetime | None
    duration_seconds: float | None
    age_seconds: float | None
    written: WriteStats | None
    files_deleted: int | None
    note: str
    problem: str | None
    archived: bool


def list_actions(address: TableAddress, now: datetime, *, archived: bool = False) -> list[Action]:
    """List every action of the active timeline, optionally also of the archive, in order of request.

    An action with a corrupt file has a `problem`. Raises `TableNotFoundError`, `TableUnsupportedError` and
    `LakeError`.
    """
    timeline = TableTimeline(address)
    found = [*(timeline.archived if archived else ()), *timeline.active]
    return build_actions(timeline, sorted(found), now)


def build_actions(timeline: TableTimeline, instants: Sequence[Instant], now: datetime) -> list[Action]:
    """Build the actions of these instants in the given order; reads the file of each."""
    metadata = timeline.read_metadata(i for i in instants if i.state == "completed")
    plans = timeline.read_plans(i for i in instants if i.state != "completed")
    return [
        build_action(instant, {**plans, **metadata}[instant], zone=timeline.zone, now=now)
        for instant in instants
    ]


def build_action(
    instant: Instant, metadata: Metadata | LakeError | None, *, zone: str, now: datetime
) -> Action:
    """Build one action; `metadata` is the metadata of a completed action or the plan of a pending one."""
    problem = metadata.message if isinstance(metadata, LakeError) else None
    known: Metadata = {} if metadata is None or isinstance(metadata, LakeError) else metadata
    is_done = instant.state == "completed"
    requested, completed = parse_time(instant.requested, zone), parse_time(instant.completed, zone)
    # A savepoint has the instant of the commit that it keeps, not of its own request.
    began = None if instant.action == "savepoint" else requested
    duration = (completed - began).total_seconds() if completed and began else None
    age = (now - requested).total_seconds() if requested and not is_done else None
    operation = _name_operation(instant, known)
    return Action(
        instant=instant.requested,
        action=instant.action,
        state=instant.state,
        operation=operation,
        requested_at=requested,
        completed=instant.completed or None,
        completed_at=completed,
        duration_seconds=duration,
        age_seconds=age,
        written=count_written(known, operation) if is_done and instant.is_write and not problem else None,
        files_deleted=known.get("totalFilesDeleted"),
        note=_describe_done(instant, known) if is_done else _describe_plan(known),
        problem=problem,
        archived=instant.archived,
    )


def iter_write_stats(metadata: Metadata) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the partition and Hudi's write statistics of each written file."""
    for partition, stats in (metadata.get("partitionToWriteStats") or {}).items():
        for stat in stats:
            if stat.get("path"):
                yield partition, stat


def list_replaced(metadata: Metadata) -> set[tuple[str, str]]:
    """Return partition and id of each file group that a write has replaced."""
    replaced = metadata.get("partitionToReplaceFileIds") or {}
    return {(partition, file_id) for partition, ids in replaced.items() for file_id in ids}


def changes_rows(operation: str | None) -> bool:
    """True if an operation adds, changes or deletes rows, rather than only rewriting files."""
    return operation not in _REWRITES


def count_written(metadata: Metadata, operation: str | None = None) -> WriteStats:
    """Sum the write statistics of a commit."""
    found = list(iter_write_stats(metadata))
    replaced = list_replaced(metadata)

    def total(name: str) -> int:
        return sum(stat.get(name) or 0 for _, stat in found)

    changes = changes_rows(operation)
    return WriteStats(
        rows_inserted=total("numInserts") if changes else 0,
        rows_updated=total("numUpdateWrites") if changes else 0,
        rows_deleted=total("numDeletes") if changes else 0,
        rows_written=total("numWrites"),
        bytes_written=total("totalWriteBytes"),
        files_written=len({stat["path"] for _, stat in found}),
        file_groups_replaced=len(replaced),
        partitions=len({partition for partition, _ in found} | {partition for partition, _ in replaced}),
    )


def _name_operation(instant: Instant, metadata: Metadata) -> str | None:
    operation = metadata.get("operationType")
    return str(operation).lower() if operation and instant.is_write else _OPERATIONS.get(instant.planned_as)


def _describe_done(instant: Instant, metadata: Metadata) -> str:
    if instant.action == "savepoint" and metadata:
        comments = metadata.get("comments")
        return f"by {metadata.get('savepointedBy') or 'an unnamed user'}" + (
            f": {comments}" if comments else ""
        )
    if instant.action == "rollback":
        return f"rolled back {', '.join(metadata.get('commitsRollback') or ())}"
    if instant.action == "restore":
        return f"rolled back {', '.join(metadata.get('instantsToRollback') or ())}"
    if instant.action == "clean" and metadata.get("earliestCommitToRetain"):
        return f"keeps commits since {metadata['earliestCommitToRetain']}"
    if instant.action == "indexing":
        built = metadata.get("indexPartitionInfos") or ()
        return f"built {', '.join(one['metadataPartitionPath'] for one in built)}"
    return ""


def _describe_plan(plan: Metadata) -> str:
    if plan.get("operations"):
        return f"{len(plan['operations'])} file groups to compact"
    clustering = plan.get("clusteringPlan") or {}
    if clustering.get("inputGroups"):
        slices = sum(len(group.get("slices") or ()) for group in clustering["inputGroups"])
        return f"{slices} file groups to cluster"
    if plan.get("instantToRollback"):
        return f"to roll back {plan['instantToRollback']['commitTime']}"
    return ""
