"""Loads the history of a table from its timeline files."""

from collections.abc import Iterator

from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.options import CDC_ENABLED_PROPERTY, TABLE_PROPERTIES_FILE
from headwater.lake.properties import TableProperties, parse_properties
from headwater.lake.queries.history import TableHistory
from headwater.lake.table_files import TableFiles
from headwater.lake.timeline.file_layout import LAYOUT, Metadata
from headwater.lake.timeline.files import FileReader, FileTimeline
from headwater.lake.timeline.instants import WRITES, Instant


def load_history(path: str, files: TableFiles, back_to: str) -> TableHistory:
    """Load the history, including archived commits if `back_to` is before the active timeline.

    Raises `TableUnsupportedError` for timelines before Hudi 1.0, which lack completion times. Raises
    `OSError` and `ValueError` for unreadable files.
    """
    properties = TableProperties(parse_properties(files.read(TABLE_PROPERTIES_FILE).decode()))
    if properties.read_number("layout_version", 0) != LAYOUT:
        raise TableUnsupportedError(
            f"{path}: only the latest snapshot can be read: the timeline predates Hudi 1.0",
            hint="the next write by Hudi 1 upgrades the table",
        )
    timeline = FileTimeline(FileReader(path, files, properties))
    reads_archive = not timeline.commits or back_to < timeline.commits[0].completed
    archived = timeline.list_archived() if reads_archive else ()
    is_mor = properties.read("table_type") == "MERGE_ON_READ"
    changing = [i.commit for i in timeline.completed_writes if _changes_rows(i, is_mor, timeline)]
    begun = {i.requested for i in timeline.active if i.state != "completed" and i.action in WRITES}
    return TableHistory(
        path=path,
        commits=tuple(sorted([*archived, *changing])),
        pending=tuple(sorted(begun - {commit.requested for commit in archived})),
        earliest_retained=timeline.find_earliest_retained(archived=reads_archive),
        restores=tuple(_iter_restores(timeline)),
        newest_archived=archived[-1].completed if archived else "",
        is_utc=properties.read("timezone") == "UTC",
        has_change_log=properties.raw.get(CDC_ENABLED_PROPERTY) == "true",
        is_merge_on_read=is_mor,
        record_key=properties.read_list("record_keys"),
    )


def _changes_rows(instant: Instant, is_mor: bool, timeline: FileTimeline) -> bool:
    """True unless the action is a table service; on merge-on-read tables, each `commit` is a compaction."""
    if instant.action == "replacecommit":
        return str(_read(instant, timeline).get("operationType")).upper() != "CLUSTER"
    return not (is_mor and instant.action == "commit")


def _iter_restores(timeline: FileTimeline) -> Iterator[tuple[str, str]]:
    for instant in timeline.active:
        if instant.action == "restore" and instant.state == "completed":
            taken_back = _read(instant, timeline).get("instantsToRollback") or []
            if taken_back:
                yield instant.completed, min(str(requested) for requested in taken_back)


def _read(instant: Instant, timeline: FileTimeline) -> Metadata:
    metadata = timeline.read_metadata([instant])[instant]
    if isinstance(metadata, LakeError):
        raise metadata
    return metadata
