"""ORC, read by pyarrow."""

import pyarrow as pa
from pyarrow import orc

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

# ValueError: names in a corrupt footer that are not UTF-8.
_UNREADABLE = (pa.ArrowException, OSError, ValueError)


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
    return ObjectUnreadableError(f"{source.uri} is not readable ORC ({len(source.data)} bytes): {error}")
