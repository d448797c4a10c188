"""A Hudi table as a pyarrow dataset, so that DataFusion scans it lazily, file slice by file slice.

hudi-rs's own DataFusion source is not used: it wants one exact DataFusion major, panics on `s3://`
(no Tokio runtime behind the FFI) and encodes paths that are not plain ASCII twice.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.dataset as ds
from hudi import HudiFileGroupReader, HudiFileSlice, HudiReadOptions

from headwater.errors import LakeError
from headwater.lake.snapshot_reader import SnapshotReader, explain_read_failure

Filter = tuple[str, str, str]


class HudiDataset(ds.Dataset):  # type: ignore[misc] # pyarrow has no types
    """What DataFusion asks of a dataset: `schema`, `get_fragments` and `scanner`.

    `needed` are the columns that the query may touch, filters included (None: all): only they are read.
    `filters` may prune files and row groups; DataFusion applies the query's own conditions again.
    """

    def __init__(
        self, reader: SnapshotReader, needed: Collection[str] | None, filters: Sequence[Filter] = ()
    ) -> None:
        self._reader = reader
        self._schema = reader.schema
        self._needed = frozenset(self._schema.names if needed is None else needed)
        self._filters = list(filters)
        self.failure: LakeError | None = None
        """Why the last read failed; DataFusion passes on only its text."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: object,
    ) -> ds.Scanner:
        """A scanner of nothing: DataFusion asks it for the projected schema only."""
        del options
        return ds.Scanner.from_batches(iter(()), schema=self._schema, columns=columns, filter=filter)

    def get_fragments(self, filter: ds.Expression | None = None) -> "Iterator[SliceFragment]":  # noqa: A002
        """The file slices that the snapshot has now; one without rows where no slice can fit the filters."""
        del filter
        options = HudiReadOptions(filters=self._filters)
        with self._reader.explained():
            table = self._reader.hudi_table
            group_reader = table.create_file_group_reader_with_options(options)
            slices = table.get_file_slices(options)
        if not slices:
            # DataFusion refuses to sort or count a source of no partitions.
            return iter([SliceFragment(self, lambda _: iter(()))])
        return iter(
            [
                SliceFragment(self, partial(self.iter_batches, group_reader, file_slice))
                for file_slice in slices
            ]
        )

    def iter_batches(
        self, group_reader: HudiFileGroupReader, file_slice: HudiFileSlice, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one file slice, merged with its logs. `failure` is set when it raises."""
        options = HudiReadOptions(filters=self._filters, projection=schema.names)
        try:
            for batch in group_reader.read_file_slice_stream(file_slice, options):
                yield batch.select(schema.names)
        # hudi-rs does not export its exception, so no narrower class can be named.
        except Exception as error:
            self.failure = explain_read_failure(self._reader.path, str(error))
            raise self.failure from error

    def project(self, columns: Iterable[str] | None) -> pa.Schema:
        """The schema to read for a scan of `columns`, whose filter may touch any needed column."""
        wanted = self._needed.union(columns or ())
        kept = [column for column in self._schema if column.name in wanted]
        # Of no column at all, the number of rows would be lost.
        return pa.schema(kept or [self._schema.field(0)])


class SliceFragment:
    """One file slice: what DataFusion makes a partition of."""

    def __init__(self, dataset: HudiDataset, read: Callable[[pa.Schema], Iterator[pa.RecordBatch]]) -> None:
        self._dataset = dataset
        self._read = read

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: object,
    ) -> ds.Scanner:
        """Reads nothing before its batches are asked for."""
        del schema, options
        projected = self._dataset.project(columns)
        return ds.Scanner.from_batches(
            self._read(projected), schema=projected, columns=columns, filter=filter
        )
