"""The deletes of tables of changes: an older change that arrives later must not bring a row back.

Hudi forgets a delete: at once in a copy-on-write table, at the next compaction in a merge-on-read table.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from headwater.ingest.changes.effects import ChangeEffects
from headwater.lake.keyed_table import KeyedTable, RowKey, Sizes
from headwater.lake.local_frames import build_frame

TOMBSTONE_SCHEMA = StructType(
    [
        StructField("table", StringType(), nullable=False),
        StructField("key", StringType(), nullable=False),
        StructField("sequence", StringType()),
        StructField("deleted_at", TimestampType()),
    ]
)

_PURGE_SECONDS = 6 * 3600.0
"""Between two searches for deletes that are too old, which read all of a table's deletes."""


@dataclass(frozen=True, slots=True)
class TombstoneState:
    """`newest` is the highest sequence of a delete, `truncated` that of a truncate, `purged` the highest that
    was forgotten; empty without one. `checked` is when old deletes were last looked for, in seconds."""

    newest: str = ""
    truncated: str = ""
    purged: str = ""
    checked: float = 0.0


class TombstoneTable:
    """The deletes of all tables of changes of a lake, and each table's state. Used by any thread."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self._table = KeyedTable(
            spark,
            path,
            "tombstones",
            TOMBSTONE_SCHEMA,
            RowKey(("key",), ("table",), ordering=("sequence",)),
            Sizes(compacts_rarely=True),
        )

    def create(self) -> None:
        """Create the table unless it exists. Raises `LakeError`."""
        self._table.create()

    def load_state(self, name: str) -> TombstoneState:
        """Return the state of one table. Raises `LakeError`."""
        timeline = self._table.load_timeline()
        found = timeline.find_metadata(_name_state(name)) if timeline.exists() else None
        return TombstoneState(**json.loads(found[_name_state(name)])) if found else TombstoneState()

    def write(self, name: str, rows: DataFrame | None, state: TombstoneState) -> None:
        """Commit deletes (`key`, `sequence`, `deleted_at`) and the state. Raises `LakeError`."""
        if rows is None:
            frame = build_frame(self.spark, [], TOMBSTONE_SCHEMA)
        else:
            frame = rows.select(F.lit(name).alias("table"), "key", "sequence", "deleted_at")
        self._table.write_frame(frame, _to_metadata(name, state), unique_keys=True)

    def read(self, name: str) -> DataFrame | None:
        """Return the deletes of one table; None if there are none. Raises `LakeError`."""
        frame = self._table.read()
        return None if frame is None else frame.where(F.col("table") == name)

    def remove(self, name: str, rows: DataFrame, state: TombstoneState) -> None:
        """Remove deletes, and commit the state. Raises `LakeError`."""
        self._table.delete_frame(rows, _to_metadata(name, state))


def _name_state(name: str) -> str:
    return f"tombstones.{name}"


def _to_metadata(name: str, state: TombstoneState) -> Mapping[str, str]:
    return {_name_state(name): json.dumps(asdict(state))}


class Tombstones:
    """The deletes of one table; `keep` is how long they are remembered. Used by one thread."""

    def __init__(self, name: str, table: TombstoneTable, keep: timedelta) -> None:
        self._name = name
        self._table = table
        self._keep = keep
        self._interval = min(_PURGE_SECONDS, keep.total_seconds())
        self._state: TombstoneState | None = None

    @property
    def state(self) -> TombstoneState:
        """The committed state, cached. Raises `LakeError`."""
        if self._state is None:
            self._state = self._table.load_state(self._name)
        return self._state

    def forget(self) -> None:
        """Load the state again: the last commit may have failed."""
        self._state = None

    def read(self) -> DataFrame:
        """Return the deletes, of `TOMBSTONE_SCHEMA`. Raises `LakeError`."""
        found = self._table.read(self._name)
        return build_frame(self._table.spark, [], TOMBSTONE_SCHEMA) if found is None else found

    def find_superseded(self, changes: DataFrame) -> DataFrame:
        """Return the `changes` (with `key` and `sequence`) whose row was deleted later.

        Raises `LakeError`.
        """
        deletes = self.read()
        later = deletes.select(F.col("key").alias("deleted_key"), F.col("sequence").alias("deleted_sequence"))
        is_later = (F.col("key") == F.col("deleted_key")) & (F.col("sequence") < F.col("deleted_sequence"))
        return changes.join(later, on=is_later, how="left_semi")

    def record(self, effects: ChangeEffects, now: datetime) -> None:
        """Commit the deletes of a batch, before its rows; make no commit if it has none.

        Raises `LakeError`.
        """
        if effects.deletes is None and not effects.truncated:
            return
        seconds = now.timestamp()
        is_due = bool(self.state.checked) and seconds - self.state.checked >= self._interval
        state = replace(
            self.state,
            newest=max(self.state.newest, effects.newest),
            truncated=max(self.state.truncated, effects.truncated),
            checked=seconds if is_due or not self.state.checked else self.state.checked,
        )
        rows = effects.deletes
        if rows is not None:
            rows = rows.withColumn("deleted_at", F.lit(now).cast("timestamp"))
        self._state = None
        self._table.write(self._name, rows, state)
        self._state = state
        if is_due:
            self._purge(now)

    def _purge(self, now: datetime) -> None:
        """Forget deletes that are too old."""
        old = self.read().where(F.col("deleted_at") < F.lit(now - self._keep).cast("timestamp"))
        found = old.agg(F.max("sequence")).first()
        newest = found[0] if found else None
        if newest is not None:
            state = replace(self.state, purged=max(self.state.purged, newest))
            self._state = None
            self._table.remove(self._name, old, state)
            self._state = state


def build_key(names: tuple[str, ...], record: Column | None = None) -> Column:
    """Build the text that identifies a row by its record key: from the columns of a frame, or of a struct."""
    parts = []
    for name in names:
        value = F.col(f"`{name}`") if record is None else record.getField(name)
        text = F.coalesce(value.cast("string"), F.lit("\0"))
        parts.append(F.concat(F.lit(f"{name}="), text))
    return F.concat_ws("\t", *parts)
