"""The pipeline of one derived table: reads changes of its sources, derives rows, commits them with the
checkpoint."""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.config.processing.transform import INPUT_VIEW
from headwater.config.table import TableConfig
from headwater.config.table.column_types import list_column_types
from headwater.config.table.typed_options import list_needed_columns
from headwater.errors import (
    ConfigError,
    LakeError,
    TableMismatchError,
    TableNotFoundError,
    TransformError,
)
from headwater.ingest.committed_state import describe_buckets
from headwater.ingest.lineage import SOURCE_KEY
from headwater.ingest.planning.outcome import FOLLOWED, BatchResult
from headwater.ingest.processing.processor import explained_transforms
from headwater.ingest.writing.difference import build_difference
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.checks.judging import Checks, raise_failed
from headwater.lake.logical_types.columns import check_convertible, convert_frame, count_faults
from headwater.lake.options import DELETED
from headwater.lake.queries.change_plan import ChangePlan
from headwater.lake.table import Table
from headwater.lake.transforms.chain import Chain
from headwater.lake.transforms.columns import quote
from headwater.medallion.batch_plan import BatchPlan
from headwater.medallion.definition import build_definition
from headwater.medallion.follow_state import FollowState, parse_follow_state, write_watermarks
from headwater.medallion.groups import check_group_columns, check_stays_in_groups, take_groups
from headwater.medallion.inputs import (
    Input,
    InputStates,
    build_inputs,
    check_state,
    find_befores,
    find_groups,
)
from headwater.medallion.origin import derive_complete, derive_rows
from headwater.medallion.source_tables.protocol import SourceState, SourceTable
from headwater.observability.crash_points import crash_point
from headwater.observability.tracing.traces import span

_log = logging.getLogger(__name__)
_COUNT = "_headwater_count"


@dataclass(frozen=True, slots=True)
class TransformsAndChecks:
    """The transforms and checks between two tables."""

    chain: Chain
    checks: Checks


