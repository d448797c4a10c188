"""Reads Delta tables with Delta's own classes in the session."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.jvm import (
    connect,
    explained_lake,
    list_file_states,
    open_delta_log,
    read_delta_files,
)
from headwater.lake.other_formats.delta_files import LOG_FOLDER, build_absence, parse_versions
from headwater.lake.other_formats.history import History
from headwater.lake.other_formats.protocol import count_rows
from headwater.lake.prerequisites.packages import DELTA_VERSION

_UNSUPPORTED = ("DELTA_UNSUPPORTED_FEATURES_FOR_READ", "DELTA_INVALID_PROTOCOL_VERSION")
_PATH, _DELETIONS = "_headwater_path", "_headwater_deletions"


class DeltaTable:
    """`VersionedTable` of a Delta table.

    Two versions are compared by their files, so that a follower reads only files that were added or removed.
    Delta's change data feed would need a setting of the table.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        self._files: Mapping[str, str] = {}
        self._history: History | None = None
        self._log: Any = None
        self._opened: dict[str, Any] = {}

    @property
    def path(self) -> str:
        """See `VersionedTable.path`."""
        return self._path

    def load_history(self) -> History:
        """See `VersionedTable.load_history`. Lists the log, and reads it only if that has changed."""
        files = list_file_states(self._spark, f"{self._path}/{LOG_FOLDER}")
        versions = parse_versions(files)
        if not versions:
            raise build_absence(self._path)
        if self._history is None or files != self._files:
            # Delta reads only what was added to a log that it knows.
            is_replaced = not self._files.items() <= files.items()
            if is_replaced:
                self._opened.clear()
            with self._explained():
                self._log = open_delta_log(self._spark, self._path, is_replaced=is_replaced)
                current = self._update()
                newest = str(current.version())
                known = tuple(version for version in versions if int(version) <= int(newest))
                self._history = History(str(current.metadata().id()), known)
            self._files = files
        return self._history

    def has_same_columns(self, one: str, other: str) -> bool:
        """See `VersionedTable.has_same_columns`."""
        with self._explained():
            schemas = [self._open(version).schema().json() for version in (one, other)]
        return bool(schemas[0] == schemas[1])

    def read(self, version: str = "") -> DataFrame:
        """See `VersionedTable.read`."""
        reader = self._spark.read.format("delta").option("versionAsOf", version or self._find_newest())
        with self._explained():
            return reader.load(self._path)

    def _find_newest(self) -> str:
        history = self._history if self._history is not None else self.load_history()
        return history.versions[-1]

    def read_changes(self, after: str, upto: str) -> DataFrame:
        """See `VersionedTable.read_changes`."""
        with self._explained():
            then, now = self._open(after), self._open(upto)
            return count_rows(self._read_only_in(now, then), self._read_only_in(then, now))

    def _read_only_in(self, one: Any, other: Any) -> DataFrame:
        """Return the rows of files in one snapshot that another lacks, or has with other deleted rows."""
        files, others = (DataFrame(snapshot.allFiles().toDF(), self._spark) for snapshot in (one, other))
        deletions = F.to_json(F.col("deletionVector"))
        known = others.select(F.col("path").alias(_PATH), deletions.alias(_DELETIONS))
        is_known = (F.col("path") == F.col(_PATH)) & deletions.eqNullSafe(F.col(_DELETIONS))
        return read_delta_files(self._log, one, files.join(known, on=is_known, how="left_anti"))

    def _update(self) -> Any:
        absent = connect(self._spark).build_absent()
        return self._log.update(False, absent, absent)

    def _open(self, version: str) -> Any:
        """Return a snapshot. The last two are kept: each costs Delta a Spark job."""
        if version not in self._opened:
            absent = connect(self._spark).build_absent()
            snapshot = self._log.getSnapshotAt(int(version), absent, absent)
            self._opened = {**dict(list(self._opened.items())[-1:]), version: snapshot}
        return self._opened[version]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            with explained_lake(self._path):
                yield
        except LakeError as error:
            if any(sign in str(error.__cause__) for sign in _UNSUPPORTED):
                raise TableUnsupportedError(
                    f"{self._path}: the table has features that Delta {DELTA_VERSION} cannot read: "
                    f"{error.message}",
                    hint="drop the feature from the table, or read a copy without it",
                ) from error
            raise
