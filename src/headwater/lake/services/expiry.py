"""Expiry: deletes partitions without recent writes.

Does not use Hudi's TTL strategy, which counts milliseconds in 32 bits in Hudi 1.2. With 30 days, nothing
expires; with 60 days, partitions expire after ten.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.errors import UsageError
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.queries.instants import format_instant
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_partitions
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.typed_options.services import read_partition_days


@dataclass(frozen=True, slots=True)
class Expiry:
    """The result of an expiry: `rows` were in the `partitions` (paths); `instant` is the commit, empty for
    none."""

    partitions: tuple[str, ...] = ()
    rows: int = 0
    instant: str = ""


def find_expired(files: Iterable[tuple[str, str]], limit: datetime) -> tuple[str, ...]:
    """Return the partitions without a file written since `limit`. Pure.

    `files` are pairs of partition path and name of a visible file.
    """
    newest: dict[str, str] = {}
    for partition, name in files:
        parsed = parse_data_file_name(name)
        # A file name without an instant keeps its partition.
        instant = "9" if parsed is None else parsed.instant
        newest[partition] = max(newest.get(partition, ""), instant)
    before = format_instant(limit)
    return tuple(sorted(partition for partition, instant in newest.items() if instant < before))


def expire_partitions(
    table: ServiceTable, now: datetime, days: int | None = None, *, dry_run: bool = False
) -> Expiry:
    """Delete the partitions whose newest file is `days` old (default: as configured), in one commit.

    Raises `UsageError` if no retention is set, or for a table without partitions, and `LakeError`.
    """
    name, address = table.address.name, table.address
    days = days or read_partition_days(table.extra)
    if not days:
        raise UsageError(
            f"table {name} has no partition retention",
            hint="set `keep_partition_days` of the table, or specify --days",
        )
    if not table.load_meta_client().getTableConfig().getPartitionFields().isPresent():
        raise UsageError(
            f"table {name} has no partitions", hint="`delete --where` deletes rows by a condition"
        )
    slices = SnapshotReader(address.path, address.storage_options).list_slices()
    files = (
        (str(found.partition_path), file)
        for found in slices
        for file in (found.base_file_name, *found.log_file_names)
        if file
    )
    expired = find_expired(files, now - timedelta(days=days))
    if not expired:
        return Expiry()
    done = delete_partitions(table, expired, dry_run=dry_run)
    return Expiry(expired, done.rows, done.instant)
