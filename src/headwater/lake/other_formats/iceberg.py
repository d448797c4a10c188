"""Reads Iceberg tables with Iceberg's own data source in the session, without a catalog."""

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from headwater.lake.jvm import activate_session, explained_lake, list_file_states
from headwater.lake.other_formats.history import History
from headwater.lake.other_formats.iceberg_files import (
    METADATA_FOLDER,
    Metadata,
    build_absence,
    find_newest,
    parse_metadata,
    split_address,
)
from headwater.lake.other_formats.protocol import COUNT, count_rows
from headwater.lake.queries.spark import SparkFiles

_CHANGE = "_change_type"
_OWN_COLUMNS = (_CHANGE, "_change_ordinal", "_commit_snapshot_id")


class IcebergTable:
    """`VersionedTable` of an Iceberg table, in a folder or of a catalog.

    The newest metadata file is read, whether or not a catalog has committed it: if not, its snapshot is
    missing in the following history, and the table is read again as a whole.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        self._folder, self._only = split_address(path)
        self._files = SparkFiles(spark, self._folder)
        self._current: tuple[str, str] = ("", "")
        self._metadata: Metadata | None = None

    @property
    def path(self) -> str:
        """See `VersionedTable.path`."""
        return self._path

    def load_history(self) -> History:
        """See `VersionedTable.load_history`. Lists metadata files, and reads one only if it is another."""
        return self._load().history

    def _load(self) -> Metadata:
        states = list_file_states(self._spark, f"{self._folder}/{METADATA_FOLDER}")
        name = (self._only if self._only in states else None) if self._only else find_newest(states)
        if name is None:
            raise build_absence(self._path)
        if self._metadata is None or self._current != (name, states[name]):
            file = f"{METADATA_FOLDER}/{name}"
            self._metadata = parse_metadata(f"{self._folder}/{file}", self._files.read(file))
            self._current = name, states[name]
        return self._metadata

    def _open(self) -> Metadata:
        return self._metadata if self._metadata is not None else self._load()

    @property
    def _address(self) -> str:
        """The metadata file of the last history: later commits do not change what it lists."""
        self._open()
        return f"{self._folder}/{METADATA_FOLDER}/{self._current[0]}"

    def has_same_columns(self, one: str, other: str) -> bool:
        """See `VersionedTable.has_same_columns`.

        Rows are read with the current columns, which may be newer than the newest version.
        """
        metadata = self._open()
        if metadata.schema_id is None:
            return True
        schemas = {s.schema_id for s in metadata.snapshots if s.version in (one, other)}
        return schemas == {metadata.schema_id}

    def _begin_read(self) -> DataFrameReader:
        # Iceberg defines its catalog for addresses in the thread's active session. Spark looks it up there.
        activate_session(self._spark)
        return self._spark.read.format("iceberg")

    def read(self, version: str = "") -> DataFrame:
        """See `VersionedTable.read`."""
        reader = self._begin_read()
        with explained_lake(self._path):
            return (reader.option("snapshot-id", version) if version else reader).load(self._address)

    def read_changes(self, after: str, upto: str) -> DataFrame:
        """See `VersionedTable.read_changes`."""
        if self._has_delete_files(after, upto):
            # Iceberg's changelog does not support them.
            return count_rows(self.read(upto), self.read(after))
        reader = self._begin_read().option("start-snapshot-id", after)
        with explained_lake(self._path):
            log = reader.option("end-snapshot-id", upto).load(f"{self._address}#changes")
        # Iceberg cannot filter by its own column, so that both kinds are read at once.
        return log.withColumn(COUNT, F.when(F.col(_CHANGE) == "INSERT", 1).otherwise(-1)).drop(*_OWN_COLUMNS)

    def _has_delete_files(self, after: str, upto: str) -> bool:
        snapshots = self._open().snapshots
        versions = [snapshot.version for snapshot in snapshots]
        return any(s.has_delete_files for s in snapshots[versions.index(after) : versions.index(upto) + 1])
