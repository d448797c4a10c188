"""Binary: the object itself as one row, as in Spark's binaryFile. Nothing is decompressed."""

import pyarrow as pa

from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

BINARY_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("modificationTime", pa.timestamp("us", tz="UTC")),
        ("length", pa.int64()),
        ("content", pa.binary()),
    ]
)


class BinaryFormat:
    """No options."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return path, modification time, length in bytes and content."""
        columns = [[source.uri], [source.last_modified], [len(source.data)], [source.data]]
        return pa.table(columns, schema=BINARY_SCHEMA)

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the same four columns for every object."""
        return BINARY_SCHEMA
