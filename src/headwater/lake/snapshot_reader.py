"""Reads rows, commits and commit metadata of Hudi tables without a JVM, through hudi-rs.

Supports table versions 6 (rows only), 8 and 9, copy-on-write and merge-on-read, in a folder or an object
store.
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

from headwater.config.azure_account import AZURE_SCHEMES, parse_azure_address
from headwater.errors import (
    HeadwaterError,
    InstantUnavailableError,
    LakeError,
    TableNotFoundError,
    TableUnsupportedError,
)
from headwater.lake.failures import explain_corruption
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
"""The column with the requested time of the commit that wrote the row."""
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
READABLE_SCHEMES = frozenset({"", "s3", "gs", "az", "azure", "abfs", "abfss"})

_UNSUPPORTED = re.compile(
    r"(?i)unsupported|not (yet )?(supported|implemented)|only support|no reader here implements"
    # The schema's JSON parser is limited to 128 levels, which about thirty nested structs reach.
    r"|partition\.fields` is not present|failed to parse schema from JSON"
)
_BLOB_IN_LOG = re.compile(r"column '(\w+)' .*\bblob_storage_type\b.* incompatible", re.DOTALL)
_EMPTY_COMMIT = re.compile(r"Commit metadata error: .*failed to fill whole buffer", re.DOTALL)
REFUSED = re.compile(
    r"AccessDenied|Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|ACCESS_DENIED"
    r"|Unauthorized|PERMISSION_DENIED|UNAUTHENTICATED"
)
UNREACHABLE = re.compile(
    r"(?i)error (while )?sending request|after \d+ retries|could ?n.t (connect|resolve)|NETWORK_CONNECTION"
    r"|\(UNAVAILABLE"
)


_NO_COMMIT = "No completed commit"
"""What hudi-rs says of a table without a commit."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows to read, from the snapshot of the commit requested at `as_of` (empty: the latest).

    `after` keeps only rows written by commits requested later. `read_optimized` reads only base files.
    """

    as_of: str = ""
    after: str = ""
    read_optimized: bool = False

    def build_options(self, columns: Sequence[str] | None, filters: Sequence[Filter] = ()) -> HudiReadOptions:
        """Build the read options of hudi-rs for this scan."""
        written = [(COMMIT_TIME, ">", self.after)] if self.after else []
        options = HudiReadOptions(filters=[*filters, *written], projection=_as_list(columns))
        if self.as_of:
            options = options.with_as_of_timestamp(self.as_of)
        if self.read_optimized:
            options = options.with_hudi_option(READ_OPTIMIZED_OPTION, "true")
        return options


NEWEST = Scan()


class SnapshotReader:
    """A snapshot reader of one table, fixed at its first access. Create another reader for a later snapshot.

    Every method except `exists` raises `TableNotFoundError` without a table, `TableUnsupportedError` if only
    Spark can read it, and `LakeError` for other failures.
    """

    def __init__(self, table_path: str, storage_options: Mapping[str, str] = NO_OPTIONS) -> None:
        self.path = table_path
        self._uri = to_uri(table_path)
        self._options = dict(storage_options)

    @cached_property
    def hudi_table(self) -> HudiTable:
        """The table in hudi-rs."""
        check_readable(self.path)
        with self.explained():
            return (
                HudiTableBuilder.from_base_uri(_find_hudi_uri(self._uri)).with_options(self._options).build()
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Convert exceptions of hudi-rs and the store in this context to errors with a hint."""
        try:
            yield
        except (HeadwaterError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        # hudi-rs does not export its exceptions, and its panics are no `Exception`.
        except BaseException as error:
            raise explain_read_failure(self.path, str(error)) from error

    def open_files(self) -> ArrowFiles:
        """Open the table's files."""
        _ = self.hudi_table  # raises without a table
        with self.explained():
            return ArrowFiles(self._uri, self._options)

    def reopen(self) -> "SnapshotReader":
        """Return a new reader of the then-current table."""
        return SnapshotReader(self.path, self._options)

    def exists(self) -> bool:
        """True if a table exists at the path, even if empty. Raises `LakeError` if that is unknown."""
        try:
            return self.hudi_table is not None
        except TableNotFoundError:
            return False

    @property
    def has_partitions_by_time(self) -> bool:
        """True if partition paths format times unlike their column, so that filters cannot prune them."""
        with self.explained():
            options = self.hudi_table.hudi_options()
        return is_by_time(options.get(TABLE_PROPERTY_KEYS["key_generator_type"], ""))

    @cached_property
    def schema(self) -> pa.Schema:
        """All columns, Hudi's own first; empty before the first commit."""
        if not self._instants:
            return pa.schema([])
        with self.explained():
            schema = self._read_schema()
            if not may_have_types(schema):
                return schema
            return describe_schema(schema, find_logical_types(self.hudi_table.get_schema_in_avro_str()))

    def _read_schema(self) -> pa.Schema:
        try:
            return self.hudi_table.get_schema_with_meta_fields()
        # hudi-rs does not export its exceptions.
        except Exception as error:
            if _NO_COMMIT not in str(error):
                raise
            # The first commit completed after the table was opened: only the list of commits has it.
            del self.__dict__["hudi_table"]
            return self.hudi_table.get_schema_with_meta_fields()

    def read(
        self,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
        *,
        as_of: str = "",
    ) -> pa.Table:
        """Read the latest snapshot, or that of the commit requested at `as_of`.

        `filters` are `(column, operator, value)`, combined with AND. Operators are =, !=, <, <=, >, >=, in
        and not in (comma-separated values). Snapshots before `find_earliest_retained` silently lack rows.
        """
        return self._read(Scan(as_of).build_options(columns, filters or ()), columns)

    def read_scan(self, scan: Scan, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the rows of a scan.

        Raises `InstantUnavailableError` if a clean deletes files of the snapshot during the read.
        """
        # The filter needs the column of commit times.
        read = None if columns is None else list(dict.fromkeys((*columns, COMMIT_TIME)))
        table = self._read(scan.build_options(read), read)
        self.check_retained(scan)
        return table if columns is None else table.select(list(columns))

    def check_retained(self, scan: Scan) -> None:
        """Raise `InstantUnavailableError` if files of the scan's snapshot have been cleaned."""
        if scan.as_of and scan.as_of < (earliest := self.find_earliest_retained()):
            raise InstantUnavailableError(
                f"{self.path}: files of the snapshot of {scan.as_of} have been cleaned during the read",
                hint=f"the oldest commit with a complete snapshot is {earliest}",
            )

    def list_slices(self, scan: Scan = NEWEST) -> list[HudiFileSlice]:
        """List the scan's file slice of each file group: its base file and log files.

        Of an earlier snapshot, later log files are listed, too; `read_slices` skips their rows.
        """
        with self.explained():
            return list(self.hudi_table.get_file_slices(scan.build_options(None)))

    def read_slices(
        self, slices: Sequence[HudiFileSlice], scan: Scan, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Read the rows of a scan in some of its file slices.

        Raises `InstantUnavailableError` if a clean deletes files of the snapshot during the read.
        """
        names = self.schema.names if columns is None else columns
        schema = pa.schema([self.schema.field(name) for name in names])
        options = scan.build_options(list(dict.fromkeys((*names, COMMIT_TIME))))
        self.check_own_rows()
        with self.explained():
            reader = self.hudi_table.create_file_group_reader_with_options(options)
            batches = [
                decode_batch(batch, self.schema).select(names)
                for one in slices
                for batch in reader.read_file_slice_stream(one, options)
            ]
        self.check_retained(scan)
        return pa.Table.from_batches(batches, schema) if batches else schema.empty_table()

    def list_pending(self, action: Literal["compaction", "clustering"]) -> tuple[str, ...]:
        """Return the requested times of pending actions, oldest first."""
        with self.explained():
            return self._load_timeline().list_pending(action)

    def find_earliest_retained(self) -> str:
        """Return the requested time of the oldest commit with a complete snapshot; empty without cleans.

        Includes cleans that are still running.
        """
        if not self._instants:
            return ""
        with self.explained():
            return self._load_timeline().find_earliest_retained()

    def read_since(self, completed: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the latest state of rows written by commits that completed after `completed`.

        If `completed` is before the active timeline, archived commits have unknown completion times. Their
        rows are then included, possibly duplicated, if requested at most about a day before `completed`.
        """
        names = self.commit_names
        if names and completed >= names[0].completed:
            options = HudiReadOptions(projection=_as_list(columns)).with_query_type(HudiQueryType.Incremental)
            return self._read(options.with_start_timestamp(completed), columns)
        begun = _find_previous_day(completed)
        read = None if columns is None else list(dict.fromkeys((*columns, COMMIT_TIME)))
        table = self.read(read, [(COMMIT_TIME, ">=", begun)] if begun else None)
        return table if columns is None else table.select(list(columns))

    def count_rows(self) -> int:
        """Count the rows of the latest snapshot without reading columns."""
        with self.explained():
            return sum(batch.num_rows for batch in self.hudi_table.read(HudiReadOptions(projection=[])))

    def list_commits(self, newest: int | None = None) -> list[Commit]:
        """List completed writes of the active timeline, including compaction and clustering, oldest first.

        Reads the metadata of each commit; `newest` limits their number.
        """
        names = self.commit_names[-newest:] if newest else self.commit_names
        return [self._load_commit(name) for name in names]

    def last_commit(self) -> Commit | None:
        """Return the commit that completed last; None without commits."""
        return next(iter(self.list_commits(newest=1)), None)

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Return headwater's metadata of the latest commit with `key`, skipping commits of other writers."""
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
        # List the files after opening the table, and ignore later commits: they belong to the next snapshot.
        return self._load_timeline(known=self._instants.keys())

    def _load_timeline(self, known: Collection[str] | None = None) -> FileTimeline:
        """Load the current timeline."""
        files, properties = self.open_files(), TableProperties(self.hudi_table.hudi_options())
        return FileTimeline(FileReader(self.path, files, properties, known))

    def load_commit(self, requested: str) -> Commit:
        """Load the commit requested at that time. Raises `KeyError` if it is not in `commit_names`."""
        return self._load_commit(next(name for name in self.commit_names if name.requested == requested))

    def _load_commit(self, name: Commit) -> Commit:
        with self.explained():
            extra = dict(self._timeline.read_extra_metadata(name))
        extra.pop("schema", None)
        return replace(name, extra_metadata=extra)

    def check_own_rows(self) -> None:
        """Raise `TableUnsupportedError` if rows may be in bootstrap source files.

        hudi-rs does not read those and returns nulls or fails.
        """
        if BOOTSTRAPPED_PROPERTY in self.hudi_table.hudi_options():
            with self.explained():
                outside = self.open_files().list_sizes(BOOTSTRAP_INDEX_FOLDER)
            if outside:
                raise TableUnsupportedError(
                    f"{self.path}: some rows are stored in bootstrap source files, which only Spark can read",
                    hint="Spark can read it; a bootstrap with `--mode full-record` rewrites the rows",
                )

    def _read(self, options: HudiReadOptions, columns: Sequence[str] | None) -> pa.Table:
        self.check_own_rows()
        schema = self.schema
        if not self._instants:
            # Without a completed commit, there are no rows, and no columns to validate names against.
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
    """True if this key generator type writes partition values in another format than their column."""
    return key_generator.upper().startswith("TIMESTAMP")


def check_readable(path: str) -> None:
    """Raise `TableUnsupportedError` for a location that only Spark can read."""
    if urlsplit(to_uri(path)).scheme not in READABLE_SCHEMES:
        raise TableUnsupportedError(
            f"{path}: only Spark can read this location",
            hint=f"readable without Spark: a folder, {', '.join(sorted(READABLE_SCHEMES - {''}))}",
        )


def build_absence(path: str) -> TableNotFoundError:
    """Build the error for a path without a table."""
    return TableNotFoundError(
        f"{path}: no Hudi table exists there",
        hint="a table is created with its first rows: `headwater run --once`",
    )


def explain_read_failure(path: str, text: str) -> LakeError:
    """Build the error for a message of hudi-rs or the store about the table at `path`."""
    first_line = text.partition("\n")[0][:300]
    if "NoSuchBucket" in text:
        return LakeError(
            f"{path}: the bucket does not exist", hint="check `lake` and `lake_storage.endpoint`"
        )
    # Properties without a table name are empty: the table is being created, or its creator died.
    if "properties not found" in text or f"'{TABLE_NAME_PROPERTY}' not found" in text:
        return build_absence(path)
    if REFUSED.search(text):
        return LakeError(
            f"{path}: access denied: {first_line}",
            hint=f"check {name_credentials(path)}, the clock, and the permissions to list and read there",
        )
    if UNREACHABLE.search(text):
        return LakeError(
            f"{path}: the store does not answer: {first_line}",
            hint="check the network, `lake_storage.endpoint` and `lake_storage.region`",
        )
    for explain in (_explain_empty_commit, _explain_blob, explain_corruption):
        if error := explain(path, text):
            return error
    if _UNSUPPORTED.search(text):
        return TableUnsupportedError(f"{path}: {first_line}", hint="Spark can read it")
    return LakeError(f"{path}: {first_line}", hint="`headwater doctor` checks the lake")


def _explain_empty_commit(path: str, text: str) -> LakeError | None:
    # In Azure, a file is visible before its content.
    if not path.startswith(AZURE_SCHEMES) or not _EMPTY_COMMIT.search(text):
        return None
    return LakeError(
        f"{path}: its newest commit is incomplete: it is being written, or its writer was killed",
        hint="repeat the command; after a kill, start `headwater run` first, which removes the commit",
    )


def _explain_blob(path: str, text: str) -> TableUnsupportedError | None:
    blob = _BLOB_IN_LOG.search(text)
    if blob is None:
        return None
    return TableUnsupportedError(
        f"{path}: blobs of column {blob[1]} are stored in log files, which only Spark can read",
        hint="Spark can read it; a compaction moves them to base files",
    )


def name_credentials(url: str) -> str:
    """Return where the credentials for a URL come from."""
    if url.startswith("gs://"):
        return "GOOGLE_APPLICATION_CREDENTIALS or `gcloud auth application-default login`"
    if url.startswith(AZURE_SCHEMES):
        return "AZURE_STORAGE_KEY or the roles of the identity"
    return "AWS_PROFILE or AWS_ACCESS_KEY_ID"


def to_uri(path: str) -> str:
    """Return the form that hudi-rs and pyarrow accept: an absolute folder, or a URL with a known scheme."""
    scheme, separator, rest = path.partition("://")
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    if not separator:
        return str(Path(path).absolute())
    return f"s3://{rest}" if scheme == "s3a" else path


def _find_hudi_uri(uri: str) -> str:
    """Return the form of `to_uri` that hudi-rs accepts: it knows only the hosts of Azure's public cloud."""
    address = parse_azure_address(uri)
    return uri if address is None else f"az://{address.container}{urlsplit(uri).path}"


def _find_previous_day(instant: str) -> str:
    """Return midnight of the previous day of an instant; empty if the text is no time."""
    try:
        day = datetime.strptime(instant[:8], "%Y%m%d") - timedelta(days=1)
    except (ValueError, OverflowError):
        return ""
    return f"{day:%Y%m%d}000000000"


def _as_list(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)
