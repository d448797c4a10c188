"""Data files of a view, with the statistics of their Parquet footers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from pyarrow.parquet import FileMetaData
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import StringType

from headwater.errors import IcebergViewError, LakeError
from headwater.lake.iceberg_view.columns import UnreadableColumn, find_unreadable
from headwater.lake.inspection.layout import DataFile as StoredDataFile
from headwater.lake.table_folder import TableFolder

_AT_ONCE = 256
_HIDDEN_ID = -1
_MISFITS_SHOWN = 3


class DataFiles:
    """Builds the data files of one view. Files may have the columns of the schema and the `hidden` ones."""

    def __init__(self, folder: TableFolder, location: str, schema: Schema, hidden: Collection[str]) -> None:
        self._folder = folder
        self._location = location
        self._schema = schema
        self._hidden = frozenset(hidden)
        self._ids = {**parquet_path_to_id_mapping(schema), **dict.fromkeys(hidden, _HIDDEN_ID)}
        self._plan = {
            **compute_statistics_plan(schema, {}),
            _HIDDEN_ID: StatisticsCollector(
                _HIDDEN_ID, StringType(), MetricsMode(MetricModeTypes.NONE), "hidden"
            ),
        }

    def build(self, files: Sequence[StoredDataFile]) -> list[DataFile]:
        """Build the data files of base files; reads only their footers.

        Raises `IcebergViewError` with the columns that do not fit, and `LakeError` for an unreadable file.
        """
        built, misfits = [], []
        for file, footer in self._iter_footers(files):
            unreadable = find_unreadable(self._schema, self._hidden, footer)
            if unreadable is not None:
                misfits.append((file.path, unreadable))
            elif not misfits:
                built.append(self._build(file, footer))
        if misfits:
            raise _build_misfit_error(self._folder.address.name, misfits, len(files))
        return built

    def _iter_footers(self, files: Sequence[StoredDataFile]) -> Iterator[tuple[StoredDataFile, FileMetaData]]:
        """Yield each file with its footer; holds a limited number in memory."""
        left = iter(files)
        while some := list(islice(left, _AT_ONCE)):
            footers = self._folder.read_footers([file.path for file in some])
            for file in some:
                footer = footers[file.path]
                if footer is None:
                    raise LakeError(
                        f"{self._folder.address.path}/{file.path}: cannot read the Parquet footer",
                        hint="`headwater table NAME check` finds corrupt files",
                    )
                yield file, footer

    def _build(self, file: StoredDataFile, footer: FileMetaData) -> DataFile:
        statistics = data_file_statistics_from_parquet_metadata(footer, self._plan, self._ids)
        counted = statistics.to_serialized_dict()
        # No reader prunes files by it, and each rewrite of a manifest would encode it again.
        counted["column_sizes"] = None
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{self._location}/{file.path}",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            file_size_in_bytes=file.size,
            sort_order_id=None,
            spec_id=0,
            equality_ids=None,
            key_metadata=None,
            **counted,
        )


def _build_misfit_error(
    table: str, misfits: Sequence[tuple[str, UnreadableColumn]], of: int
) -> IcebergViewError:
    columns: Mapping[str, UnreadableColumn] = {one.column: one for _, one in reversed(misfits)}
    shown = "; ".join(
        f"column {name}: {one.reason}" for name, one in sorted(columns.items())[:_MISFITS_SHOWN]
    )
    is_old = any(one.is_old_list for one in columns.values())
    command = f"headwater table {table} {'upgrade' if is_old else 'cluster'}"
    return IcebergViewError(
        f"the Iceberg view cannot name {len(misfits)} of {of} new files, such as {misfits[0][0]}: {shown}",
        hint=f"`{command}` rewrites files with the newest columns",
    )
