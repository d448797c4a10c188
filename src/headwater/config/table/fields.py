"""`TableFields`: the keys of a table, each validated by itself, and their effective values."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, ByteSize, Field

from headwater.config.file_format import FIXED_COLUMNS, FileFormat, infer_format
from headwater.config.hudi.column_types import ColumnTypes
from headwater.config.hudi.table_option import MERGE_MODE_OPTION, MERGER_OPTION, STREAMED_METADATA, HudiOption
from headwater.config.hudi.table_sections import (
    BulkInsertConfig,
    ClusteringConfig,
    FileSizesConfig,
    IndexConfig,
    JavaClassName,
    read_auto_index,
    refuse_overwrites,
)
from headwater.config.processing import CheckConfig, TransformStep
from headwater.config.processing.transform import INPUT_VIEW
from headwater.config.section import ByteCount, FieldNames, Instant, Patterns, Section, StartFrom, TextMap
from headwater.config.table.changes import ChangesConfig
from headwater.config.table.file_sets import CompleteWhen
from headwater.config.table.messages import MessageColumns, list_message_columns
from headwater.config.table.outside import OutsideTable, Source, TableFormat, read_sources
from headwater.config.table.schema_source import SchemaConfig, read_ddl

BadObjectAction = Literal["retry", "quarantine", "skip"]
Refresh = Literal["changes", "changed_keys", "full"]
SchemaEvolutionMode = Literal["add_new_columns", "rescue", "fail_on_new_columns", "none"]
RESCUED_DATA_COLUMN = "_rescued_data"
VALIDITY = ("valid_from", "valid_to", "is_current")
"""The columns of `history: scd2`."""

KeyProblem = tuple[tuple[str, ...], str]


class BadObjectPolicy(Section):
    """Handling of unusable objects by reason: quarantine them, quarantine and retry them automatically, or
    skip them."""

    missing: BadObjectAction = Field("retry", description="The object does not exist.")
    forbidden: BadObjectAction = Field("retry", description="Access to the object is denied.")
    unavailable: Literal["retry", "quarantine"] = Field(
        "retry", description="The object store fails after all retries."
    )
    unparsable: BadObjectAction = Field(
        "quarantine", description="The object does not match the table's format."
    )
    schema_: BadObjectAction = Field(
        "quarantine", alias="schema", description="The object's columns do not fit the table."
    )
    oversize: BadObjectAction = Field(
        "quarantine", description="The object, or each record in it, is too large."
    )
    slow: BadObjectAction = Field(
        "quarantine", description="Parsing the document takes longer than one may: see `timeoutSeconds`."
    )
    unwritable: BadObjectAction = Field(
        "quarantine", description="Spark or Hudi fails on rows that fit the columns."
    )
    expired: Literal["quarantine", "skip"] = Field(
        "quarantine", description="Kafka removed all messages of the object before they were read."
    )
    empty: Literal["quarantine", "skip"] = Field("skip", description="The object has no bytes.")


class TableFields(Section):
    """The keys of a data table and their defaults; `TableConfig` validates their combinations."""

    from_: Annotated[
        Source | tuple[Source, ...] | None,
        BeforeValidator(
            read_sources, json_schema_input_type=str | OutsideTable | list[str | OutsideTable] | None
        ),
    ] = Field(
        None,
        alias="from",
        description="Source table of a derived table: a table of this configuration; or `{hudi: ADDRESS}`, "
        "`{delta: ADDRESS}` or `{iceberg: ADDRESS}`, a table that another program writes. Or a list of them, "
        "whose first transform is SQL that joins them by name, `{hudi: ADDRESS, as: NAME}` for a table of "
        "another program. The derived table follows all changes of its sources, including deletes.",
        examples=[
            "orders",
            {"hudi": "s3a://warehouse/orders"},
            {"delta": "s3a://warehouse/orders", "key": "order_id"},
            ["orders", "customers"],
        ],
    )
    refresh: Refresh | None = Field(
        None,
        description="How a derived table follows its source. `changes`: recompute rows from changed rows; "
        "each row comes from one row. `changed_keys`: recompute groups with changed rows (see `group_key`). "
        "`full`: recompute everything and write the difference. With the last two, transforms may aggregate, "
        "and `record_key` identifies the resulting rows. Default: changes.",
    )
    group_key: FieldNames = Field(
        (),
        description="Columns that source rows and resulting rows have in common (changed_keys). With several "
        "source tables: columns of the result on which the SQL joins the tables. Default: `record_key`.",
    )
    source: Patterns = Field(
        (),
        description="Names of the sources whose objects the table takes. Default: all sources.",
        examples=["landing"],
    )
    path: Patterns = Field(
        ("**",),
        description="Globs that keys must match (`*`, `**`, `?`, `[a]`, `{a,b}`), relative to the source.",
    )
    prefix: str = Field("", description="Include only keys with this prefix (no wildcards).")
    suffix: Patterns = Field((), description="Include only keys with one of these suffixes.")
    regex: str | None = Field(None, description="Include only keys that fully match this regular expression.")
    ignore_prefix: Patterns = Field((), description="Exclude keys with one of these prefixes.")
    ignore_substring: Patterns = Field((), description="Exclude keys that contain one of these texts.")
    modified_after: Instant | None = Field(
        None,
        description="Include only objects last modified at this time or later, in whole seconds. What "
        "counts is the store's last-modified time of the newest version.",
    )
    modified_before: Instant | None = Field(
        None, description="Include only objects last modified before this time, in whole seconds."
    )
    format: FileFormat | None = Field(
        None,
        description="File format. Default: implied by the path's ending. `document` requires `pip install "
        "'headwater[documents]'`, `xlsx` requires `pip install 'headwater[excel]'`, `protobuf` requires "
        "`pip install 'headwater[protobuf]'`. `avro_records` and `protobuf` require `schema`.",
    )
    mode: Literal["mirror", "merge", "append"] | None = Field(
        None, description="How the table follows objects. Default: merge with a `record_key`, else append."
    )
    on_object_removed: Literal["ignore", "retract", "tombstone"] | None = Field(
        None,
        description="Always `retract` for a mirror and `ignore` for the other modes. To delete rows of "
        "removed objects, use `mode: mirror`, or a table built `from` a mirror.",
    )
    record_key: FieldNames = Field((), description="Fields that identify a row (merge).")
    generated_keys: bool = Field(
        False, description="Let Hudi generate the record keys, instead of event and row number (append)."
    )
    ordering: FieldNames = Field(
        (),
        description="Ordering fields: the row with the higher value wins (merge). Default: the newer event.",
    )
    changes: ChangesConfig | None = Field(
        None,
        description="Apply records as changes of a database's rows, so that the table equals the database's "
        "(merge).",
    )
    message_columns: MessageColumns = Field(
        (),
        description="Further columns of each row, from its message (source `kafka`): `topic`, `partition`, "
        "`offset`, `timestamp`, `key` and `headers`, as `_kafka_topic` and so on.",
        examples=[["timestamp", "key"]],
    )
    complete_when: CompleteWhen | None = Field(
        None,
        description="The files below one folder are a set, such as a full dump: the table becomes equal to "
        "the newest complete set, in one commit of the differences (merge).",
    )
    history: Literal["scd2"] | None = Field(
        None,
        description="Keep every version of a row, from set to set, with `valid_from`, `valid_to` and "
        "`is_current` (complete_when).",
    )
    partition: FieldNames = Field((), description="Partition fields.")
    partition_style: Annotated[
        Literal["hive", "plain"],
        HudiOption(
            "hoodie.datasource.write.hive_style_partitioning", words={"hive": "true", "plain": "false"}
        ),
    ] = Field(
        "hive", description="Folder names of partitions: `day=2026-05-01` (hive) or `2026-05-01` (plain)."
    )
    url_encode_partitions: Annotated[
        bool | None, HudiOption("hoodie.datasource.write.partitionpath.urlencode")
    ] = Field(
        None,
        description="URL-encode special characters in the folder names of partitions, such as `/` as `%2F`. "
        "Default: true for a new table; unchanged for an existing one.",
    )
    drop_partition_columns: Annotated[
        bool,
        HudiOption(
            "hoodie.datasource.write.drop.partition.columns",
            table_type="copy_on_write",
            because="Hudi 1.2 rejects the second write to such a merge-on-read table",
        ),
    ] = Field(False, description="Keep partition fields in the folder names only, not in the files.")
    partition_columns: FieldNames = Field(
        (), description="Columns parsed from `name=value` parts of the key."
    )
    table_type: Literal["copy_on_write", "merge_on_read"] = Field(
        "copy_on_write", description="Hudi table type."
    )
    base_file_format: Annotated[Literal["parquet", "orc"], HudiOption("hoodie.table.base.file.format")] = (
        Field("parquet", description="Format of the base files.")
    )
    cdc: Literal["off", "op_key_only", "data_before", "data_before_after"] = Field(
        "off",
        description="Log every change for `sql --cdc` and `changes --cdc`: the keys only, with the before "
        "image, or with both images. The less is logged, the more a reader must look up. Takes effect when "
        "the table is created: Hudi rejects another log for an existing table, and keeps the existing one "
        "for `off`.",
    )
    iceberg: bool = Field(
        False,
        description="Keep an Iceberg view of the table: Iceberg metadata over its Parquet files in "
        "`_headwater/iceberg/NAME` of the lake, updated after each commit. A merge-on-read table is shown as "
        "of its last complete compaction. Requires `pip install 'headwater[iceberg]'`.",
    )
    index: Annotated[
        IndexConfig | None,
        BeforeValidator(read_auto_index, json_schema_input_type=IndexConfig | Literal["auto"] | None),
    ] = Field(
        None,
        description="Index with which writes locate keys. Default: `auto`, Hudi's `simple`, and a record "
        "index once the largest partition has grown to 1 GiB.",
    )
    operation: Annotated[
        Literal["upsert", "insert", "bulk_insert"] | None, BeforeValidator(refuse_overwrites)
    ] = Field(
        None, description="Write operation. Default: upsert for merge, insert for append (upsert with `cdc`)."
    )
    bulk_insert: BulkInsertConfig | None = Field(
        None, description="Sorting and parallelism of `operation: bulk_insert`."
    )
    merge_mode: Annotated[
        Literal["commit_time", "event_time"] | None,
        HudiOption(
            MERGE_MODE_OPTION,
            words={"commit_time": "COMMIT_TIME_ORDERING", "event_time": "EVENT_TIME_ORDERING"},
        ),
    ] = Field(
        None,
        description="Which of two rows with the same key wins (merge): the one written last (within a "
        "commit, the one of the newer event), or the one with the higher `ordering`. Default: event_time.",
    )
    partial_updates: Annotated[
        bool,
        HudiOption(
            "hoodie.datasource.write.payload.class",
            words={"true": "org.apache.hudi.common.model.PartialUpdateAvroPayload"},
            table_type="copy_on_write",
            because="when Hudi 1.2 merges log files, a late row wins over a newer one",
        ),
    ] = Field(False, description="Keep the stored value where a new row has null (merge).")
    payload: Annotated[JavaClassName | None, HudiOption("hoodie.datasource.write.payload.class")] = Field(
        None, description="Class of a Hudi payload that merges rows with the same key (merge)."
    )
    merger: Annotated[
        JavaClassName | None,
        HudiOption(
            MERGER_OPTION,
            also={"*": {MERGE_MODE_OPTION: "CUSTOM"}},
            table_type="copy_on_write",
            because="every reader of log files would need the class; a `payload` has no such limit",
        ),
    ] = Field(
        None,
        description="Class of a Hudi record merger that merges rows with the same key (merge, "
        "copy_on_write).",
    )
    filter_duplicates: Annotated[bool, HudiOption("hoodie.datasource.write.insert.drop.duplicates")] = Field(
        False, description="Drop rows whose `record_key` already exists in the table (append)."
    )
    file_sizes: FileSizesConfig | None = Field(None, description="Target sizes of base files.")
    keep_commits: Annotated[int | None, HudiOption("hoodie.clean.commits.retained", "commits")] = Field(
        None,
        ge=1,
        le=10_000,
        description="Commits for which old files are kept, for time travel. Default: 10.",
    )
    keep_hours: Annotated[
        int | None,
        HudiOption(
            "hoodie.clean.hours.retained",
            "hours",
            also={"*": {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS"}},
        ),
    ] = Field(None, ge=1, description="Hours for which old files are kept, instead of commits.")
    keep_file_versions: Annotated[
        int | None,
        HudiOption(
            "hoodie.clean.fileversions.retained",
            "versions of a file",
            also={"*": {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}},
        ),
    ] = Field(None, ge=1, description="Versions of each file to keep, instead of commits.")
    keep_partition_days: Annotated[
        int | None, HudiOption("hoodie.partition.ttl.strategy.days.retain", "days")
    ] = Field(
        None,
        ge=1,
        description="Days after its last commit when a partition expires. See `table NAME expire`.",
    )
    compact_after: Annotated[
        int | None,
        HudiOption(
            "hoodie.compact.inline.max.delta.commits",
            "commits",
            also={"*": {"hoodie.compact.inline": "true"}},
            table_type="merge_on_read",
            because="a copy-on-write table has no log files to compact",
        ),
    ] = Field(
        None,
        ge=0,
        description="Delta commits between compactions (merge_on_read). Default: Hudi's 5.",
    )
    clustering: ClusteringConfig | None = Field(
        None, description="Rewrite small files into larger, sorted ones at regular intervals. Default: off."
    )
    services: Annotated[
        Literal["inline", "semi_async", "async"],
        HudiOption(
            "hoodie.compact.schedule.inline",
            words={"semi_async": "true", "async": "false"},
            also={
                "async": {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"},
                "*": {"hoodie.compact.inline": "false", "hoodie.datasource.compaction.async.enable": "false"},
            },
        ),
    ] = Field(
        "inline",
        description="Where compaction, clustering, cleaning and archiving run. `inline`: in the writer, "
        "after its commits. `semi_async`: the writer plans compactions and clusterings, and `headwater "
        "services run` executes them. `async`: `headwater services run` does all of it. The last two require "
        "a `lock`.",
    )
    max_pending_compactions: int = Field(
        5,
        ge=1,
        description="Number of due compactions, one of them pending, at which the table's next batch waits "
        "for their execution (semi_async, async).",
    )
    max_pending_clustering: int = Field(
        5,
        ge=1,
        description="Number of due clusterings, one of them pending, at which the table's next batch waits "
        "for their execution (semi_async, async).",
    )
    concurrency: Annotated[
        Literal["optimistic", "non_blocking"],
        HudiOption(
            "hoodie.write.concurrency.mode",
            words={"non_blocking": "NON_BLOCKING_CONCURRENCY_CONTROL"},
            # Hudi reads the table type from this key, which a Spark write does not set.
            also={"non_blocking": {"hoodie.table.type": "MERGE_ON_READ"}},
        ),
    ] = Field(
        "optimistic",
        description="Concurrency control with a `lock`. `optimistic`: of two writers that change the same "
        "files, one retries. `non_blocking`: both write log files, which readers merge (merge_on_read with a "
        "bucket index).",
    )
    metadata_table: Annotated[
        bool | None, HudiOption("hoodie.metadata.enable", also={"true": STREAMED_METADATA})
    ] = Field(
        None,
        description="Maintain Hudi's metadata table: file listings and statistics for readers, at the cost "
        "of slower commits. Default: only if `index` or `column_stats` requires it.",
    )
    column_stats: Annotated[
        bool | FieldNames,
        HudiOption(
            "hoodie.metadata.index.column.stats.column.list",
            "columns",
            also={"*": {**STREAMED_METADATA, "hoodie.metadata.index.column.stats.enable": "true"}},
        ),
    ] = Field(
        False,
        description="Columns whose minimum and maximum per file are kept in the metadata table for data "
        "skipping (true: the first 32 columns).",
    )
    indexing: Annotated[
        Literal["inline", "async"],
        HudiOption(
            "hoodie.metadata.index.async",
            words={"async": "true", "inline": "false"},
            # With streaming writes, a commit fails if a configured index does not exist yet. With partition
            # stats, queries skip rows of commits that the index missed at its start (Hudi 1.2). The build
            # waits for earlier pending writes, including those that are killed in the meantime.
            also={
                "async": {
                    "hoodie.metadata.streaming.write.enabled": "false",
                    "hoodie.metadata.index.partition.stats.enable": "false",
                    "hoodie.metadata.index.check.timeout.seconds": "300",
                }
            },
        ),
    ] = Field(
        "inline",
        description="Where `column_stats` of existing rows are built: in the writer's next commit, or in "
        "`headwater services run`, concurrently with commits (async; requires `services: async`).",
    )
    schema_: Annotated[
        SchemaConfig | None,
        BeforeValidator(read_ddl, json_schema_input_type=str | SchemaConfig | None),
    ] = Field(
        None,
        alias="schema",
        description="Columns: DDL (`id bigint, name string`), or a section that names a schema of the "
        "records. Default: inferred.",
    )
    schema_hints: str | None = Field(None, description="DDL of columns whose inferred type is wrong.")
    columns: ColumnTypes = Field(
        {},
        description="Columns with one of Hudi's own types, after all transforms: `vector(384)`, `vector(384, "
        "double)` or `blob`.",
        examples=[{"embedding": "vector(384)"}],
    )
    schema_evolution_mode: SchemaEvolutionMode | None = Field(
        None,
        description="How new columns are handled: add them (and widen types), keep them in the rescued data "
        "column, fail the table, or ignore them. Default: add_new_columns; none if `schema` is given.",
    )
    rescued_data_column: str | None = Field(
        None,
        description="Column for values that fit no column, as JSON with the object's address. Default: "
        "`_rescued_data` with `schema_evolution_mode: rescue`, else none: such records go to quarantine.",
    )
    transform: tuple[TransformStep, ...] = Field(
        (),
        description="Transforms between parsing and commit, in order. Keys, ordering and partition are "
        "columns of their output.",
    )
    checks: tuple[CheckConfig, ...] = Field(
        (), description="Checks that a batch must pass before its commit."
    )
    options: TextMap = Field(
        {}, description="Options of the format's reader; see docs/how-to/file-formats.md."
    )
    hoodie: TextMap = Field(
        {},
        description="Any `hoodie.*` write option; takes precedence over typed ones. Typos and values of the "
        "wrong type are errors; keys unknown to Hudi are passed on with a warning.",
    )
    on_bad_object: BadObjectPolicy = Field(
        BadObjectPolicy(), description="Handling of unusable objects, by reason."
    )
    start_from: StartFrom | None = Field(
        None,
        description="The events with which a new table begins: `earliest` (all), `latest` (those committed "
        "after the table's first run began), or a time (those committed since). What a first listing of the "
        "bucket finds are events of that time; see `modified_after`. Default: earliest.",
    )
    min_sync_interval: float = Field(
        0,
        ge=0,
        le=86_400,
        description="Minimum interval between the starts of two batches, in seconds: fewer and larger "
        "commits. A backlog and `run --once` do not wait.",
    )
    max_files_per_trigger: int = Field(
        10_000, ge=1, le=100_000, description="Maximum number of objects in a batch."
    )
    max_bytes_per_trigger: ByteCount = Field(
        ByteSize(10 * 1024**3), description="Approximate maximum size of the objects in a batch."
    )
    large_file_bytes: ByteCount = Field(
        ByteSize(32 * 1024**2), description="Minimum size of objects that Spark reads in splits."
    )
    max_record_bytes: ByteCount = Field(
        ByteSize(16 * 1024**2),
        description="Maximum size of a record; larger ones are quarantined. Each core holds several copies "
        "of one in the heap, `spark.driver_memory`.",
    )

    @property
    def effective_format(self) -> FileFormat:
        """Return the format: as given, else by the ending of the first path."""
        found = self.format or infer_format(self.path[0])
        assert found is not None  # noqa: S101 - checked by TableConfig
        return found

    @property
    def effective_schema_hints(self) -> str:
        """Return the hints with those for `message_columns`, as one list of columns; empty without any."""
        return ", ".join(filter(None, (self.schema_hints, list_message_columns(self.message_columns))))

    @property
    def inputs(self) -> Mapping[str, str]:
        """Return the sources of a derived table by their names in the SQL of its first transform.

        A source is the name of a table or the address of one. A single one is named `input`, as in every
        transform.
        """
        if isinstance(self.from_, tuple):
            return {
                (entry if isinstance(entry, str) else entry.as_ or entry.address): _locate(entry)
                for entry in self.from_
            }
        return {} if self.from_ is None else {INPUT_VIEW: _locate(self.from_)}

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names or addresses of the tables that a derived table is built from."""
        return tuple(self.inputs.values())

    @property
    def outside_tables(self) -> Mapping[str, OutsideTable]:
        """Return the sources with a format in the configuration, by address; all others are Hudi tables."""
        entries = self.from_ if isinstance(self.from_, tuple) else (self.from_,)
        return {entry.address: entry for entry in entries if isinstance(entry, OutsideTable)}

    def find_format(self, source: str) -> TableFormat:
        """Return the format of a source table."""
        found = self.outside_tables.get(source)
        return found.format if found else "hudi"

    @property
    def is_joined(self) -> bool:
        """True for a table that is built from several tables."""
        return isinstance(self.from_, tuple)

    @property
    def from_text(self) -> str:
        """Return the sources as one text for messages, such as `orders` or `[orders, customers]`."""
        shown = ", ".join(self.sources)
        return f"[{shown}]" if self.is_joined else shown

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
        # Tables of earlier releases have rules without sources.
        return self.model_dump_json(include=names | ({"source"} if self.source else set()))

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


def _locate(source: Source) -> str:
    return source if isinstance(source, str) else source.address
