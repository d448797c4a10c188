"""A table's typed Hudi options, and their conflicts."""

import re
from collections.abc import Iterator

from headwater.config.hudi.checking import PREFIX
from headwater.config.hudi.table_option import OptionValue, iter_hudi_options
from headwater.config.table.fields import TableFields
from headwater.config.table.generated_keys import iter_generated_key_problems

HUDI_OPTIONS = dict(iter_hudi_options(TableFields))
"""The typed options by path below a table, such as `index.buckets`."""
_TYPED_FIELDS = {path.partition(".")[0] for path in HUDI_OPTIONS}

_CLASSES = ("payload", "merger")
_KEEP = ("keep_commits", "keep_hours", "keep_file_versions")
_CLUSTERING = (f"{PREFIX}clustering.inline", f"{PREFIX}clustering.async.enabled")
_WHO_CLUSTERS = (*_CLUSTERING, f"{PREFIX}clustering.schedule.inline")
_READ_WRONGLY = re.compile(r"(?i)timestamp|custom")
_STEP_FOR_TIME = (
    "partition by a column that a transform computes: `transform: "
    "[{sql: \"select *, date_format(created_at, 'yyyy/MM/dd') as day from input\"}]`"
)
_COMPACTS = f"{PREFIX}compact.inline"
_EXPIRES_INLINE = f"{PREFIX}partition.ttl.inline"
_NEEDS_METADATA = "needs the metadata table; leave `metadata_table` out, or set it to true"

Problem = tuple[tuple[str, ...], str]


def list_typed_options(table: TableFields) -> dict[str, OptionValue]:
    """Return the options not at their default, by path below the table, such as `index.buckets`."""
    given: dict[str, OptionValue] = {}
    for name, value in table.model_dump(include=_TYPED_FIELDS, exclude_defaults=True).items():
        if isinstance(value, dict):
            given |= {f"{name}.{below}": item for below, item in value.items()}
        else:
            given[name] = value
    return given


def list_needed_columns(table: TableFields) -> dict[str, tuple[str, ...]]:
    """Return the required columns of rows, by the key below the table that names them."""
    sort_by = table.clustering.sort_by if table.clustering else ()
    return {
        "record_key": table.record_key,
        "ordering": table.ordering,
        "partition": table.partition,
        "clustering.sort_by": sort_by,
    }


def list_ordering(table: TableFields) -> tuple[str, ...]:
    """Return the columns of objects that order the rows of one key; empty if a user's class, or an envelope,
    does."""
    if table.changes is not None:
        return () if table.changes.is_envelope else table.changes.settled.sequence
    is_own = table.payload or table.merger or table.merge_mode == "commit_time"
    return () if is_own or table.effective_mode != "merge" else table.ordering


def iter_typed_problems(table: TableFields) -> Iterator[Problem]:
    """Yield conflicts, as keys below the table with a sentence."""
    yield from _iter_type_problems(table)
    yield from _iter_index_problems(table)
    yield from _iter_layout_problems(table)
    yield from _iter_generator_problems(table)
    yield from iter_generated_key_problems(table)
    yield from _iter_merge_problems(table)
    yield from _iter_class_problems(table)
    yield from _iter_bulk_problems(table)
    yield from _iter_cleaning_problems(table)
    yield from _iter_clustering_problems(table)
    yield from _iter_writers_problems(table)


def _iter_type_problems(table: TableFields) -> Iterator[Problem]:
    for path in list_typed_options(table):
        option = HUDI_OPTIONS[path]
        if option.table_type not in (None, table.table_type):
            yield tuple(path.split(".")), f"needs `table_type: {option.table_type}`: {option.because}"


def _iter_index_problems(table: TableFields) -> Iterator[Problem]:
    index = table.index
    if index is None:
        return
    if index.type == "bucket":
        if index.buckets is None:
            yield ("index", "buckets"), "missing; `type: bucket` needs the number of files per partition"
        if index.engine == "consistent_hashing" and table.table_type == "copy_on_write":
            yield (
                ("index", "engine"),
                "'consistent_hashing' needs `table_type: merge_on_read`. Allowed: simple",
            )
        for key in _CLUSTERING:
            if table.hoodie.get(key) == "true" and index.engine != "consistent_hashing":
                yield (
                    ("hoodie", key),
                    "clustering moves rows out of the buckets that `index` computes; remove it, or use "
                    "`engine: consistent_hashing` or another index",
                )
    else:
        for name in ("buckets", "engine"):
            if getattr(index, name) is not None:
                yield ("index", name), f"has no meaning with `type: {index.type}`; only a bucket index has it"
    if index.type.endswith("record_level") and table.metadata_table is False:
        yield ("metadata_table",), f"`index: {{type: {index.type}}}` {_NEEDS_METADATA}"


