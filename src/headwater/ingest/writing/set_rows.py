"""The rows to write so that a table becomes equal to a set of files, or gets a new version of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.config.table import TableConfig
from headwater.config.table.fields import VALIDITY
from headwater.errors import TransformError
from headwater.ingest.lineage import LINEAGE_COLUMNS, OBJECT, ROW
from headwater.ingest.writing.difference import align, build_difference, subtract, subtract_equal
from headwater.ingest.writing.record_keys import keep_last
from headwater.lake.options import DELETED

VALID_FROM, VALID_TO, IS_CURRENT = VALIDITY


@dataclass(frozen=True, slots=True)
class SetVersion:
    """`time` is the one at which the rows of the set become valid. `keeps_missing`: rows that the set lacks
    stay, as some of its records could not be read.
    """

    time: datetime
    keeps_missing: bool


class SetDifference:
    """The difference of a table to the rows of a set, persisted while the context is open.

    `rows` are those to write, None without any; `keys` is the number of different keys in the set.
    """

    rows: DataFrame | None
    keys: int

    def __init__(
        self,
        config: TableConfig,
        identity: Sequence[str],
        rows: DataFrame,
        stored: DataFrame | None,
        version: SetVersion,
    ) -> None:
        self._config = config
        self._identity = identity
        self._version = version
        self._frames: list[DataFrame] = []
        self._new, self._stored = rows, stored

    def __enter__(self) -> "SetDifference":
        try:
            found = self._persist(self._compare(self._take_rows()))
            self.rows = None if found.isEmpty() else found
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    def _take_rows(self) -> DataFrame:
        """Return one row per key, and count them."""
        key = F.struct(*(F.col(f"`{name}`") for name in self._identity))
        counts = self._new.agg(F.count("*"), F.countDistinct(key)).first()
        rows, self.keys = counts if counts else (0, 0)
        if rows == self.keys:
            # Counting keys moves them alone; a search for the last row moves whole rows.
            return self._new
        return self._persist(_keep_last(self._config, self._identity, self._new))

    def _persist(self, frame: DataFrame) -> DataFrame:
        self._frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def _release(self) -> None:
        while self._frames:
            self._frames.pop().unpersist()

    def _compare(self, new: DataFrame) -> DataFrame:
        if self._config.history is not None:
            return self._build_versions(new)
        found = build_difference(new, self._stored, self._identity, ignored=LINEAGE_COLUMNS)
        if self._version.keeps_missing and self._stored is not None:
            found = found.where(F.col(DELETED).isNull())
        return found

    def _build_versions(self, new: DataFrame) -> DataFrame:
        """Return new versions of rows, and versions that end with this set.

        A set that is applied again with the same time replaces its own versions.
        """
        _check_names(new)
        time = F.lit(self._version.time).cast("timestamp")
        if self._stored is None:
            return _begin(new, time)
        # Only the newest versions can change.
        current = self._stored.where(F.col(IS_CURRENT)).drop(VALID_TO, IS_CURRENT)
        new, old = align(new, current)
        ignored = (*LINEAGE_COLUMNS, VALID_FROM)
        begun = _begin(subtract_equal(new, old, ignored), time)
        ended = subtract_equal(old, new, ignored)
        if self._version.keeps_missing:
            ended = subtract(ended, subtract(ended, new, self._identity), self._identity)
        return begun.unionByName(_end(ended, begun, self._identity, time))


def choose_current(stored: DataFrame, config: TableConfig) -> DataFrame:
    """Return the newest version of each row, without the columns of its validity."""
    return stored if config.history is None else stored.where(F.col(IS_CURRENT)).drop(*VALIDITY)


def compare_with_set(
    config: TableConfig, identity: Sequence[str], rows: DataFrame, stored: DataFrame
) -> DataFrame:
    """Return the rows of a set that the table lacks, and rows that only the table has, marked as deleted."""
    return build_difference(_keep_last(config, identity, rows), stored, identity, ignored=LINEAGE_COLUMNS)


def _keep_last(config: TableConfig, identity: Sequence[str], rows: DataFrame) -> DataFrame:
    """Keep one row per key: of the highest `ordering`, then the last in the order of files."""
    return keep_last(rows, identity, (*config.ordering, OBJECT, ROW))


def _check_names(new: DataFrame) -> None:
    taken = {name.lower() for name in new.columns} & set(VALIDITY)
    if taken:
        raise TransformError(
            f"`history: scd2` adds the column {sorted(taken)[0]!r}, which the objects have already",
            hint="rename the objects' column with a transform: `rename: {valid_from: ...}`",
        )


def _begin(rows: DataFrame, time: Column) -> DataFrame:
    return rows.withColumns(
        {
            VALID_FROM: time,
            VALID_TO: F.lit(None).cast("timestamp"),
            IS_CURRENT: F.lit(True),
            DELETED: F.lit(None).cast("boolean"),
        }
    )


def _end(ended: DataFrame, begun: DataFrame, identity: Sequence[str], time: Column) -> DataFrame:
    """Return the versions with their end; those that began with the same set are deleted or replaced."""
    earlier = ended.where(F.col(VALID_FROM) < time).withColumns(
        {VALID_TO: time, IS_CURRENT: F.lit(False), DELETED: F.lit(None).cast("boolean")}
    )
    same = subtract(ended.where(F.col(VALID_FROM) >= time), begun, identity).withColumns(
        {
            VALID_TO: F.lit(None).cast("timestamp"),
            IS_CURRENT: F.lit(True),
            DELETED: F.when(F.lit(True), F.lit(True)),
        }
    )
    return earlier.unionByName(same)
