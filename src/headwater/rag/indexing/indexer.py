"""Keeps the chunks table up to date with a data table: one commit of chunks and checkpoint per pass."""

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headwater.errors import SearchError
from headwater.lake.arrow_tasks import map_in_arrow
from headwater.lake.queries.change_plan import ChangePlan, plan_changes
from headwater.lake.table import Table
from headwater.observability.tracing.traces import span
from headwater.rag.documents import DocumentRules
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.index_rules import IndexRules
from headwater.rag.index_state import IndexState
from headwater.rag.indexing.chunks_table import CHUNKS_SCHEMA, ChunksTable
from headwater.rag.indexing.columns import list_columns, list_kinds
from headwater.rag.indexing.comparing import ChunkWrite, choose_newest, compare_chunks
from headwater.rag.indexing.rows import mark_rows, newest_of_each, source_key, to_arrow_schema
from headwater.rag.indexing.stages import SPLIT_COLUMNS, EmbedTexts, SplitRows, embed_in_batches

_log = logging.getLogger(__name__)

FEW = 2_000
"""Up to this many changed rows are compared in the driver."""

_OLD = (
    "content_hash",
    "terms_hash",
    "fields_hash",
    "source_key",
    "content_revision",
    "row_key",
    "chunk_number",
)


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of one run.

    Counts of chunks: `embedded`; `reused`, with an existing vector; `fields_only`, those that also
    kept text and indexed words; `deleted`. `empty` counts rows without text. `looked_at_all` is the reason
    for reading all rows, or empty.
    """

    as_of: str
    embedded: int = 0
    reused: int = 0
    fields_only: int = 0
    deleted: int = 0
    empty: int = 0
    looked_at_all: str = ""
    seconds: float = 0.0


class Indexer:
    """Indexes one data table, in one thread. Raises `SearchError` and `LakeError`; a retry is safe."""

    def __init__(
        self,
        spark: SparkSession,
        rules: IndexRules,
        embedder: Embedder,
        table: Table,
        chunks: ChunksTable,
        now: Callable[[], datetime],
    ) -> None:
        self._spark = spark
        self._rules = rules
        self._embedder = embedder
        self._table = table
        self._chunks = chunks
        self._now = now
        self._state: IndexState | None = None
        self._cached: list[DataFrame] = []
        self._fingerprint = rules.build_fingerprint(embedder.name)

    def run(self) -> IndexReport | None:
        """Index the data table's commits up to now; None when none is new."""
        timeline = self._table.load_timeline()
        if not timeline.has_commits():
            return None
        started = time.monotonic()
        self._state = self._state or self._chunks.load_state()
        selection = self._rules.build_selection()
        plan = plan_changes(
            timeline.commits,
            self._state.as_of if self._state else "",
            is_same_selection=self._state is not None and self._state.selection == selection,
            count_deletes=timeline.count_deletes,
            has_archived=timeline.has_archived,
        )
        if plan.kind == "nothing":
            return None
        completed = {commit.requested: commit.completed for commit in timeline.commits}
        state = self._state
        self._state = None  # unknown until the commit is confirmed
        report, self._state = self._run(plan, completed, state)
        return replace(report, seconds=time.monotonic() - started)

    def purge(self) -> int:
        """Purge chunks that were deleted long ago; return their number."""
        self._state = None
        return self._chunks.purge(self._now())

    def _run(
        self, plan: ChangePlan, completed: dict[str, str], state: IndexState | None
    ) -> tuple[IndexReport, IndexState]:
        source = self._table.read() if plan.kind == "all" else self._table.read_commits(plan.after, plan.upto)
        columns = list_columns(to_arrow_schema(source.schema))
        self._rules.check_columns(list(dict.fromkeys([*source.columns, *columns])))
        documents = self._rules.build_document_rules(list(columns))
        revision = state.revision + 1 if state else 1
        empty = self._spark.sparkContext.accumulator(0)
        split = SplitRows(
            documents, self._rules.search.chunk, self._embedder.name, completed, count_empty=empty
        )
        run_plan = RunPlan(plan, documents, split, is_first=state is None)
        try:
            with span("chunk and embed", reads=plan.kind), explained(self._rules):
                writes = self._find_few(run_plan, source)
                if writes is not None:
                    counts = count_done(Counter(write.done for write in writes))
                    chunks = self._complete(self._to_frame(writes), revision)
                else:
                    chunks = self._complete(self._find_many(run_plan, source), revision)
                    # Persist: Hudi reads the rows several times, and the work must be done once.
                    self._cached.append(chunks.persist())
                    counts = count_done(
                        {row["done"]: row["count"] for row in _collect(chunks.groupBy("done").count())}
                    )
            report = IndexReport(
                as_of=plan.upto, **counts, empty=int(empty.value or 0), looked_at_all=plan.reason
            )
            kinds = list_kinds(columns, documents.fields)
            new = self._build_state(plan, state, revision, report, kinds)
            with span("commit chunks"):
                # The columns of a key are joined with `#`, which their values may contain, too.
                self._chunks.write(chunks, new, unique_ids=len(self._rules.key) == 1)
        finally:
            while self._cached:
                self._cached.pop().unpersist()
        return report, new

    def _find_few(self, run_plan: "RunPlan", source: DataFrame) -> list[ChunkWrite] | None:
        """Return the writes, computed without joins, which take seconds; None for too many rows."""
        if run_plan.plan.kind == "all":
            return None
        old = self._read_old()
        taken = _collect(self._split(source, run_plan).limit(FEW + 1))
        keys = {row["source_key"] for row in taken}
        if run_plan.plan.has_deletes:
            keys |= {row["source_key"] for row in _collect(self._find_removed(old).limit(FEW + 1))}
        if len(taken) > FEW or len(keys) > FEW:
            return None
        new = [row for row in taken if row["row_key"] is not None]
        names = {row["row_key"] for row in new}
        is_touched = F.col("source_key").isin(keys) | F.col("row_key").isin(names)
        before = _collect(old.where(is_touched).select("chunk_id", "vector", *_OLD)) if keys else []
        given_up = {row["row_key"] for row in before if row["source_key"] in keys}
        if self._rules.can_repeat and given_up:
            again = _collect(self._split(self._table.read(), run_plan, named=given_up))
            known = {(row["source_key"], row["chunk_id"]) for row in new}
            new += [row for row in again if (row["source_key"], row["chunk_id"]) not in known]
        if self._rules.can_repeat:
            new = choose_newest(new)
        return compare_chunks(new, before)

    def _to_frame(self, writes: Sequence[ChunkWrite]) -> DataFrame:
        lacking = [write for write in writes if write.done == "embedded"]
        size = self._rules.search.embedder.batch_size
        vectors = iter(embed_in_batches(self._embedder, [write.values["text"] for write in lacking], size))
        rows = []
        for write in writes:
            kept = _KEPT if write.done == "deleted" else tuple(SPLIT_COLUMNS)
            vector = next(vectors).tolist() if write.done == "embedded" else write.vector
            plain = [write.values[name] if name in kept else None for name in SPLIT_COLUMNS]
            rows.append((*plain, vector, write.done, write.kept_revision))
        types = [*split_schema(), CHUNKS_SCHEMA["vector"], *_ACTION_FIELDS]
        return self._spark.createDataFrame(rows, StructType(types)).coalesce(1)

    def _find_many(self, run_plan: "RunPlan", source: DataFrame) -> DataFrame:
        old = None if run_plan.is_first else self._read_old()
        split = self._split(source, run_plan)
        if old is None:
            return self._embed_new(newest_of_each(self._rules, split))
        if run_plan.plan.kind == "all":
            return self._compare(newest_of_each(self._rules, split), old)
        self._cached.append(split.persist())
        touched = split.select("source_key")
        if run_plan.plan.has_deletes:
            touched = touched.unionByName(self._find_removed(old))
        by_source = old.join(touched.distinct(), on="source_key", how="left_semi")
        if self._rules.can_repeat:
            # A key that its row no longer has may belong to another row, which did not change.
            given_up = by_source.select("row_key").distinct()
            split = split.unionByName(self._split(self._table.read(), run_plan, named=given_up))
            split = split.dropDuplicates(["source_key", "chunk_id"])
        fresh = newest_of_each(self._rules, split)
        by_name = old.join(fresh.select("row_key").distinct(), on="row_key", how="left_semi")
        return self._compare(fresh, by_source.unionByName(by_name).dropDuplicates(["chunk_id"]))

    def _read_old(self) -> DataFrame:
        return self._chunks.read().where(~F.col("deleted"))

    def _build_state(
        self,
        plan: ChangePlan,
        state: IndexState | None,
        revision: int,
        report: IndexReport,
        kinds: Mapping[str, str],
    ) -> IndexState:
        known = state or IndexState(uuid.uuid4().hex, "", "", 0, self._embedder.dimensions, "")
        return replace(
            known,
            as_of=plan.upto,
            selection=self._rules.build_selection(),
            revision=revision,
            model=self._embedder.name,
            kinds=kinds,
            embedded=known.embedded + report.embedded,
            reused=known.reused + report.reused,
        )

    def _split(
        self, source: DataFrame, run_plan: "RunPlan", named: "Collection[str] | DataFrame | None" = None
    ) -> DataFrame:
        """Return the chunks of the rows, and the source keys of rows without chunks.

        `named` restricts both to rows with these keys.
        """
        rows = mark_rows(source, self._rules, run_plan.documents)
        if isinstance(named, DataFrame):
            rows = rows.join(named, on="row_key", how="left_semi")
        elif named is not None:
            rows = rows.where(F.col("row_key").isin(named))
        return map_in_arrow(rows, run_plan.split, split_schema())

    def _find_removed(self, old: DataFrame) -> DataFrame:
        present = self._table.read().select(source_key())
        return old.select("source_key").distinct().join(present, on="source_key", how="left_anti")

    def _embed_new(self, fresh: DataFrame) -> DataFrame:
        return embed_frame(fresh, EmbedTexts(self._rules.search.embedder)).select("*", *_actions("embedded"))

    def _compare(self, fresh: DataFrame, old: DataFrame) -> DataFrame:
        """Return new, changed and deleted chunks, each with its action."""
        before = old.select("chunk_id", *(F.col(name).alias(f"old_{name}") for name in _OLD))
        joined = fresh.join(before, on="chunk_id", how="full_outer")
        deleted = joined.where(F.col("row_key").isNull()).select(
            *(
                F.lit(None).cast(split_schema()[name].dataType).alias(name)
                for name in SPLIT_COLUMNS
                if name not in _KEPT
            ),
            *(F.col(f"old_{name}" if name != "chunk_id" else name).alias(name) for name in _KEPT),
            F.lit(None).cast("array<float>").alias("vector"),
            *_actions("deleted"),
        )
        is_same = (
            F.col("terms_hash").eqNullSafe(F.col("old_terms_hash"))
            & F.col("fields_hash").eqNullSafe(F.col("old_fields_hash"))
            & F.col("source_key").eqNullSafe(F.col("old_source_key"))
        )
        vectors = old.select(F.col("content_hash"), F.col("vector")).where(F.col("vector").isNotNull())
        changed = joined.where(F.col("row_key").isNotNull() & ~is_same)
        changed = changed.join(vectors.dropDuplicates(["content_hash"]), on="content_hash", how="left")
        self._cached.append(changed.persist())
        keeps_terms = F.col("terms_hash").eqNullSafe(F.col("old_terms_hash"))
        reused = changed.where(F.col("vector").isNotNull()).select(
            *SPLIT_COLUMNS,
            "vector",
            F.when(keeps_terms, F.lit("fields_only")).otherwise(F.lit("reused")).alias("done"),
            F.when(keeps_terms, F.col("old_content_revision")).alias("kept_revision"),
        )
        lacking = changed.where(F.col("vector").isNull()).select(*SPLIT_COLUMNS)
        embedded = self._embed_new(lacking)
        return reused.unionByName(embedded).unionByName(deleted)

    def _complete(self, found: DataFrame, revision: int) -> DataFrame:
        """Return rows of the chunks table's schema, with `done`."""
        is_deleted = F.col("done") == "deleted"
        return found.select(
            *(F.col(name) for name in SPLIT_COLUMNS if name != "commit"),
            F.lit(self._fingerprint).alias("fingerprint"),
            F.lit(self._embedder.name).alias("model"),
            F.lit(self._embedder.dimensions).alias("dimensions"),
            "vector",
            F.coalesce(F.col("kept_revision"), F.lit(revision)).cast("long").alias("content_revision"),
            is_deleted.alias("deleted"),
            F.lit(self._now()).alias("changed_at"),
            "done",
        ).select(*CHUNKS_SCHEMA.fieldNames(), "done")


