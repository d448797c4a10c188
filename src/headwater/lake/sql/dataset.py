"""A Hudi table as a pyarrow dataset that DataFusion scans lazily, one file slice at a time.

hudi-rs has its own DataFusion source, which requires one exact DataFusion major version. It also panics on
`s3://` (no Tokio runtime behind the FFI) and encodes non-ASCII paths twice.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from headwater.errors import HeadwaterError
from headwater.lake.logical_types.decoding import decode_batch
from headwater.lake.snapshot_reader import (
    COMMIT_TIME,
    NEWEST,
    Filter,
    Scan,
    SnapshotReader,
    explain_read_failure,
)


class HudiDataset(ds.Dataset):  # type: ignore[misc] # pyarrow has no types
    """The dataset methods that DataFusion calls: `schema`, `get_fragments` and `scanner`.

    `needed` are the only columns to read, including those in filters (None: all). `filters` may prune files
    and row groups; DataFusion applies the query's conditions again. `scan` selects the snapshot.
    """

    def __init__(
        self,
        reader: SnapshotReader,
        needed: Collection[str] | None,
        filters: Sequence[Filter] = (),
        scan: Scan = NEWEST,
    ) -> None:
        self._reader = reader
        self._scan = scan
        self._schema = reader.schema
        self._needed = frozenset(self._schema.names if needed is None else needed)
        self._filters = list(filters)
        self.failure: HeadwaterError | None = None
        """Why the last read failed; DataFusion passes on only its text."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return self._schema

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: object,
    ) -> "TableScan":
        """Return one lazy scan; it reads nothing before its batches are requested."""
        del schema, options
        return TableScan(self, columns, filter)

    def get_fragments(self, filter: ds.Expression | None = None) -> "Iterator[HudiDataset]":  # noqa: A002
        """Yield the entire table as one fragment, which is read in the thread that requests the rows.

        DataFusion reads several fragments in its own threads, which still run Python after a LIMIT is met. A
        process that exits then aborts or hangs: 13 of 25 did.
        """
        del filter
        return iter((self,))

    def iter_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield all rows, one slice at a time, each merged with its logs. Sets `failure` when it raises."""
        read = dict.fromkeys((*schema.names, COMMIT_TIME) if self._scan.after else schema.names)
        options = self._scan.build_options(list(read), self._filters)
        try:
            table = self._reader.hudi_table
            group_reader = table.create_file_group_reader_with_options(options)
            for file_slice in table.get_file_slices(self._scan.build_options(None, self._filters)):
                for batch in group_reader.read_file_slice_stream(file_slice, options):
                    yield decode_batch(batch.select(schema.names), self._schema)
            self._reader.check_retained(self._scan)
        except HeadwaterError as error:
            self.failure = error
            raise
        # hudi-rs does not export its exception, so no narrower class can be named.
        except Exception as error:
            self.failure = explain_read_failure(self._reader.path, str(error))
            raise self.failure from error

    def project(self, columns: Iterable[str] | None) -> pa.Schema:
        """Return the schema to read for a scan of `columns`, whose filter may use any needed column."""
        wanted = self._needed.union(columns or ())
        kept = [column for column in self._schema if column.name in wanted]
        # Read at least one column, because the row count would be lost otherwise.
        return pa.schema(kept or [self._schema.field(0)])


class TableScan:
    """The scanner methods that DataFusion calls. pyarrow's own scanner reads ahead in its own thread."""

    def __init__(
        self,
        dataset: HudiDataset,
        columns: Sequence[str] | None,
        filter: ds.Expression | None,  # noqa: A002 - pyarrow's name
    ) -> None:
        self._dataset = dataset
        self._columns = dataset.schema.names if columns is None else list(columns)
        self._filter = filter

    @property
    def projected_schema(self) -> pa.Schema:
        """The requested columns."""
        return pa.schema([self._dataset.schema.field(name) for name in self._columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the requested rows."""
        for batch in self._dataset.iter_batches(self._dataset.project(self._columns)):
            rows = pa.Table.from_batches([batch])
            kept = rows if self._filter is None else rows.filter(self._filter)
            yield from kept.select(self._columns).to_batches()
