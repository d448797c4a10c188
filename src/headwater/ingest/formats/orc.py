"""ORC, read by pyarrow."""

import re

import pyarrow as pa
from pyarrow import orc

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

# ValueError: names in a corrupt footer that are not UTF-8.
_UNREADABLE = (pa.ArrowException, OSError, ValueError)
_BEYOND_NANOSECONDS = re.compile(r"timestamp .*is out of range")


class OrcFormat:
    """No options: an ORC file is self-describing."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return all columns. ORC's footer lacks the uncompressed size, so `max_bytes` is not checked."""
        try:
            return orc.ORCFile(pa.BufferReader(source.data)).read()
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the columns of the footer."""
        try:
            return orc.ORCFile(pa.BufferReader(source.data)).schema
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error


def _unreadable(source: ObjectData, error: Exception) -> ObjectUnreadableError:
    # pyarrow has nanoseconds only for ORC.
    if _BEYOND_NANOSECONDS.search(str(error)):
        return ObjectUnreadableError(
            f"{source.uri} has a timestamp outside the years 1678 to 2261, which ORC files cannot have here; "
            "write such a column as a date, or the file as Parquet"
        )
    return ObjectUnreadableError(f"{source.uri} is not readable ORC ({len(source.data)} bytes): {error}")
