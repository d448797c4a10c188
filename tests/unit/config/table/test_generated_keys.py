"""Tables whose keys Hudi generates: what is refused of them, before Spark starts."""

from pathlib import Path

import pytest
import yaml

from headwater.config.loader import parse_settings
from headwater.config.table import TableConfig
from headwater.errors import ConfigError

TABLE = {"path": "*.json", "generated_keys": True}


def list_problems(table: dict[str, object], **others: dict[str, object]) -> list[str]:
    tables = {"t": table, **others}
    data = {"source": {"type": "local", "path": "in"}, "lake": "out", "tables": tables}
    with pytest.raises(ConfigError) as caught:
        parse_settings(yaml.safe_dump(data), Path("headwater.yaml"), {})
    assert caught.value.exit_code == 2
    return [line.partition(": tables.t.")[2] for line in caught.value.message.splitlines()]


@pytest.mark.parametrize(
    ("given", "expected_message"),
    [
        ({"record_key": "id"}, "record_key: cannot be combined with `generated_keys`"),
        ({"record_key": "id", "mode": "append"}, "record_key: cannot be combined with `generated_keys`"),
        (
            {"mode": "mirror"},
            "generated_keys: cannot be combined with `mode: mirror`, which matches rows by key",
        ),
        (
            {"filter_duplicates": True},
            "filter_duplicates: cannot be combined with `generated_keys`: every row has",
        ),
        ({"operation": "upsert"}, "operation: 'upsert' requires `mode: merge` with a `record_key`"),
        ({"cdc": "data_before_after"}, "cdc: 'data_before_after' cannot be combined with `generated_keys`"),
        ({"cdc": "op_key_only", "operation": "bulk_insert"}, "cdc: 'op_key_only' cannot be combined with"),
        (
            {"index": {"type": "bucket", "buckets": 2}},
            "index.type: 'bucket' computes the file of a row from its key fields",
        ),
        (
            {"index": {"type": "global_bloom"}},
            "index.type: 'global_bloom' is not applicable: appended rows need no key lookup",
        ),
        (
            {"hoodie": {"hoodie.datasource.write.recordkey.field": "id"}},
            "hoodie.hoodie.datasource.write.recordkey.field: cannot be combined with `generated_keys`",
        ),
        (
            {"hoodie": {"hoodie.datasource.write.operation": "delete"}},
            "hoodie.hoodie.datasource.write.operation: 'delete' requires keys",
        ),
        (
            {"hoodie": {"hoodie.index.type": "BUCKET"}},
            "hoodie.hoodie.index.type: 'BUCKET' cannot be combined with",
        ),
        (
            {"hoodie": {"hoodie.datasource.write.insert.drop.duplicates": True}},
            "hoodie.hoodie.datasource.write.insert.drop.duplicates: 'true' cannot be combined with",
        ),
        (
            {"hoodie": {"hoodie.combine.before.insert": True}},
            "hoodie.hoodie.combine.before.insert: 'true' cannot be combined with `generated_keys`: Hudi "
            "rejects it",
        ),
        (
            {"hoodie": {"hoodie.populate.meta.fields": False}},
            "hoodie.hoodie.populate.meta.fields: 'false' cannot be combined with `generated_keys`",
        ),
    ],
)
def test_key_dependent_settings_are_rejected_with_alternatives(given, expected_message):
    (problem,) = list_problems(TABLE | given)
    assert problem.startswith(expected_message)


def test_merge_needs_a_key_and_is_no_mode_for_generated_ones():
    without, generated = list_problems(TABLE | {"mode": "merge"})
    assert without.startswith("record_key: missing; `mode: merge` requires")
    assert generated.startswith("generated_keys: cannot be combined with `mode: merge`")


def test_table_built_from_a_table_finds_its_rows_by_their_key():
    (problem,) = list_problems({"from": "raw", "generated_keys": True}, raw={"path": "*.json"})
    assert problem.startswith("generated_keys: cannot be combined with `from: raw`")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mode": "append", "operation": "bulk_insert", "bulk_insert": {"sort": "global_sort"}},
        {"table_type": "merge_on_read", "compact_after": 3, "partition": "day", "keep_partition_days": 30},
        {"index": {"type": "global_record_level"}},
        {"clustering": {"after": 4, "sort_by": ["day"]}, "column_stats": True},
        {"hoodie": {"hoodie.datasource.write.operation": "bulk_insert"}},
    ],
)
def test_rows_are_added_by_insert_or_bulk_insert(given):
    table = TableConfig(**TABLE, **given)
    assert table.effective_mode == "append"
    assert table.effective_operation == given.get("operation", "insert")
