"""Hudi tables as sources: of the lake, and of other programs."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.config.table.outside import is_outside
from headwater.errors import InstantUnavailableError, LakeError, TableNotFoundError, TableUnsupportedError
from headwater.ingest.lineage import SOURCE_KEY
from headwater.lake.queries.change_plan import ChangePlan, plan_changes
from headwater.lake.queries.history import find_cut, find_snapshot
from headwater.lake.queries.history_reader import load_history
from headwater.lake.queries.spark import SparkFiles
from headwater.lake.table import Table
from headwater.lake.transforms.columns import quote
from headwater.medallion.source_tables.protocol import Persist, RowChanges, SourceState

_log = logging.getLogger(__name__)
_RECORD_KEY, _KEY, _NUMBER = "_hoodie_record_key", "_headwater_group_row", "_hoodie_commit_seqno"
"""Hudi assigns the sequence number when a row is written, and preserves it when the file is rewritten."""
_SEPARATOR = "\x1f"


class HudiSource:
    """`SourceTable` of a Hudi table; `source` is its name or address in `from`."""

    def __init__(self, source: str, table: Table) -> None:
        self._source = source
        self._table = table

    @property
    def path(self) -> str:
        """See `SourceTable.path`."""
        return self._table.path

    def plan(self, as_of: str, *, is_same_selection: bool) -> ChangePlan | None:
        """See `SourceTable.plan`."""
        timeline = self._table.load_timeline()
        if is_outside(self._source) and not timeline.exists():
            raise TableNotFoundError(
                f"there is no Hudi table at {self._source}",
                hint="correct `from: {hudi: ...}`: the address of the folder that contains `.hoodie`",
            )
        if not timeline.has_commits():
            return None
        return plan_changes(
            timeline.commits,
            as_of,
            is_same_selection=is_same_selection,
            count_deletes=timeline.count_deletes,
            has_archived=timeline.has_archived,
        )

    def build_key(self) -> Column:
        """See `SourceTable.build_key`. The record key, prefixed by the partition if any."""
        key, partition = F.col("_hoodie_record_key"), F.col("_hoodie_partition_path")
        return F.when(partition == "", key).otherwise(F.concat_ws(_SEPARATOR, partition, key))

    def check_keys(self, rows: DataFrame) -> None:
        """See `SourceTable.check_keys`. Hudi's record keys are unique."""

    def read(self) -> DataFrame:
        """See `SourceTable.read`."""
        return self._table.read()

    def find_state(self, as_of: str) -> SourceState | None:
        """See `SourceTable.find_state`.

        A state never existed on its own if writers overlapped.
        """
        source = self._table
        try:
            history = load_history(source.path, SparkFiles(source.spark, source.path), as_of)
            cut = find_cut(history, as_of)
            # On merge-on-read tables, a custom merger may delete rows when the log is read, and Flink's
            # changelog mode writes deletes as rows. On copy-on-write, a commit counts the rows that it omits
            # from a file.
            counts_deletes = not history.is_merge_on_read
            return SourceState(as_of, find_snapshot(history, cut), counts_deletes) if cut.requested else None
        except (InstantUnavailableError, TableUnsupportedError) as error:
            _log.info("%s", error.message)
            return None
        except ValueError as error:
            raise LakeError(f"{source.path}: a file of the timeline cannot be read: {error}") from error

    def read_state(self, state: SourceState) -> DataFrame:
        """See `SourceTable.read_state`."""
        return self._table.read_as_of(state.snapshot)

    def is_intact(self, state: SourceState) -> bool:
        """See `SourceTable.is_intact`. Hudi omits rows of files that were cleaned."""
        return self.find_state(state.as_of) == state

    def read_changes(self, plan: ChangePlan, known_keys: DataFrame | None, persist: Persist) -> RowChanges:
        """See `SourceTable.read_changes`."""
        written = self._table.read_commits(plan.after, plan.upto)
        touched = written.select(self.build_key().alias(SOURCE_KEY))
        if plan.has_deletes and known_keys is not None:
            present = self.read().select(self.build_key().alias(SOURCE_KEY))
            deleted = known_keys.distinct().join(present, on=SOURCE_KEY, how="left_anti")
            touched = touched.unionByName(deleted)
        return RowChanges(written, touched)

    def find_changed_groups(
        self, plan: ChangePlan, before: SourceState, keys: Sequence[str], persist: Persist
    ) -> DataFrame:
        """See `SourceTable.find_changed_groups`. May include groups of later commits."""
        written = persist(
            self._table.read_commits(before.as_of, plan.upto).select(
                F.col(_RECORD_KEY).alias(_KEY),
                *(quote(name).alias(f"_group_{at}") for at, name in enumerate(keys)),
            )
        )
        then = self.read_state(before)
        if plan.has_deletes or not before.counts_deletes:
            _log.debug("%s: comparing two states, because rows may have been deleted", self.path)
            changed = self._find_changed(then, self.read())
        else:
            # Every other row is unchanged. Once the size of the written keys is known, Spark broadcasts them
            # if they are few, instead of shuffling the whole state. The partition is omitted: a row may have
            # moved.
            written.count()
            changed = then.withColumn(_KEY, F.col(_RECORD_KEY)).join(
                written.select(_KEY), on=_KEY, how="left_semi"
            )
        # A column that was added since was null in all rows.
        known = {name.lower() for name in then.columns}
        held = (quote(name) if name.lower() in known else F.lit(None).alias(name) for name in keys)
        return written.drop(_KEY).union(changed.select(*held)).toDF(*keys).distinct()

    def _find_changed(self, then: DataFrame, now: DataFrame) -> DataFrame:
        """Return the rows of one state that another one does not have, or has as another version."""
        then, now = (frame.withColumn(_KEY, self.build_key()) for frame in (then, now))
        return then.join(now.select(_KEY, _NUMBER), on=[_KEY, _NUMBER], how="left_anti")