def count_done(done: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of a report."""
    fields_only = done.get("fields_only", 0)
    return {
        "embedded": done.get("embedded", 0),
        "reused": done.get("reused", 0) + fields_only,
        "fields_only": fields_only,
        "deleted": done.get("deleted", 0),
    }


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How one run handles the rows it reads."""

    plan: ChangePlan
    documents: DocumentRules
    split: SplitRows
    is_first: bool


@contextmanager
def explained(rules: IndexRules) -> Iterator[None]:
    """Convert errors of Spark or the model inside the block to a `SearchError` of one line."""
    try:
        yield
    except PySparkException as error:
        raise SearchError(
            f"cannot index table {rules.search.table!r}: {_last_line(error)}",
            hint="check that the model in search.embedder is installed or responds",
        ) from error


_KEPT = ("chunk_id", "row_key", "chunk_number", "source_key")


def embed_frame(frame: DataFrame, embed: EmbedTexts) -> DataFrame:
    """Return the chunks of the split with their vectors."""
    fields = [*frame.schema.fields, StructField("vector", CHUNKS_SCHEMA["vector"].dataType)]
    return map_in_arrow(frame, embed, StructType(fields))


def _collect(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def split_schema() -> StructType:
    """Return the output schema of `SplitRows`."""
    own = {"commit": StructField("commit", StringType())}
    return StructType([own.get(name) or CHUNKS_SCHEMA[name] for name in SPLIT_COLUMNS])


_ACTION_FIELDS = (StructField("done", StringType()), StructField("kept_revision", LongType()))


def _actions(done: str) -> tuple[Any, Any]:
    return F.lit(done).alias("done"), F.lit(None).cast("long").alias("kept_revision")


def _last_line(error: Exception) -> str:
    """Return the last line of a worker's traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line and not line.startswith(("at ", "File "))]
    return (errors or lines or [""])[-1][:300]
