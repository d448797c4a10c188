"""Which of a table's Hudi options go together; what is said of those that do not."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from headwater.config.loader import parse_settings
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.errors import ConfigError

MERGE = {"path": "*.json", "record_key": "id"}
MIRROR = {"path": "*.json", "mode": "mirror"}
APPEND = {"path": "*.json"}


def only_problem(table: Mapping[str, object]) -> str:
    data = {"source": {"type": "local", "path": "in"}, "lake": "out", "tables": {"t": table}}
    with pytest.raises(ConfigError) as caught:
        parse_settings(yaml.safe_dump(data), Path("headwater.yaml"), {})
    assert caught.value.exit_code == 2
    (line,) = caught.value.message.splitlines()
    return line.partition(": tables.t.")[2]


@pytest.mark.parametrize(
    ("table", "expected_message"),
    [
        (MERGE | {"index": {"type": "bucket"}}, "index.buckets: missing; `type: bucket` needs"),
        (
            MERGE | {"index": {"type": "bukket"}},
            "index.type: 'bukket' is not allowed. Did you mean 'bucket'?",
        ),
        (
            MERGE | {"index": {"type": "bloom", "buckets": 4}},
            "index.buckets: has no meaning with `type: bloom`",
        ),
        (
            MERGE | {"index": {"type": "bucket", "buckets": 4, "engine": "consistent_hashing"}},
            "index.engine: 'consistent_hashing' needs `table_type: merge_on_read`. Allowed: simple",
        ),
        (
            MERGE | {"index": {"type": "bucket", "buckets": 4}, "hoodie": {"hoodie.clustering.inline": True}},
            "hoodie.hoodie.clustering.inline: clustering moves rows out of the buckets",
        ),
        (
            MERGE | {"index": {"type": "record_level"}, "metadata_table": False},
            "metadata_table: `index: {type: record_level}` needs the metadata table; leave",
        ),
        (
            MERGE | {"column_stats": ["id"], "metadata_table": False},
            "metadata_table: `column_stats` needs the metadata table",
        ),
        (
            MERGE | {"services": "async", "indexing": "async"},
            "indexing: 'async' has no meaning without `column_stats`. Allowed: inline",
        ),
        (
            MERGE | {"column_stats": ["id"], "indexing": "async"},
            "indexing: 'async' needs `services: async`",
        ),
        (
            MERGE
            | {"column_stats": ["id"], "services": "async", "indexing": "async"}
            | {"index": {"type": "global_record_level"}},
            "indexing: cannot be 'async' with `index: {type: global_record_level}`, which each commit needs",
        ),
        (MERGE | {"partition_style": "plain"}, "partition_style: has no meaning without `partition`"),
        (
            MERGE | {"partition": "day", "drop_partition_columns": True, "table_type": "merge_on_read"},
            "drop_partition_columns: needs `table_type: copy_on_write`: Hudi 1.2 rejects the second write",
        ),
        (MIRROR | {"merge_mode": "commit_time"}, "merge_mode: has no meaning with `mode: mirror`"),
        (
            MERGE | {"merge_mode": "commit_time", "ordering": "ts"},
            "merge_mode: 'commit_time' keeps the row written last, but `ordering` keeps the one with",
        ),
        (
            MERGE | {"partial_updates": True, "table_type": "merge_on_read"},
            "partial_updates: needs `table_type: copy_on_write`: when Hudi 1.2 merges log files, a late",
        ),
        (MERGE | {"filter_duplicates": True}, "filter_duplicates: has no meaning with `mode: merge`"),
        (APPEND | {"filter_duplicates": True}, "record_key: missing; `filter_duplicates` needs the fields"),
        (
            APPEND
            | {"mode": "append", "record_key": "id", "filter_duplicates": True, "operation": "bulk_insert"},
            "operation: 'bulk_insert' does not check for duplicates",
        ),
        (
            MERGE | {"operation": "insert_overwrite"},
            "operation: 'insert_overwrite' would replace the rows of previous batches",
        ),
        (
            APPEND | {"bulk_insert": {"sort": "global_sort"}},
            "bulk_insert: has no meaning with `operation",
        ),
        (
            APPEND | {"operation": "bulk_insert", "bulk_insert": {"sort": "global_sort", "sort_by": "id"}},
            "bulk_insert.sort_by: cannot be combined with `sort: global_sort`",
        ),
        (
            MERGE | {"merger": "a.B", "table_type": "merge_on_read"},
            "merger: needs `table_type: copy_on_write`: every reader of log files would need the class",
        ),
        (MERGE | {"merger": "a.B", "payload": "a.C"}, "merger: cannot be combined with `payload`"),
        (
            MERGE | {"merger": "a.B", "merge_mode": "commit_time"},
            "merge_mode: cannot be combined with `merger`",
        ),
        (
            MERGE | {"merger": "a.B", "cdc": "data_before"},
            "cdc: 'data_before' cannot be combined with `merger`",
        ),
        (APPEND | {"merger": "a.B"}, "merger: has no meaning with `mode: append`"),
        (MERGE | {"keep_commits": 5, "keep_hours": 5}, "keep_hours: cannot be combined with `keep_commits`"),
        (
            MERGE | {"clustering": {"after": 4}, "index": {"type": "bucket", "buckets": 2}},
            "clustering: cannot be combined with `index: {type: bucket}`",
        ),
        (
            MERGE | {"clustering": {"after": 4, "sort_by": "id", "layout": "hilbert"}},
            "clustering.layout: 'hilbert' needs two columns or more",
        ),
        (
            MERGE | {"clustering": {"after": 4}, "hoodie": {"hoodie.clustering.inline": "true"}},
            "hoodie.hoodie.clustering.inline: cannot be combined with `clustering`",
        ),
        (
            MERGE | {"max_pending_clustering": 2},
            "max_pending_clustering: has no meaning without `clustering`",
        ),
        (
            MERGE | {"max_pending_clustering": 2, "clustering": {"after": 4}},
            "max_pending_clustering: has no meaning with `services: inline`",
        ),
        (
            MERGE | {"compact_after": 5},
            "compact_after: needs `table_type: merge_on_read`: a copy-on-write table has no log files",
        ),
        (
            MERGE | {"compact_after": 0, "table_type": "merge_on_read"},
            "compact_after: 0 disables compaction, and nothing else compacts this table",
        ),
    ],
)
def test_incompatible_options_are_rejected_with_alternatives(table, expected_message):
    assert only_problem(table).startswith(expected_message)


def test_table_that_gives_none_has_none():
    for table in (MERGE, MIRROR, APPEND):
        assert list_typed_options(TableConfig.model_validate(table)) == {}


def test_explicit_options_are_named_by_their_path():
    given = {
        "partition": "day",
        "table_type": "merge_on_read",
        "index": {"type": "bucket", "buckets": 4, "engine": "consistent_hashing"},
        "file_sizes": {"small": 0, "max": "64MiB"},
        "column_stats": "day, id",
        "metadata_table": True,
        "keep_hours": 2,
    }
    table = TableConfig.model_validate(MERGE | given)
    assert list_typed_options(table) == {
        "index.type": "bucket",
        "index.buckets": 4,
        "index.engine": "consistent_hashing",
        "file_sizes.small": 0,
        "file_sizes.max": 64 * 1024**2,
        "column_stats": ("day", "id"),
        "metadata_table": True,
        "keep_hours": 2,
    }


def test_orc_needs_the_reader_that_can_read_it():
    orc = MERGE | {"base_file_format": "orc"}
    assert only_problem(orc).startswith(
        "base_file_format: 'orc': with Hudi 1.2, Spark cannot read such a table"
    )
    text = (
        "source: {type: local, path: in}\nlake: out\ntables: {t: {path: a.json, base_file_format: orc}}\n"
        "spark: {config: {spark.sql.orc.enableVectorizedReader: false}}\n"
    )
    settings = parse_settings(text, Path("headwater.yaml"), {})
    assert list_typed_options(settings.tables["t"]) == {"base_file_format": "orc"}
