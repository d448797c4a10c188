"""Reads and writes a Hudi table with Spark."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, DecimalType

from headwater.errors import LakeError
from headwater.lake.auto_index import sum_partitions
from headwater.lake.failures import has_old_lists
from headwater.lake.jvm import (
    estimate_bytes,
    find_merge_strategy,
    list_data_files,
    measure_folder,
    read_session_settings,
    save,
)
from headwater.lake.options import (
    CHANGELOG_WITH_SEVERAL_WRITERS,
    RecordIndex,
    WriteOptions,
    change_log_read,
    incremental_read,
    list_overridden,
    read_optimized_read,
    skipping_read,
    snapshot_read,
)
from headwater.lake.record_index import read_record_index
from headwater.lake.timeline import Timeline
from headwater.lake.timeline.jvm import clear_unfinished_creation, load_timeline
from headwater.lake.typed_options.differences import check_is_same_table
from headwater.lake.typed_options.locks import keeps_incomplete_writes, read_session_lock
from headwater.lake.typed_options.rendering import BY_SPARK, MERGE_STRATEGY_OPTION, find_merger

_log = logging.getLogger(__name__)


class Table:
    """One Hudi table at one path. Not safe for writers in two threads."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path
        self._was_written = False
        self._writes_by_spark = False
        self._warned = False
        self._lock: Mapping[str, str] | None = None
        self._strategies: dict[str, str] = {}
        self._last_by_archive_file: dict[str, str] = {}

    def load_timeline(self) -> Timeline:
        """Load the current timeline."""
        return load_timeline(self.spark, self.path, self._last_by_archive_file)

    def write(self, frame: DataFrame, options: WriteOptions) -> None:
        """Commit the rows of a frame. Raises `LakeError`; then no row of `frame` is visible.

        The first write checks the existing table. Raises `TableMismatchError` if that is another one.
        """
        hoodie = self._render(options)
        if not self._was_written:
            self._check_existing_table(options.table_name, hoodie)
        self._warn_of_overrides(options)
        self._writes_by_spark |= _needs_spark(frame, options.ordering)
        if not self._was_written and keeps_incomplete_writes(hoodie):
            self._begin_timeline(frame, options)
        self._save(frame, hoodie)
        self._was_written = True

    def _render(self, options: WriteOptions) -> dict[str, str]:
        lock = self._find_lock(options.table_name)
        hoodie = {
            **lock,
            **options.to_hoodie(),
            **(CHANGELOG_WITH_SEVERAL_WRITERS if lock and options.changelog else {}),
        }
        if (merger := find_merger(hoodie)) is not None:
            hoodie[MERGE_STRATEGY_OPTION] = self._find_strategy(merger)
        return hoodie

    def _begin_timeline(self, frame: DataFrame, options: WriteOptions) -> None:
        """Make a first commit without rows, if the table has no commit.

        Hudi takes whatever was written before the first completed commit for archived, and so for committed.
        The rows of a killed first write would appear with the next commit. Source: HUDI-5569.
        """
        if not self.load_timeline().has_commits():
            self._save(frame.limit(0), self._render(replace(options, operation="insert", commit_metadata={})))

    def _save(self, frame: DataFrame, hoodie: Mapping[str, str]) -> None:
        """Commit a frame, with Spark's own Parquet writer if needed, or if a file has old lists."""
        rewrite = {**hoodie, **BY_SPARK} if not BY_SPARK.keys() & hoodie.keys() else None
        if self._writes_by_spark and rewrite:
            save(frame, self.path, rewrite)
            return
        try:
            save(frame, self.path, hoodie)
        except LakeError as error:
            if rewrite is None or not has_old_lists(str(error.__cause__)):
                raise
            _log.warning("%s: rewriting files whose lists have the structure of an older release", self.path)
            self._writes_by_spark = True
            save(frame, self.path, rewrite)

    def _find_lock(self, name: str) -> Mapping[str, str]:
        if self._lock is None:
            self._lock = read_session_lock(read_session_settings(self.spark), name)
        return self._lock

    def _find_strategy(self, merger: str) -> str:
        if merger not in self._strategies:
            self._strategies[merger] = find_merge_strategy(self.spark, merger)
        return self._strategies[merger]

    def _check_existing_table(self, name: str, hoodie: Mapping[str, str]) -> None:
        timeline = self.load_timeline()
        if timeline.exists():
            check_is_same_table(self.path, timeline.read_properties(), hoodie)
        elif clear_unfinished_creation(self.spark, self.path):
            _log.warning("table %s: removed an incomplete table", name)

    def _warn_of_overrides(self, options: WriteOptions) -> None:
        if self._warned:
            return
        self._warned = True
        for key in list_overridden(options.typed_options(), options.extra):
            value = options.extra[key]
            _log.warning("table %s: %s=%s overrides headwater's own setting", options.table_name, key, value)

    def read(self, *, skip_files: bool = False) -> DataFrame:
        """Read the latest snapshot, including Hudi's own columns.

        `skip_files` prunes files by the table's indexes, which is useless for reading all rows.
        """
        options = skipping_read() if skip_files else snapshot_read()
        return self.spark.read.format("hudi").options(**options).load(self.path)

    def read_as_of(self, requested: str) -> DataFrame:
        """Read the snapshot of the commit requested at that time; if it was cleaned, rows are missing."""
        return self.spark.read.format("hudi").options(**snapshot_read(requested)).load(self.path)

    def read_optimized(self) -> DataFrame:
        """Read only base files."""
        return self.spark.read.format("hudi").options(**read_optimized_read()).load(self.path)

    def read_change_log(self, after: str, upto: str) -> DataFrame:
        """Read changes of commits completed in (after, upto]; archived and cleaned commits are omitted."""
        return self.spark.read.format("hudi").options(**change_log_read(after, upto)).load(self.path)

    def has_lock(self, name: str) -> bool:
        """True if other processes may write the table at the same time."""
        return bool(self._find_lock(name))

    def find_record_index(self) -> RecordIndex | None:
        """Return the record index that the table has, None without one or without a table."""
        timeline = self.load_timeline()
        properties = timeline.read_properties() if timeline.exists() else {}
        return read_record_index(self.spark, self.path, properties)

    def estimate_bytes(self) -> int:
        """Return the size in bytes of the files of the latest snapshot. Raises `LakeError`."""
        return estimate_bytes(self.read(), self.path)

    def measure_partitions(self) -> dict[str, int]:
        """Return the bytes of the current base files by partition, in a Spark job. Raises `LakeError`."""
        return sum_partitions(list_data_files(self.spark, self.path))

    def measure_bytes(self) -> int:
        """Return the size in bytes of all files, including older slices and timeline. Raises `LakeError`."""
        return measure_folder(self.spark, self.path)

    def read_commits(self, after: str, upto: str) -> DataFrame:
        """Read the rows of the commits completed in (after, upto]."""
        return self.spark.read.format("hudi").options(**incremental_read(after, upto)).load(self.path)


def _needs_spark(frame: DataFrame, ordering: Collection[str]) -> bool:
    """True if rows are ordered by values that Hudi's Avro records cannot compare on an update."""
    kinds = (field.dataType for field in frame.schema if field.name in ordering)
    return any(isinstance(kind, DecimalType | DateType) for kind in kinds)
