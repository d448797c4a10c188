"""`CommitFacts`: the facts that lineage reports about the commit of a batch."""

from dataclasses import dataclass
from datetime import datetime

from headwater.ingest.planning.outcome import CHECKPOINT, FOLLOWED, BatchResult
from headwater.lake.inspection.actions import build_action
from headwater.lake.inspection.description import Column, list_columns
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import COMMIT_METADATA_PREFIX

_NEWEST = 20
"""Number of newest commits searched. After a batch's commit come at most those of services and other
writers."""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """One commit: its Hudi instant, when it was requested, what it wrote, and the table's columns."""

    instant: str
    requested_at: datetime | None
    bytes_written: int
    files_written: int
    columns: tuple[Column, ...]


def read_commit_facts(address: TableAddress, result: BatchResult, now: datetime) -> CommitFacts | None:
    """Return the facts of the commit that a batch ended with; None when it has left the timeline.

    Reads without a JVM. Raises `LakeError`.
    """
    timeline = TableTimeline(address)
    keys = [f"{COMMIT_METADATA_PREFIX}{name}" for name in (CHECKPOINT, FOLLOWED)]
    for instant in timeline.completed_writes[: -_NEWEST - 1 : -1]:
        metadata = timeline.read_metadata([instant])[instant]
        extra = (metadata.get("extraMetadata") or {}) if isinstance(metadata, dict) else {}
        if result.end in (extra.get(key) for key in keys):
            action = build_action(instant, metadata, zone=timeline.zone, now=now)
            written = action.written
            return CommitFacts(
                instant=instant.requested,
                requested_at=action.requested_at,
                bytes_written=written.bytes_written if written else 0,
                files_written=written.files_written if written else 0,
                columns=list_columns(timeline.folder.reader),
            )
    return None
