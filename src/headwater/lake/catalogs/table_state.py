"""What a Hudi table is now, as far as catalogs are told of it; read without a JVM."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.lake.inspection.layout import read_layout
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class TableState:
    """`columns` are all, Hudi's own first. `partitions` are folders below the table's that have current
    files. `requested` and `completed` are the times of the commit that completed last."""

    name: str
    path: str
    columns: "StructType"
    partition_fields: tuple[str, ...]
    partitions: tuple[str, ...]
    is_merge_on_read: bool
    base_file_format: str
    is_url_encoded: bool
    requested: str
    completed: str


def read_last_completion(address: TableAddress) -> str | None:
    """When the newest commit was complete; None for a table without one. One listing of the timeline.

    Raises `TableNotFoundError` and `LakeError`.
    """
    writes = TableTimeline(address).completed_writes
    return writes[-1].completed if writes else None


def read_table_state(address: TableAddress) -> TableState | None:
    """The table now; None before its first commit. Lists its files.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    timeline = TableTimeline(address)
    writes = timeline.completed_writes
    if not writes:
        return None
    properties = timeline.folder.properties
    # The files after the timeline: of a commit between the two there are partitions too many, none too few.
    partitions = {one.partition for one in read_layout(address).slices}
    return TableState(
        name=address.name,
        path=address.path,
        columns=from_arrow_schema(timeline.folder.reader.schema),
        # `field:type` is what some key generators write.
        partition_fields=tuple(field.partition(":")[0] for field in properties.read_list("partition_fields")),
        partitions=tuple(sorted(partitions)),
        is_merge_on_read=properties.read("table_type").upper() == "MERGE_ON_READ",
        base_file_format=properties.read("base_file_format", "parquet").lower(),
        is_url_encoded=properties.read_flag("url_encoded"),
        requested=writes[-1].requested,
        completed=writes[-1].completed or "",
    )
