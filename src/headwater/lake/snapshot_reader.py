"""Reading Hudi tables without a JVM, through hudi-rs: rows, commits and what commits carry.

Table versions 6 (rows only), 8 and 9, copy-on-write and merge-on-read, in a folder or a store.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

import pyarrow as pa
from hudi import HudiFileSlice, HudiInstant, HudiQueryType, HudiReadOptions, HudiTable, HudiTableBuilder

from headwater.errors import (
    HeadwaterError,
    InstantUnavailableError,
    LakeError,
    TableNotFoundError,
    TableUnsupportedError,
)
from headwater.lake.failures import explain_damage
from headwater.lake.logical_types.decoding import (
    decode_batch,
    describe_schema,
    find_logical_types,
    may_have_types,
)
from headwater.lake.options import (
    READ_OPTIMIZED_OPTION,
    TABLE_NAME_PROPERTY,
    TABLE_PROPERTY_KEYS,
)
from headwater.lake.properties import TableProperties
from headwater.lake.table_files import ArrowFiles
from headwater.lake.timeline import Commit
from headwater.lake.timeline.files import FileReader, FileTimeline
from headwater.lake.typed_options.bootstrap import BOOTSTRAP_INDEX_FOLDER, BOOTSTRAPPED_PROPERTY

Filter = tuple[str, str, str]
COMMIT_TIME = "_hoodie_commit_time"
"""Column: when the commit that wrote the row was requested."""
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
READABLE_SCHEMES = frozenset({"", "s3", "gs", "az", "azure", "abfs", "abfss"})

_UNSUPPORTED = re.compile(
    r"(?i)unsupported|not (yet )?(supported|implemented)|only support|no reader here implements"
    # The parser of the schema's JSON ends at 128 levels, which some thirty structs inside each other have.
    r"|partition\.fields` is not present|failed to parse schema from JSON"
)
_BLOB_IN_LOG = re.compile(r"column '(\w+)' .*\bblob_storage_type\b.* incompatible", re.DOTALL)
_REFUSED = re.compile(
    r"AccessDenied|Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|ACCESS_DENIED"
)
_UNREACHABLE = re.compile(
    r"(?i)error sending request|after \d+ retries|could ?n.t connect|NETWORK_CONNECTION"
)


@dataclass(frozen=True, slots=True)
class Scan:
    """Which rows a read gives: those of the snapshot of the commit requested at `as_of` (empty: the newest),
    of them the ones that commits requested later than `after` wrote, and base files only if `read_optimized`.
    """

    as_of: str = ""
    after: str = ""
    read_optimized: bool = False

    def build_options(self, columns: Sequence[str] | None, filters: Sequence[Filter] = ()) -> HudiReadOptions:
        """The same for hudi-rs."""
        written = [(COMMIT_TIME, ">", self.after)] if self.after else []
        options = HudiReadOptions(filters=[*filters, *written], projection=_as_list(columns))
        if self.as_of:
            options = options.with_as_of_timestamp(self.as_of)
        if self.read_optimized:
            options = options.with_hudi_option(READ_OPTIMIZED_OPTION, "true")
        return options


NEWEST = Scan()


class SnapshotReader:
    """One look at one table: what was complete when it was first asked. Build another for a newer look.

    Every method but `exists` raises `TableNotFoundError` where no table lies, `TableUnsupportedError`
    where only Spark can read it, and `LakeError` for the rest.
    """

    def __init__(self, table_path: str, storage_options: Mapping[str, str] = NO_OPTIONS) -> None:
        self.path = table_path
        self._uri = to_uri(table_path)
        self._options = dict(storage_options)

    @cached_property
    def hudi_table(self) -> HudiTable:
        """The table as hudi-rs sees it."""
        check_readable(self.path)
        with self.explained():
            return HudiTableBuilder.from_base_uri(self._uri).with_options(self._options).build()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what hudi-rs and the store throw meanwhile into one sentence with a fix."""
        try:
            yield
        except (HeadwaterError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        # hudi-rs exports neither its exception nor that of its panics, which is no `Exception`.
        except BaseException as error:
            raise explain_read_failure(self.path, str(error)) from error

    def open_files(self) -> ArrowFiles:
        """The files of the table."""
        _ = self.hudi_table  # raises where no table lies
        with self.explained():
            return ArrowFiles(self._uri, self._options)

    def reopen(self) -> "SnapshotReader":
        """Another look, at the table as it is then."""
        return SnapshotReader(self.path, self._options)

    def exists(self) -> bool:
        """Whether a table lies at the path, be it empty. Raises `LakeError` when that cannot be told."""
        try:
            return self.hudi_table is not None
        except TableNotFoundError:
            return False

    @property
    def has_partitions_by_time(self) -> bool:
        """Whether partitions hold a time in another form than their column: no filter of that fits them."""
        with self.explained():
            options = self.hudi_table.hudi_options()
        return is_by_time(options.get(TABLE_PROPERTY_KEYS["key_generator_type"], ""))

    @cached_property
    def schema(self) -> pa.Schema:
        """All columns, Hudi's own first; none before the first commit."""
        if not self._instants:
            return pa.schema([])
        with self.explained():
            schema = self.hudi_table.get_schema_with_meta_fields()
            if not may_have_types(schema):
                return schema
            return describe_schema(schema, find_logical_types(self.hudi_table.get_schema_in_avro_str()))

    def read(
        self,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
        *,
        as_of: str = "",
    ) -> pa.Table:
        """The newest snapshot. `filters` are `(column, operator, value)`, all of which must hold; operators
        are =, !=, <, <=, >, >=, in and not in (values split at commas).

        `as_of`: the snapshot of the commit requested then. That is only whole from `find_earliest_retained`
        on: of older ones rows are missing, and nothing tells.
        """
        return self._read(Scan(as_of).build_options(columns, filters or ()), columns)

    def read_scan(self, scan: Scan, columns: Sequence[str] | None = None) -> pa.Table:
        """Raises `InstantUnavailableError` when a clean takes files of that snapshot meanwhile."""
        # Rows are left out by a column that has to be read.
        read = None if columns is None else list(dict.fromkeys((*columns, COMMIT_TIME)))
        table = self._read(scan.build_options(read), read)
        self.check_retained(scan)
        return table if columns is None else table.select(list(columns))

    def check_retained(self, scan: Scan) -> None:
        """Raises `InstantUnavailableError` when the snapshot of the scan has lost files by now."""
        if scan.as_of and scan.as_of < (earliest := self.find_earliest_retained()):
            raise InstantUnavailableError(
                f"{self.path}: files of the snapshot of {scan.as_of} have been cleaned away meanwhile",
                hint=f"the oldest commit that is still whole is {earliest}",
            )

    def list_slices(self) -> list[HudiFileSlice]:
        """The newest slice of each file group: its base file and the logs on top of it."""
        with self.explained():
            return list(self.hudi_table.get_file_slices(HudiReadOptions()))

    def list_pending(self, action: Literal["compaction", "clustering"]) -> tuple[str, ...]:
        """Requested times of what is planned and not complete, oldest first."""
        with self.explained():
            return self._load_timeline().list_pending(action)

    def find_earliest_retained(self) -> str:
        """Requested time of the oldest commit whose snapshot no clean has taken files from, as of now, cleans
        under way included; empty when nothing was ever cleaned."""
        if not self._instants:
            return ""
        with self.explained():
            return self._load_timeline().find_earliest_retained()

    def read_since(self, completed: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Newest state of the rows written by commits that completed after `completed`.

        Rows of commits which have left the timeline come too when `completed` is older than what is
        left of it: when they completed cannot be told, and twice is better than never. Those that were
        requested more than a day before are left out.
        """
        names = self.commit_names
        if names and completed >= names[0].completed:
            options = HudiReadOptions(projection=_as_list(columns)).with_query_type(HudiQueryType.Incremental)
            return self._read(options.with_start_timestamp(completed), columns)
        begun = _find_day_before(completed)
        read = None if columns is None else list(dict.fromkeys((*columns, COMMIT_TIME)))
        table = self.read(read, [(COMMIT_TIME, ">=", begun)] if begun else None)
        return table if columns is None else table.select(list(columns))

    def count_rows(self) -> int:
        """Rows of the newest snapshot; reads no column."""
        with self.explained():
            return sum(batch.num_rows for batch in self.hudi_table.read(HudiReadOptions(projection=[])))

    def list_commits(self, newest: int | None = None) -> list[Commit]:
        """Completed writes of the active timeline (compaction and clustering, too), oldest first.

        Each costs a read of its metadata; `newest` bounds how many.
        """
        names = self.commit_names[-newest:] if newest else self.commit_names
        return [self._load_commit(name) for name in names]

    def last_commit(self) -> Commit | None:
        """The commit that completed last; None for a table without any."""
        return next(iter(self.list_commits(newest=1)), None)

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Own metadata of the newest commit that carries `key`: other writers' commits do not hide it."""
        found = (self._load_commit(name).own_metadata for name in reversed(self.commit_names))
        return next((metadata for metadata in found if key in metadata), None)

    @cached_property
    def _instants(self) -> dict[str, HudiInstant]:
        with self.explained():
            timeline = self.hudi_table.get_timeline()
            found = (
                *timeline.get_completed_commits(),
                *timeline.get_completed_deltacommits(),
                *timeline.get_completed_replacecommits(),
            )
        return {instant.timestamp: instant for instant in found}

    @cached_property
    def commit_names(self) -> list[Commit]:
        """Completed writes of the active timeline, oldest first, without their metadata."""
        with self.explained():
            return list(self._timeline.commits)

    @cached_property
    def _timeline(self) -> FileTimeline:
        # Its files are listed after the table was opened: what came between belongs to the next look.
        return self._load_timeline(known=self._instants.keys())

    def _load_timeline(self, known: Collection[str] | None = None) -> FileTimeline:
        """The timeline as it is now."""
        files, properties = self.open_files(), TableProperties(self.hudi_table.hudi_options())
        return FileTimeline(FileReader(self.path, files, properties, known))

    def load_commit(self, requested: str) -> Commit:
        """The commit requested then. Raises `KeyError` for none of `commit_names`."""
        return self._load_commit(next(name for name in self.commit_names if name.requested == requested))

    def _load_commit(self, name: Commit) -> Commit:
        with self.explained():
            extra = dict(self._timeline.read_extra_metadata(name))
        extra.pop("schema", None)
        return replace(name, extra_metadata=extra)

    def check_own_rows(self) -> None:
        """Raises `TableUnsupportedError` when rows may lie in files that the table was bootstrapped from:
        hudi-rs does not look there, and gives nulls or fails."""
        if BOOTSTRAPPED_PROPERTY in self.hudi_table.hudi_options():
            with self.explained():
                outside = self.open_files().list_sizes(BOOTSTRAP_INDEX_FOLDER)
            if outside:
                raise TableUnsupportedError(
                    f"{self.path}: rows lie in files that it was bootstrapped from: Spark only",
                    hint="Spark reads it; a bootstrap with `--mode full-record` writes the rows anew",
                )

    def _read(self, options: HudiReadOptions, columns: Sequence[str] | None) -> pa.Table:
        self.check_own_rows()
        schema = self.schema
        if not self._instants:
            # Without a completed commit there are no columns to check the names against, and no rows.
            return pa.schema([(name, pa.null()) for name in columns or ()]).empty_table()
        if columns is not None:
            self._check_columns(columns)
            schema = pa.schema([schema.field(name) for name in columns])
        with self.explained():
            batches = [decode_batch(batch, self.schema) for batch in self.hudi_table.read(options)]
        return pa.Table.from_batches(batches).select(schema.names) if batches else schema.empty_table()

    def _check_columns(self, columns: Sequence[str]) -> None:
        missing = [name for name in columns if name not in self.schema.names]
        if missing:
            raise LakeError(
                f"{self.path}: no column {', '.join(missing)}",
                hint=f"columns: {', '.join(self.schema.names)}",
            )


def is_by_time(key_generator: str) -> bool:
    """Whether that type of Hudi's key generators writes partitions in another form than their column."""
    return key_generator.upper().startswith("TIMESTAMP")


def check_readable(path: str) -> None:
    """Raise `TableUnsupportedError` for a location that only Spark can read."""
    if urlsplit(to_uri(path)).scheme not in READABLE_SCHEMES:
        raise TableUnsupportedError(
            f"{path}: this location can be read by Spark only",
            hint=f"without Spark: a folder, {', '.join(sorted(READABLE_SCHEMES - {''}))}",
        )


def build_absence(path: str) -> TableNotFoundError:
    """The error for a path without a table."""
    return TableNotFoundError(
        f"{path}: no Hudi table lies there",
        hint="tables appear with their first rows: `headwater run --once`",
    )


def explain_read_failure(path: str, text: str) -> LakeError:
    """The error for what hudi-rs or the store said about the table at `path`."""
    first_line = text.partition("\n")[0][:300]
    if "NoSuchBucket" in text:
        return LakeError(f"{path}: there is no such bucket", hint="check `lake` and `lake_storage.endpoint`")
    # Without a name the properties are empty: the table is being made, or its maker died.
    if "properties not found" in text or f"'{TABLE_NAME_PROPERTY}' not found" in text:
        return build_absence(path)
    if _REFUSED.search(text):
        return LakeError(
            f"{path}: access is denied: {first_line}",
            hint="check AWS_PROFILE or AWS_ACCESS_KEY_ID, the clock, and the rights to list and read there",
        )
    if _UNREACHABLE.search(text):
        return LakeError(
            f"{path}: the store does not answer: {first_line}",
            hint="check the network, `lake_storage.endpoint` and `lake_storage.region`",
        )
    if blob := _BLOB_IN_LOG.search(text):
        return TableUnsupportedError(
            f"{path}: blobs of column {blob[1]} lie in log files, which only Spark can read",
            hint="Spark can read it; a compaction takes them out of the log files",
        )
    if damage := explain_damage(path, text):
        return damage
    if _UNSUPPORTED.search(text):
        return TableUnsupportedError(f"{path}: {first_line}", hint="Spark can read it")
    return LakeError(f"{path}: {first_line}", hint="`headwater doctor` checks the lake")


def to_uri(path: str) -> str:
    """What hudi-rs and pyarrow take: an absolute folder, or a URL whose scheme it knows."""
    scheme, separator, rest = path.partition("://")
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    if not separator:
        return str(Path(path).absolute())
    return f"s3://{rest}" if scheme == "s3a" else path


def _find_day_before(instant: str) -> str:
    """The beginning of the day before that of an instant; empty where the text is no time."""
    try:
        day = datetime.strptime(instant[:8], "%Y%m%d") - timedelta(days=1)
    except (ValueError, OverflowError):
        return ""
    return f"{day:%Y%m%d}000000000"


def _as_list(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)
