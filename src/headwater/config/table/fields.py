"""`TableFields`: the keys of a table, each validated by itself, and their effective values."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, ByteSize, Field

from headwater.config.file_format import FIXED_COLUMNS, FileFormat, infer_format
from headwater.config.hudi.column_types import ColumnTypes
from headwater.config.hudi.table_sections import (
    BulkInsertConfig,
    ClusteringConfig,
    FileSizesConfig,
    IndexConfig,
    JavaClassName,
    refuse_overwrites,
)
from headwater.config.processing import CheckConfig, TransformStep
from headwater.config.section import ByteCount, FieldNames, Patterns, Section, TextMap

BadObjectAction = Literal["retry", "quarantine", "skip"]
Refresh = Literal["changes", "changed_keys", "full"]
SchemaEvolutionMode = Literal["add_new_columns", "rescue", "fail_on_new_columns", "none"]
RESCUED_DATA_COLUMN = "_rescued_data"

KeyProblem = tuple[tuple[str, ...], str]


class BadObjectPolicy(Section):
    """What becomes of an object that cannot be used, by reason: it is quarantined, also retried by itself, or
    only counted as skipped."""

    missing: BadObjectAction = Field("retry", description="There is no such object (any more).")
    forbidden: BadObjectAction = Field("retry", description="It may not be read.")
    unavailable: Literal["retry", "quarantine"] = Field(
        "retry", description="The store did not give it, after all attempts."
    )
    unparsable: BadObjectAction = Field("quarantine", description="It is not of the table's format.")
    schema_: BadObjectAction = Field(
        "quarantine", alias="schema", description="Its columns cannot be the table's."
    )
    oversize: BadObjectAction = Field("quarantine", description="It is too large to be read.")
    unwritable: BadObjectAction = Field(
        "quarantine", description="Spark or Hudi fails on its rows, though they fit the columns."
    )
    empty: Literal["quarantine", "skip"] = Field("skip", description="It has no bytes.")


class TableFields(Section):
    """The keys of a data table and what they default to; `TableConfig` checks how they combine."""

    from_: str | None = Field(
        None,
        alias="from",
        description="The table that this one is built from, instead of from objects: it follows that table's "
        "changes, deletes included.",
        examples=["orders"],
    )
    refresh: Refresh | None = Field(
        None,
        description="How a table follows the one in `from`: rows are made anew of the rows that changed "
        "(changes: each row has to come from one row); groups are computed anew that rows changed in "
        "(changed_keys: see `group_key`); or all is computed anew and the difference is written (full). With "
        "the last two, steps may aggregate, and `record_key` tells the result's rows. Default: changes.",
    )
    group_key: FieldNames = Field(
        (),
        description="Columns that rows of the source and the rows made of them have in common "
        "(changed_keys). Default: `record_key`.",
    )
    path: Patterns = Field(
        ("**",), description="Globs of keys (`*`, `**`, `?`, `[a]`, `{a,b}`), relative to the source."
    )
    prefix: str = Field("", description="Only keys that start with this (no wildcards).")
    suffix: Patterns = Field((), description="Only keys that end with one of these.")
    regex: str | None = Field(None, description="Only keys that this expression matches in full.")
    ignore_prefix: Patterns = Field((), description="No keys that start with one of these.")
    ignore_substring: Patterns = Field((), description="No keys that contain one of these.")
    format: FileFormat | None = Field(
        None,
        description="File format; default: by the path's ending. `document` needs "
        "`pip install 'headwater[documents]'`.",
    )
    mode: Literal["mirror", "merge", "append"] | None = Field(
        None, description="Default: merge with a record_key, append without."
    )
    on_object_removed: Literal["ignore", "retract", "tombstone"] | None = Field(
        None,
        description="Always `retract` for a mirror and `ignore` for the other modes. For rows that follow "
        "removals use `mode: mirror`, or a table built `from` a mirror.",
    )
    record_key: FieldNames = Field((), description="Fields that identify a row (merge).")
    generated_keys: bool = Field(
        False, description="Hudi gives each row a key of its own, instead of event and row number (append)."
    )
    ordering: FieldNames = Field(
        (), description="The row with the higher value wins (merge); default: the newer event."
    )
    partition: FieldNames = Field((), description="Fields the table is partitioned by.")
    partition_style: Literal["hive", "plain"] = Field(
        "hive", description="Folders of partitions: `day=2026-05-01`, or `2026-05-01` only."
    )
    url_encode_partitions: bool | None = Field(
        None,
        description="Values with `/`, `:` and the like are written as `%2F` in folders of partitions; "
        "default: true for a new table, and what an existing table has.",
    )
    drop_partition_columns: bool = Field(
        False, description="Partition fields are kept in the folders' names only, not in the files too."
    )
    partition_columns: FieldNames = Field((), description="Columns taken from `name=value` parts of the key.")
    table_type: Literal["copy_on_write", "merge_on_read"] = Field(
        "copy_on_write", description="Hudi table type."
    )
    base_file_format: Literal["parquet", "orc"] = Field("parquet", description="Format of the table's files.")
    cdc: Literal["off", "op_key_only", "data_before", "data_before_after"] = Field(
        "off",
        description="Keep a log of every change for `sql --cdc` and `changes --cdc`: the keys only, also the "
        "row before, or both images. The less it holds, the more a reader looks up. Only for a table that is "
        "made anew: Hudi refuses another log than the table has, and goes on with what it has for `off`.",
    )
    index: IndexConfig | None = Field(
        None, description="How the file of a key is found; default: Hudi's, `simple`."
    )
    operation: Annotated[
        Literal["upsert", "insert", "bulk_insert"] | None, BeforeValidator(refuse_overwrites)
    ] = Field(None, description="Default: upsert for merge, insert for append (upsert with `cdc`).")
    bulk_insert: BulkInsertConfig | None = Field(None, description="How `operation: bulk_insert` writes.")
    merge_mode: Literal["commit_time", "event_time"] | None = Field(
        None,
        description="Which of two rows with one key stays (merge): the one written last (in one commit: the "
        "newer event's), or the one with the higher `ordering`. Default: event_time.",
    )
    partial_updates: bool = Field(
        False, description="A null in a new row leaves the stored value as it is (merge)."
    )
    payload: JavaClassName | None = Field(
        None, description="Class of a Hudi payload that makes one row of two with one key (merge)."
    )
    merger: JavaClassName | None = Field(
        None,
        description="Class of a Hudi record merger that makes one row of two with one key (merge, "
        "copy_on_write).",
    )
    filter_duplicates: bool = Field(
        False, description="Rows whose `record_key` the table has already are dropped (append)."
    )
    file_sizes: FileSizesConfig | None = Field(None, description="How large files become.")
    keep_commits: int | None = Field(
        None, ge=1, le=10_000, description="The table can be read as it was so many commits ago. Default: 10."
    )
    keep_hours: int | None = Field(
        None, ge=1, description="The table can be read as it was so many hours ago, instead of by commits."
    )
    keep_file_versions: int | None = Field(
        None, ge=1, description="So many versions of each file are kept, instead of by commits."
    )
    keep_partition_days: int | None = Field(
        None, ge=1, description="Partitions go so long after their newest commit: see `table NAME expire`."
    )
    compact_after: int | None = Field(
        None,
        ge=0,
        description="Log files are merged into base files every so many commits (merge_on_read). "
        "Default: Hudi's 5.",
    )
    clustering: ClusteringConfig | None = Field(
        None, description="Small files become large, sorted ones every so many commits. Default: never."
    )
    services: Literal["inline", "semi_async", "async"] = Field(
        "inline",
        description="Who compacts, clusters, cleans and archives: the writer after its commits, or "
        "`headwater services run` beside it. `semi_async`: the writer plans compactions and clusterings and "
        "the other does them; `async`: the other plans them, too, and cleans and archives. Needs `lock`.",
    )
    max_pending_compactions: int = Field(
        5,
        ge=1,
        description="With so many planned and not done, no compaction is planned (semi_async, async).",
    )
    max_pending_clustering: int = Field(
        5,
        ge=1,
        description="With so many planned and not done, no clustering is planned (semi_async, async).",
    )
    concurrency: Literal["optimistic", "non_blocking"] = Field(
        "optimistic",
        description="With a `lock`: of two writers that change the same files one begins again; or both "
        "write log files, and readers merge them (non_blocking: merge_on_read with a bucket index).",
    )
    metadata_table: bool | None = Field(
        None,
        description="Hudi's metadata table is kept: listings and statistics for readers, for slower "
        "commits. Default: only where `index` or `column_stats` needs it.",
    )
    column_stats: bool | FieldNames = Field(
        False,
        description="The lowest and highest values of these columns (true: of the first 32) in each file are "
        "kept in the metadata table; queries pass files over by them.",
    )
    indexing: Literal["inline", "async"] = Field(
        "inline",
        description="Who builds `column_stats` of rows that are there: the writer with its next commit, or "
        "`headwater services run` beside the commits (async; with `services: async`).",
    )
    schema_: str | None = Field(
        None, alias="schema", description="Columns as DDL (`id bigint, name string`); default: inferred."
    )
    schema_hints: str | None = Field(None, description="DDL of columns whose inferred type is wrong.")
    columns: ColumnTypes = Field(
        {},
        description="Columns of the table that have one of Hudi's own types, after all steps: "
        "`vector(384)`, `vector(384, double)` or `blob`.",
        examples=[{"embedding": "vector(384)"}],
    )
    schema_evolution_mode: SchemaEvolutionMode | None = Field(
        None,
        description="What columns that the table does not have do: they are added (and types widened), kept "
        "in the rescued data column, end the table with an error, or are left out. Default: "
        "add_new_columns; none where `schema` is given.",
    )
    rescued_data_column: str | None = Field(
        None,
        description="Column for what fits no column, as JSON with the object's address. Default: "
        "`_rescued_data` with `schema_evolution_mode: rescue`, else none: such records go to quarantine.",
    )
    transform: tuple[TransformStep, ...] = Field(
        (),
        description="Steps between parsing and commit, in this order. Keys, ordering and partition are "
        "columns of what comes out.",
    )
    checks: tuple[CheckConfig, ...] = Field(
        (), description="What a batch's rows have to be before they are committed."
    )
    options: TextMap = Field({}, description="Options of the format's reader: docs/how-to/file-formats.md.")
    hoodie: TextMap = Field(
        {},
        description="Any `hoodie.*` write option; wins over typed ones. A slip of the pen and a value of a "
        "wrong kind are errors; a key that Hudi does not know is passed on with a warning.",
    )
    on_bad_object: BadObjectPolicy = Field(
        BadObjectPolicy(), description="What becomes of objects that cannot be used."
    )
    start_from: datetime | None = Field(
        None, description="A new table begins with the events committed since then; default: with the first."
    )
    max_files_per_trigger: int = Field(10_000, ge=1, le=100_000, description="Objects in one batch, at most.")
    max_bytes_per_trigger: ByteCount = Field(
        ByteSize(10 * 1024**3), description="Bytes of objects in one batch, about."
    )
    large_file_bytes: ByteCount = Field(
        ByteSize(32 * 1024**2), description="Objects from this size on are read by Spark in splits."
    )

    @property
    def effective_format(self) -> FileFormat:
        """Return the format: as given, else by the ending of the first path."""
        found = self.format or infer_format(self.path[0])
        assert found is not None  # noqa: S101 - checked by TableConfig
        return found

    @property
    def effective_refresh(self) -> Refresh:
        """Return how a derived table follows its source: as given, else by changed rows."""
        return self.refresh or "changes"

    @property
    def effective_group_key(self) -> tuple[str, ...]:
        """Return the group columns of `refresh: changed_keys`; empty otherwise."""
        return (self.group_key or self.record_key) if self.refresh == "changed_keys" else ()

    @property
    def rules(self) -> str:
        """Return the rules that select the table's keys, as one text that changes with them."""
        names = {"path", "prefix", "suffix", "regex", "ignore_prefix", "ignore_substring"}
        return self.model_dump_json(include=names)

    @property
    def effective_mode(self) -> Literal["mirror", "merge", "append"]:
        """Return the mode: as given, else merge with a record key and append without. A derived table is a
        mirror of its source."""
        if self.from_ is not None:
            return "mirror"
        return self.mode or ("merge" if self.record_key else "append")

    @property
    def effective_operation(self) -> Literal["upsert", "insert", "bulk_insert"]:
        """Return the write operation: as given, else the one that fits the mode."""
        # Hudi writes no CDC log of rows inserted into an existing file, and then cannot read the log.
        may_insert = self.effective_mode == "append" and self.cdc == "off"
        return self.operation or ("insert" if may_insert else "upsert")

    @property
    def effective_on_object_removed(self) -> Literal["ignore", "retract"]:
        """Return how the rows of a removed object are handled: only a mirror retracts them."""
        return "retract" if self.effective_mode == "mirror" else "ignore"

    @property
    def effective_schema_evolution_mode(self) -> SchemaEvolutionMode:
        """Return how new columns are handled: as given, else they are added unless the columns were given."""
        is_fixed = self.schema_ is not None or self.effective_format in FIXED_COLUMNS
        return self.schema_evolution_mode or ("none" if is_fixed else "add_new_columns")

    @property
    def effective_rescued_data_column(self) -> str | None:
        """Return the column for values that match no column: as given, else only if new columns are
        rescued."""
        is_rescue = self.effective_schema_evolution_mode == "rescue"
        return self.rescued_data_column or (RESCUED_DATA_COLUMN if is_rescue else None)
