"""Parquet, read by pyarrow."""

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

# ValueError: names in a corrupt footer that are not UTF-8.
_UNREADABLE = (pa.ArrowException, OSError, ValueError)


class ParquetFormat:
    """No options: a Parquet file is self-describing."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return all columns; the footer's uncompressed size counts against `max_bytes`."""
        try:
            file = _open(source)
            size = sum(file.metadata.row_group(n).total_byte_size for n in range(file.num_row_groups))
            if size > max_bytes:
                raise ObjectTooLargeError(
                    f"{source.uri} has {size} bytes uncompressed; the limit for one object is {max_bytes}"
                )
            return file.read(use_threads=False)
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the columns of the footer."""
        try:
            return _open(source).schema_arrow
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error


def _open(source: ObjectData) -> pq.ParquetFile:
    # Microseconds: as nanoseconds, Impala's timestamps before 1677 overflow silently.
    return pq.ParquetFile(pa.BufferReader(source.data), coerce_int96_timestamp_unit="us")


def _unreadable(source: ObjectData, error: Exception) -> ObjectUnreadableError:
    return ObjectUnreadableError(f"{source.uri} is not readable Parquet ({len(source.data)} bytes): {error}")
