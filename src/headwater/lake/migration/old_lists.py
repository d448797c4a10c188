"""Finds and rewrites base files whose lists have the two-level structure of older releases."""

import re

import pyarrow.parquet as pq

from headwater.errors import LakeError
from headwater.lake.layout import TableAddress
from headwater.lake.service_result import ServiceResult, sum_results
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.clustering import ClusterOptions, cluster
from headwater.lake.services.compaction import compact
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table_files import open_file_system
from headwater.lake.table_folder import TableFolder

# The repeated level of a list is `array` in the old structure and `list` in the Parquet specification.
_OLD_LIST = re.compile(r"\brepeated (?:group|\w+)\b[^{;]*\barray\b[^{;]*[{;]")


def find_old_lists(address: TableAddress) -> tuple[str, ...]:
    """Find the latest base files with such lists, without a JVM. Raises `LakeError`."""
    reader = _read(address)
    slices = reader.list_slices() if reader.schema.names else []
    paths = [found.base_file_relative_path() for found in slices]
    try:
        system, root = open_file_system(address.path, address.storage_options)
        return tuple(
            path
            for path in paths
            if path.endswith(".parquet")
            and _OLD_LIST.search(str(pq.read_metadata(f"{root}/{path}", filesystem=system).schema))
        )
    except OSError as error:
        raise LakeError(f"{address.path}: {error}", hint="`headwater doctor` checks the lake") from error


def rewrite_lists(table: ServiceTable) -> ServiceResult:
    """Rewrite all base files by clustering, after a compaction if there are logs.

    Raises `UsageError` for a table with a bucket index, whose files only writes can rewrite, and `LakeError`.
    """
    done = []
    if TableFolder(table.address).properties.read("table_type").upper() == "MERGE_ON_READ":
        done.append(compact(table))
    sizes = [found.base_file_size for found in _read(table.address).list_slices()]
    # Clustering skips files from four fifths of the target size.
    options = ClusterOptions(target_bytes=max(ClusterOptions().target_bytes, 2 * max(sizes, default=0)))
    done.append(cluster(table, options))
    return sum_results(done)


def _read(address: TableAddress) -> SnapshotReader:
    return SnapshotReader(address.path, address.storage_options)
