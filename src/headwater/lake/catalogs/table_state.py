"""The current state of a Hudi table as catalogs need it, read without a JVM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.inspection.layout import FileSlice, read_layout
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.typed_options.bootstrap import BOOTSTRAP_INDEX_FOLDER, BOOTSTRAPPED_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class TableState:
    """The latest state of a table.

    `columns` start with Hudi's own; partition columns that exist only as folders are omitted. `partitions`
    are the folders with current files. `files` are the relative paths of the current base files, or None if
    rows are in bootstrap source files. `requested` and `completed` are the times of the last completed
    commit.
    """

    name: str
    path: str
    columns: "StructType"
    partition_fields: tuple[str, ...]
    partitions: tuple[str, ...]
    files: tuple[str, ...] | None
    is_merge_on_read: bool
    base_file_format: str
    is_url_encoded: bool
    requested: str
    completed: str


def read_last_completion(address: TableAddress) -> str | None:
    """Return the completion time of the latest commit, or None without commits. Lists the timeline once.

    Raises `TableNotFoundError` and `LakeError`.
    """
    writes = TableTimeline(address).completed_writes
    return writes[-1].completed if writes else None


def read_table_state(address: TableAddress) -> TableState | None:
    """Read the current table state, or return None before the first commit. Lists all files.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    timeline = TableTimeline(address)
    writes = timeline.completed_writes
    if not writes:
        return None
    properties = timeline.folder.properties
    # List files after the timeline: a concurrent commit can then add partitions, but none can be missing.
    layout = read_layout(address, older=True)
    if layout.problems:
        raise LakeError(
            f"{address.path}: cannot determine the files of the latest snapshot: {layout.problems[0]}",
            hint="`headwater table NAME files` lists all problems",
        )
    slices = layout.slices
    current = [one for one in slices if one.state == "current"]
    return TableState(
        name=address.name,
        path=address.path,
        columns=_read_columns(timeline, slices),
        # Some key generators write `field:type`.
        partition_fields=tuple(field.partition(":")[0] for field in properties.read_list("partition_fields")),
        partitions=tuple(sorted({one.partition for one in current})),
        files=None if _has_rows_elsewhere(timeline) else _list_files(current),
        is_merge_on_read=properties.read("table_type").upper() == "MERGE_ON_READ",
        base_file_format=properties.read("base_file_format", "parquet").lower(),
        is_url_encoded=properties.read_flag("url_encoded"),
        requested=writes[-1].requested,
        completed=writes[-1].completed or "",
    )


def _list_files(current: Sequence[FileSlice]) -> tuple[str, ...]:
    return tuple(sorted(one.base_file.path for one in current if one.base_file))


def _has_rows_elsewhere(timeline: TableTimeline) -> bool:
    if not timeline.folder.properties.raw.get(BOOTSTRAPPED_PROPERTY):
        return False
    return bool(timeline.folder.list_files(BOOTSTRAP_INDEX_FOLDER))


def _read_columns(timeline: TableTimeline, slices: Sequence[FileSlice]) -> "StructType":
    from pyspark.sql.pandas.types import from_arrow_schema

    if not timeline.folder.properties.read_flag("partition_columns_dropped"):
        return from_arrow_schema(timeline.folder.reader.schema)
    # hudi-rs cannot read such a table; the last written file has the current columns.
    files = sorted((one.base_file for one in slices if one.base_file), key=lambda file: file.instant)
    footer = timeline.folder.read_footers([files[-1].path])[files[-1].path] if files else None
    if footer is None:
        raise TableUnsupportedError(
            f"{timeline.folder.address.path}: only Spark can determine its columns: the partition columns "
            "are not in its files, and it has no Parquet file",
            hint="the next commit writes one",
        )
    return from_arrow_schema(footer.schema.to_arrow_schema())
