"""The format seam: converts one object's bytes to rows, in one of two kinds.

Lines formats return text, which Spark parses later with the user's reader options, so that Spark's rules
apply. Columns formats return typed columns. All are pure: bytes in, rows out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

import pyarrow as pa

from headwater.ingest.formats.reader_options import ReaderOptions


@dataclass(frozen=True, slots=True)
class ObjectData:
    """One object's bytes, decompressed, with metadata for its rows (`last_modified`: UTC).

    A member of an archive has the archive's address in `archive`.
    """

    uri: str
    data: bytes
    last_modified: datetime | None = None
    archive: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of the rows: the table's data columns in order, with their types if needed.

    `rescues`: fields without a column are wanted, too.
    """

    columns: tuple[str, ...] = ()
    schema: pa.Schema | None = None
    rescues: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Texts of records and their 1-based numbers, in parallel; `note` names what was dropped.

    For a format whose objects name their columns (CSV), `unknown` are names that the table lacks. `rescued`
    has their fields as JSON, if the target wants that.
    """

    row_numbers: Sequence[int]
    texts: Sequence[str]
    note: str = ""
    unknown: tuple[str, ...] = ()
    rescued: Sequence[str | None] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """First records of an object for schema inference; `names` if the object names its columns."""

    names: tuple[str, ...] | None
    lines: tuple[str, ...]


@runtime_checkable
class LinesFormat(Protocol):
    """Numbered texts. Every method raises ObjectUnreadableError, and ConfigError for wrong options."""

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return all records of the object in order, ready for the record parser."""
        ...

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first records, ready for schema inference."""
        ...


@runtime_checkable
class ColumnsFormat(Protocol):
    """Typed columns. Every method raises ObjectUnreadableError."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return all rows. Raises ObjectTooLargeError if the object declares more than `max_bytes`."""
        ...

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the columns with the object's types."""
        ...