class DerivedPipeline:
    """Keeps a derived table in sync with its sources. Used by one thread.

    `sources` are the source tables by their names or addresses. Construction raises `ConfigError` for missing
    files and functions, and `TransformError` for SQL that cannot be recomputed by group.
    """

    def __init__(
        self,
        name: str,
        config: TableConfig,
        *,
        sources: Mapping[str, SourceTable],
        table: Table,
        transforms: TransformsAndChecks,
    ) -> None:
        self.name = name
        self._config = config
        self._inputs = build_inputs(config, sources)
        self._table = table
        self._transforms = transforms
        self._writer = TableWriter(name, config, table)
        self._definition = build_definition(config)
        self._types = list_column_types(config)
        self._state: FollowState | None = None
        self._waits_for: list[str] = []
        self._warnings: list[str] = []
        self._persisted: list[DataFrame] = []

    def run_batch(self) -> BatchResult | None:
        """Process all commits of the sources since the checkpoint; None if there are none.

        None also while a source has no commit: its columns are unknown. Raises `LakeError`, `BacklogError`,
        `TransformError`, `CheckFailedError` and `ConfigError`. The checkpoint then stays unchanged, and the
        next call retries the batch.
        """
        started = time.monotonic()
        plan = self._plan()
        if plan is None or plan.kind == "nothing":
            return None
        self._writer.check_backlog()
        try:
            with (
                _retried_when_cleaned(self.name),
                explained_transforms(self.name, self._transforms.chain.labels),
            ):
                result = self._apply(plan)
        finally:
            while self._persisted:
                self._persisted.pop().unpersist()
        return replace(result, seconds=time.monotonic() - started)

    def _plan(self) -> BatchPlan | None:
        """Plan the next batch; None while one of the sources has no commit."""
        state = self.load_state()
        is_same = not state.as_of or state.definition == self._definition
        found = {each.source: self._plan_source(each, state, is_same) for each in self._inputs}
        waits_for = [source for source, plan in found.items() if plan is None]
        if waits_for != self._waits_for and len(found) > 1 and waits_for:
            _log.info("table %s: waiting for the first commit of %s", self.name, ", ".join(waits_for))
        self._waits_for = waits_for
        if waits_for:
            return None
        plan = BatchPlan({source: of_source for source, of_source in found.items() if of_source})
        for source, of_source in plan.by_source.items():
            if of_source.kind == "all" and state.as_of:
                _log.info("table %s: reading all of %s: %s", self.name, source, of_source.reason)
        return plan

    def _plan_source(self, found: Input, state: FollowState, is_same_selection: bool) -> ChangePlan | None:
        try:
            return found.table.plan(state.as_of.get(found.source, ""), is_same_selection=is_same_selection)
        except TableNotFoundError as error:
            raise LakeError(f"table {self.name}: {error.message}", hint=error.hint) from error

    def save_checkpoint(self) -> bool:
        """Return False: each batch commits its own checkpoint."""
        return False

    def load_state(self) -> FollowState:
        """Load the state from headwater's latest commit to the table; reads it only once.

        Raises `TableMismatchError` for a table that was not derived, and if its rows were assigned to files
        by another `index` setting.
        """
        if self._state is None:
            timeline = self._table.load_timeline()
            found = timeline.find_metadata(FOLLOWED) if timeline.exists() else None
            if found is None and timeline.has_commits():
                raise TableMismatchError(
                    f"table {self.name}: the existing table was not built from another table",
                    hint="configure a table with another name: a refresh would remove the existing rows",
                )
            sources = [each.source for each in self._inputs]
            state, buckets = parse_follow_state(found, sources), describe_buckets(self._config.index)
            if found is not None and state.buckets != buckets:
                raise TableMismatchError(
                    f"table {self.name}: its rows were written with {state.buckets or 'no bucket index'}, "
                    f"but `index` is now {buckets or 'no bucket index'}: changed rows would be duplicated",
                    hint="set `index` back to the table's value, or configure a table with another name, "
                    "which is built from scratch",
                )
            self._state = replace(state, buckets=buckets)
        return self._state

    def _apply(self, plan: BatchPlan) -> BatchResult:
        stored = self._table.read() if self._table.load_timeline().has_commits() else None
        with span("derive rows", reads=plan.kind):
            new, old = self._derive_new(plan, stored)
            self._judge(new)
            changes = self._persist(build_difference(new, old, self._writer.identity))
            counts = {row["deleted"]: row["count"] for row in _count_by_fate(changes)}
        state = replace(self.load_state(), as_of=plan.as_of, definition=self._definition)
        # Until the commit is confirmed, the cached state may differ from the table's.
        self._state = None
        crash_point("before_derived_commit")
        started = time.monotonic()
        with span("commit rows"):
            if counts:
                self._writer.write_frame(changes, state.to_metadata())
            elif stored is not None:
                self._writer.write_checkpoint(state.to_metadata())
        seconds = time.monotonic() - started
        crash_point("after_derived_commit")
        self._state = state
        warnings, self._warnings = tuple(self._warnings), []
        return BatchResult(
            table=self.name,
            end=write_watermarks(plan.as_of),
            objects=Counter(),
            skipped=Counter(),
            rows=counts.get(False, 0),
            deleted=counts.get(True, 0),
            commit_seconds=seconds,
            committed=bool(counts) or stored is not None,
            warnings=warnings,
        )

    def _derive_new(self, plan: BatchPlan, stored: DataFrame | None) -> tuple[DataFrame, DataFrame | None]:
        refresh = self._config.effective_refresh
        if plan.kind == "all" or refresh == "full":
            return self._derive_all(plan, stored)
        if refresh == "changes":
            (of_source,) = plan.by_source.values()
            return self._derive_changed(of_source, stored)
        befores = find_befores(self.name, self._inputs, plan.changed)
        if befores is None:
            return self._derive_all(plan, stored)
        return self._derive_groups(plan, befores, stored)

    def _derive_all(self, plan: BatchPlan, stored: DataFrame | None) -> tuple[DataFrame, DataFrame | None]:
        """Derive all rows, and return them with all stored rows."""
        states, keys = InputStates(self.name, self._inputs, plan.as_of), self._config.effective_group_key
        if keys:
            states.check_columns()
        if self._config.effective_refresh == "changes":
            self._inputs[0].table.check_keys(states.frames[INPUT_VIEW])
            new = self._derive(states.frames[INPUT_VIEW])
        else:
            new = self._derive_complete(states.frames)
        new = self._persist(new)
        if keys:
            self._check_groups(new, states.list_groups(keys))
        self._check_keys(new)
        states.check_complete()
        return new, stored

    def _derive_groups(
        self, plan: BatchPlan, befores: Mapping[str, SourceState], stored: DataFrame | None
    ) -> tuple[DataFrame, DataFrame | None]:
        """Derive the rows of changed groups, and return them with the stored rows of these groups."""
        states, keys = InputStates(self.name, self._inputs, plan.as_of), self._config.effective_group_key
        states.check_columns()
        found = find_groups(self._inputs, befores, plan.changed, keys, self._persist)
        if found is None:
            _log.info("table %s: reading everything: the changed groups are unknown", self.name)
            return self._derive_all(plan, stored)
        groups = self._persist(found)
        # Read now, so that the next check proves that the files still existed during the read.
        count = groups.count()
        _log.debug("table %s: %d groups changed", self.name, count)
        for each in self._inputs:
            if each.source in befores:
                check_state(self.name, each.table, befores[each.source])
        new = self._persist(self._derive_complete(states.restrict(groups)))
        self._check_groups(new, groups)
        self._check_keys(new)
        states.check_complete()
        if stored is None:
            return new, None
        if not set(keys) <= set(self._config.record_key):
            # Otherwise, each key belongs to only one group.
            self._check_claims(new, take_groups(stored, groups, keys, "left_anti"))
        # The difference reads them twice.
        return new, self._persist(take_groups(stored, groups, keys, "left_semi"))

    def _check_groups(self, new: DataFrame, groups: DataFrame) -> None:
        keys, origin = self._config.effective_group_key, self._config.from_text
        check_group_columns(self.name, new, keys, f"the rows derived from {origin!r}")
        check_stays_in_groups(self.name, new, groups, keys)

    def _derive_changed(
        self, plan: ChangePlan, stored: DataFrame | None
    ) -> tuple[DataFrame, DataFrame | None]:
        """Derive the rows of changed source rows, and return them with the stored rows that they replace."""
        (source,) = (each.table for each in self._inputs)
        known = None if stored is None else stored.select(SOURCE_KEY)
        changes = source.read_changes(plan, known, self._persist)
        if changes is None:
            _log.info("table %s: reading all of %s: its changes are unknown", self.name, source.path)
            return self._derive_all(BatchPlan({self._inputs[0].source: plan}), stored)
        new = self._persist(self._derive(changes.written))
        touched = self._persist(changes.touched.distinct())
        self._check_keys(new)
        if stored is None:
            return new, None
        self._check_claims(new, stored.join(touched, on=SOURCE_KEY, how="left_anti"))
        return new, stored.join(touched, on=SOURCE_KEY, how="left_semi")

    def _derive(self, source: DataFrame) -> DataFrame:
        is_numbered = not self._config.record_key
        key = self._inputs[0].table.build_key()
        chain = self._transforms.chain
        return self._convert(derive_rows(self.name, source, key, chain, is_numbered=is_numbered))

    def _derive_complete(self, sources: Mapping[str, DataFrame]) -> DataFrame:
        return self._convert(derive_complete(self.name, sources, self._transforms.chain))

    def _convert(self, new: DataFrame) -> DataFrame:
        check_convertible(self.name, new.schema, self._types)
        return convert_frame(new, self._types)

    def _persist(self, frame: DataFrame) -> DataFrame:
        self._persisted.append(frame.persist())
        return frame

    def _check_keys(self, new: DataFrame) -> None:
        """Raise an error unless all configured keys exist, `record_key` is unique, and vectors fit the
        table."""
        self._check_names(new)
        if faults := count_faults(new, self._types):
            raise TransformError(
                f"table {self.name}: {faults[0]:,} rows have vectors that do not match `columns`: "
                f"one {faults[1]}",
                hint="exclude these rows with a transform, such as `where size(embedding) = 384`",
            )
        key = self._config.record_key
        if not key:
            return
        lacking = F.lit(False)
        for name in key:
            lacking = lacking | quote(name).isNull()
        # One query for both faults: each costs as much as a small batch's rows.
        counted = new.groupBy(*map(quote, key)).agg(F.count("*").alias(_COUNT))
        if not (faulty := counted.where(lacking | (F.col(_COUNT) > 1)).limit(1).collect()):
            return
        if (count := new.where(lacking).count()) > 0:
            raise TransformError(
                f"table {self.name}: {count:,} rows have no {' or no '.join(key)}",
                hint="exclude them with a transform (`where ... is not null`): `record_key` must not be null",
            )
        self._refuse_double(faulty[0].asDict())

    def _check_names(self, new: DataFrame) -> None:
        shown = ", ".join(name for name in new.columns if not name.startswith("_headwater_"))
        for key, names in list_needed_columns(self._config).items():
            for name in names:
                if name not in new.columns:
                    raise ConfigError(
                        f"tables.{self.name}.{key}: no column {name!r} in the rows derived from "
                        f"{self._config.from_text!r}",
                        hint=f"columns: {shown}",
                    )

    def _check_claims(self, new: DataFrame, others: DataFrame) -> None:
        """Raise an error if a remaining row has the same key as a new one, which would overwrite it."""
        key = self._config.record_key
        if key:
            keys = new.select(*map(quote, key)).distinct()
            same = others.select(*map(quote, key)).join(keys, on=list(key), how="left_semi")
            if found := same.limit(1).collect():
                self._refuse_double(found[0].asDict())

    def _refuse_double(self, row: dict[str, object]) -> None:
        shown = ", ".join(f"{name} = {row[name]}" for name in self._config.record_key)
        hint = "`record_key` must be unique in the result"
        if self._config.effective_refresh == "changes":
            hint += ". Without `record_key`, each row is identified by its source row"
        raise TransformError(f"table {self.name}: several rows have {shown}", hint=hint)

    def _judge(self, new: DataFrame) -> None:
        checks = self._transforms.checks
        if checks.judges:
            failures = checks.judge(new, [n for n in new.columns if not n.startswith("_headwater_")])
            raise_failed(self.name, failures)
            for failure in failures:
                _log.warning("table %s: %s", self.name, failure.describe())
                self._warnings.append(failure.label)


@contextmanager
def _retried_when_cleaned(table: str) -> Iterator[None]:
    """Convert a read failure on cleaned files to `LakeError`, so that the batch is retried."""
    try:
        yield
    except TransformError as error:
        if "FileNotFoundException" not in str(error.__cause__):
            raise
        raise LakeError(
            f"table {table}: files of its source were cleaned while they were read",
            hint="the batch will be retried; if this happens often, raise `keep_commits` of the source",
        ) from error


def _count_by_fate(changes: DataFrame) -> list[dict[str, int]]:
    deleted = F.coalesce(F.col(DELETED), F.lit(False)).alias("deleted")
    return [row.asDict() for row in changes.groupBy(deleted).count().collect()]