def _iter_layout_problems(table: TableFields) -> Iterator[Problem]:
    if not table.partition:
        for name in ("partition_style", "url_encode_partitions", "drop_partition_columns"):
            if name in list_typed_options(table):
                yield (name,), "has no meaning without `partition`"
    if table.keep_partition_days is not None and not table.partition:
        yield ("keep_partition_days",), "has no meaning without `partition`"
    elif table.keep_partition_days is not None and table.effective_mode == "mirror":
        yield (
            ("keep_partition_days",),
            "cannot be combined with `mode: mirror`, whose rows are deleted with their objects; use merge "
            "or append",
        )
    if table.hoodie.get(_EXPIRES_INLINE, "").lower() == "true":
        yield (
            ("hoodie", _EXPIRES_INLINE),
            "Hudi 1.2 counts milliseconds in 32 bits: with 25 to 49 days nothing expires, and with 60 days "
            "partitions expire after ten; use `keep_partition_days`",
        )
    if table.column_stats and table.metadata_table is False:
        yield ("metadata_table",), f"`column_stats` {_NEEDS_METADATA}"
    if table.indexing == "async":
        yield from _iter_indexing_problems(table)


def _iter_indexing_problems(table: TableFields) -> Iterator[Problem]:
    if not table.column_stats:
        yield ("indexing",), "'async' has no meaning without `column_stats`. Allowed: inline"
    if table.services != "async":
        yield (
            ("indexing",),
            "'async' needs `services: async`, with which `headwater services run` builds them. Allowed: "
            "inline",
        )
    if table.index is not None and table.index.type.endswith("record_level"):
        yield (
            ("indexing",),
            f"cannot be 'async' with `index: {{type: {table.index.type}}}`, which each commit needs "
            "immediately. Allowed: inline",
        )


def _iter_generator_problems(table: TableFields) -> Iterator[Problem]:
    for name in ("class", "type"):
        key = f"{PREFIX}datasource.write.keygenerator.{name}"
        found = table.hoodie.get(key, "")
        if found and _READ_WRONGLY.search(found):
            text = "creates partitions from which Spark omits rows in queries by time (Hudi 1.2)"
            yield ("hoodie", key), f"{found!r} {text}; {_STEP_FOR_TIME}"


def _iter_class_problems(table: TableFields) -> Iterator[Problem]:
    """Yield conflicts of a user's class that merges rows: a payload, or a merger."""
    given = list_typed_options(table)
    kind = next((name for name in _CLASSES if name in given), None)
    if kind is None:
        return
    for name in ("merge_mode", "partial_updates", *_CLASSES):
        if name in given and name != kind:
            yield (name,), f"cannot be combined with `{kind}`, whose class merges rows by its own rule"
    if table.cdc != "off":
        yield (
            ("cdc",),
            f"{table.cdc!r} cannot be combined with `{kind}`: the change log would contain the incoming "
            "rows, not the merged ones. Allowed: off",
        )


def _iter_merge_problems(table: TableFields) -> Iterator[Problem]:
    if table.effective_mode != "merge":
        for name in ("merge_mode", "partial_updates", *_CLASSES):
            if name in list_typed_options(table):
                yield (name,), f"has no meaning with `mode: {table.effective_mode}`; use `mode: merge`"
    if table.partial_updates and table.merge_mode == "commit_time":
        yield ("partial_updates",), "has no meaning with `merge_mode: commit_time`; use event_time"
    if table.merge_mode == "commit_time" and table.ordering:
        yield (
            ("merge_mode",),
            "'commit_time' keeps the row written last, but `ordering` keeps the one with the higher value: "
            "remove one of them",
        )
    if table.filter_duplicates and table.effective_mode != "append":
        yield (
            ("filter_duplicates",),
            f"has no meaning with `mode: {table.effective_mode}`, whose rows replace each other; "
            "use `mode: append`",
        )
    if table.filter_duplicates and not table.record_key and not table.generated_keys:
        yield ("record_key",), "missing; `filter_duplicates` needs the fields that identify a duplicate"
    if table.filter_duplicates and table.operation == "bulk_insert":
        yield (
            ("operation",),
            "'bulk_insert' does not check for duplicates. Allowed with `filter_duplicates`: insert",
        )


