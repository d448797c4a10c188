"""Delta and Iceberg tables as sources: rows that were added or removed between two versions."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.errors import LakeError, TransformError
from headwater.ingest.lineage import SOURCE_KEY
from headwater.ingest.writing.difference import build_comparable
from headwater.lake.failures import is_missing_file
from headwater.lake.jvm import explained_lake
from headwater.lake.other_formats.history import History, parse_checkpoint, plan_versions
from headwater.lake.other_formats.protocol import COUNT, VersionedTable
from headwater.lake.queries.change_plan import ChangePlan
from headwater.lake.transforms.columns import quote
from headwater.medallion.source_tables.protocol import Persist, RowChanges, SourceState

_log = logging.getLogger(__name__)
_ROW = "_headwater_row_values"


class VersionedSource:
    """`SourceTable` of a table in another format; `key` are the columns that identify a row, if known."""

    def __init__(self, table: VersionedTable, key: Sequence[str]) -> None:
        self._table = table
        self._key = tuple(key)
        self._history: History | None = None

    @property
    def path(self) -> str:
        """See `SourceTable.path`."""
        return self._table.path

    def plan(self, as_of: str, *, is_same_selection: bool) -> ChangePlan | None:
        """See `SourceTable.plan`."""
        self._history = self._table.load_history()
        plan = plan_versions(self._history, as_of, is_same_selection=is_same_selection)
        if plan is None or plan.kind != "changes":
            return plan
        # Rows of files in both versions may have other values now, such as those of a renamed column.
        if not self._table.has_same_columns(*_find_versions(plan)):
            return ChangePlan("all", as_of, plan.upto, has_deletes=True, reason="its columns have changed")
        return plan

    def build_key(self) -> Column:
        """See `SourceTable.build_key`."""
        texts = [quote(name).cast("string") for name in self._key]
        return texts[0] if len(texts) == 1 else F.to_json(F.array(*texts))

    def check_keys(self, rows: DataFrame) -> None:
        """See `SourceTable.check_keys`. Neither format enforces unique keys."""
        shown = ", ".join(self._key)
        known = {name.lower() for name in rows.columns}
        if missing := [name for name in self._key if name.lower() not in known]:
            raise TransformError(
                f"{self.path}: no column {', '.join(missing)}", hint=f"columns: {', '.join(rows.columns)}"
            )
        lacking = F.lit(False)
        for name in self._key:
            lacking = lacking | quote(name).isNull()
        counted = rows.groupBy(*map(quote, self._key)).agg(F.count("*").alias(COUNT))
        with explained_lake(self.path):
            faulty = counted.where(lacking | (F.col(COUNT) > 1)).limit(1).collect()
        if faulty:
            row = ", ".join(f"{name} = {faulty[0][at]}" for at, name in enumerate(self._key))
            raise TransformError(
                f"{self.path}: {faulty[0][COUNT]:,} rows have {row}",
                hint=f"`key: {shown}` of `from` must identify a row, and must not be null; name other "
                "columns, or set `refresh: full`",
            )

    def read(self) -> DataFrame:
        """See `SourceTable.read`."""
        return self._table.read()

    def find_state(self, as_of: str) -> SourceState | None:
        """See `SourceTable.find_state`."""
        history = self._history if self._history is not None else self._table.load_history()
        version = history.find_version(as_of)
        return None if version is None else SourceState(as_of, version)

    def read_state(self, state: SourceState) -> DataFrame:
        """See `SourceTable.read_state`."""
        is_newest = self._history is not None and state.as_of == self._history.checkpoint
        return self._table.read() if is_newest else self._table.read(state.snapshot)

    def is_intact(self, state: SourceState) -> bool:
        """See `SourceTable.is_intact`. A read of a deleted file fails in both formats."""
        return True

    def read_changes(
        self, plan: ChangePlan, known_keys: DataFrame | None, persist: Persist
    ) -> RowChanges | None:
        """See `SourceTable.read_changes`."""
        rows = self._load_difference(plan, persist)
        if rows is None:
            return None
        written = rows.where(F.col(COUNT) > 0)
        # Equal rows are one row of the difference.
        copies = F.explode(F.array_repeat(F.lit(1), F.col(COUNT).cast("int")))
        self.check_keys(written.select("*", copies.alias(_ROW)))
        return RowChanges(written.drop(COUNT), rows.select(self.build_key().alias(SOURCE_KEY)))

    def find_changed_groups(
        self, plan: ChangePlan, before: SourceState, keys: Sequence[str], persist: Persist
    ) -> DataFrame | None:
        """See `SourceTable.find_changed_groups`."""
        rows = self._load_difference(plan, persist)
        return None if rows is None else rows.select(*map(quote, keys)).toDF(*keys).distinct()

    def _load_difference(self, plan: ChangePlan, persist: Persist) -> DataFrame | None:
        """Return the rows that a plan added and removed, read completely; None if a file was deleted."""
        try:
            rows = persist(find_difference(self._table.read_changes(*_find_versions(plan))))
            with explained_lake(self.path):
                count = rows.count()
        except LakeError as error:
            if not is_missing_file(str(error.__cause__)):
                raise
            _log.info("%s: files of version %s were deleted", self.path, _find_versions(plan)[0])
            return None
        _log.debug("%s: %d different rows were added or removed", self.path, count)
        return rows


def find_difference(changes: DataFrame) -> DataFrame:
    """Return each row whose numbers of additions and removals differ, with the sum of `COUNT`."""
    names = [name for name in changes.columns if name != COUNT]
    same = {f"_headwater_same_{at}": build_comparable(changes, name) for at, name in enumerate(names)}
    counted = (
        changes.select(
            COUNT, F.struct(*map(quote, names)).alias(_ROW), *(c.alias(n) for n, c in same.items())
        )
        .groupBy(*same)
        .agg(F.sum(COUNT).alias(COUNT), F.first(_ROW).alias(_ROW))
    )
    return counted.where(F.col(COUNT) != 0).select(f"{_ROW}.*", COUNT)


def _find_versions(plan: ChangePlan) -> tuple[str, str]:
    return parse_checkpoint(plan.after)[0], parse_checkpoint(plan.upto)[0]