def _iter_bulk_problems(table: TableFields) -> Iterator[Problem]:
    bulk = table.bulk_insert
    if bulk is None:
        return
    if table.effective_operation != "bulk_insert":
        yield (
            ("bulk_insert",),
            f"has no meaning with `operation: {table.effective_operation}`; set `operation: bulk_insert` "
            "(`mode: append`)",
        )
    if bulk.sort_by and bulk.sort != "none":
        yield ("bulk_insert", "sort_by"), f"cannot be combined with `sort: {bulk.sort}`: remove one of them"


def _iter_cleaning_problems(table: TableFields) -> Iterator[Problem]:
    given = [name for name in _KEEP if getattr(table, name) is not None]
    for name in given[1:]:
        yield (name,), f"cannot be combined with `{given[0]}`: only one rule may select the files to keep"
    if table.compact_after == 0 and table.table_type == "merge_on_read":
        yield (
            ("compact_after",),
            "0 disables compaction, and nothing else compacts this table: each read would merge all log "
            "files ever written. Allowed: a whole number of at least 1",
        )
    if (
        table.table_type == "merge_on_read"
        and table.services == "inline"
        and table.hoodie.get(_COMPACTS, "").lower() == "false"
    ):
        yield (
            ("hoodie", _COMPACTS),
            "nothing else compacts this table: each read would merge all log files ever written; remove it, "
            "or set `services: async` and run `headwater services run`",
        )


def _iter_clustering_problems(table: TableFields) -> Iterator[Problem]:
    limit = type(table).model_fields["max_pending_clustering"].default
    if table.max_pending_clustering != limit:
        if table.clustering is None:
            yield ("max_pending_clustering",), "has no meaning without `clustering`"
        elif table.services == "inline":
            yield (
                ("max_pending_clustering",),
                "has no meaning with `services: inline`, which leaves no plan pending",
            )
    if table.clustering is None:
        return
    if table.index is not None and table.index.type == "bucket":
        yield (
            ("clustering",),
            "cannot be combined with `index: {type: bucket}`: it moves rows out of the files that the index "
            "computes; remove it, or use another index",
        )
    if table.clustering.layout != "linear" and len(table.clustering.sort_by) < 2:
        yield (
            ("clustering", "layout"),
            f"{table.clustering.layout!r} needs two columns or more in `clustering.sort_by`. Allowed: linear",
        )
    for key in _WHO_CLUSTERS:
        if key in table.hoodie:
            yield (
                ("hoodie", key),
                "cannot be combined with `clustering`: `services` selects the process that runs it",
            )


def _iter_writers_problems(table: TableFields) -> Iterator[Problem]:
    is_compacted = table.table_type == "merge_on_read"
    if table.services == "semi_async" and not is_compacted and table.clustering is None:
        yield (
            ("services",),
            "'semi_async' has no meaning with `table_type: copy_on_write`, which has nothing to compact, "
            "without `clustering`. Allowed: inline, async",
        )
    limit = type(table).model_fields["max_pending_compactions"].default
    if table.services == "inline" and table.max_pending_compactions != limit:
        yield (
            ("max_pending_compactions",),
            "has no meaning with `services: inline`, which leaves no plan pending",
        )
    if table.concurrency == "non_blocking":
        is_bucketed = table.index is not None and table.index.type == "bucket"
        if table.table_type != "merge_on_read" or not is_bucketed:
            yield (
                ("concurrency",),
                "'non_blocking' needs `table_type: merge_on_read` and `index: {type: bucket, buckets: "
                "...}`: two writers must write a new key to the same file",
            )
        if table.effective_mode != "merge":
            yield (
                ("concurrency",),
                f"'non_blocking' has no meaning with `mode: {table.effective_mode}`; use `mode: merge`, "
                "where the ordering decides which row wins",
            )
