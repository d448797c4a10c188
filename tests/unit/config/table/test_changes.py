"""`changes:` its presets, and what conflicts with it."""

from typing import Any

import pytest
from pydantic import ValidationError

from headwater.config.table import TableConfig

FLAT = {"op": "op", "insert": "I", "update": "U", "delete": "D", "sequence": "at"}


def build(**table: Any) -> TableConfig:
    return TableConfig.model_validate({"path": "*.json", "record_key": "id", "changes": FLAT} | table)


def list_problems(**table: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        build(**table)
    return [str(one["msg"]) for one in error.value.errors()]


def test_a_table_of_changes_is_a_merge_table() -> None:
    assert build().effective_mode == "merge"
    assert build().effective_operation == "upsert"


@pytest.mark.parametrize("preset", ["dms", "debezium", "maxwell"])
def test_presets_are_complete_and_can_be_changed(preset: str) -> None:
    found = build(changes={"preset": preset, "delete": "gone", "keep_tombstones": "7 days"}).changes
    assert found is not None
    assert found.settled.delete == ("gone",)
    assert found.settled.op
    assert found.settled.insert
    assert found.settled.keep_tombstones == 7 * 86_400
    assert found.is_envelope is (preset != "dms")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"changes": {"delete": "D"}}, "missing; name the field with the operation"),
        ({"changes": {"op": "op", "insert": "I"}}, "missing; without operations that delete rows"),
        ({"changes": {**FLAT, "update": "D"}}, "'D' is also an operation of `update`"),
        ({"changes": {**FLAT, "before": "old"}}, "has no meaning without `after`"),
        ({"changes": {**FLAT, "table": "a.b"}}, "has no meaning without `after`"),
        ({"changes": {**FLAT, "after": "new", "before_prefix": "old_"}}, "cannot be combined with `after`"),
        ({"changes": {"preset": "debezium"}, "path": "*.csv"}, "which has no nested fields"),
        ({"record_key": []}, "missing; `changes` requires"),
        ({"mode": "mirror", "record_key": []}, "cannot be combined with `changes`. Allowed: merge"),
        ({"ordering": "at"}, "use `changes.sequence`"),
        ({"merge_mode": "commit_time"}, "decides which change of a row wins"),
        ({"partial_updates": True}, "decides which change of a row wins"),
        ({"payload": "com.example.Own"}, "decides which change of a row wins"),
        ({"partition": "day"}, "must find a row in every partition: a delete may lack 'day'"),
        ({"partition": "day", "index": {"type": "bloom"}}, "must find a row in every partition"),
        (
            {
                "concurrency": "non_blocking",
                "table_type": "merge_on_read",
                "index": {"type": "bucket", "buckets": 2},
            },
            "'non_blocking' cannot be combined with `changes`",
        ),
        ({"hoodie": {"hoodie.write.merge.handle.class": "a.B"}}, "decides which change of a row wins"),
        ({"hoodie": {"hoodie.combine.before.upsert": "false"}}, "decides which change of a row wins"),
        ({"changes": {"preset": "oracle"}}, "Input should be 'dms', 'debezium', 'kafka' or 'maxwell'"),
    ],
)
def test_conflicts(table: dict[str, Any], text: str) -> None:
    assert any(text in problem for problem in list_problems(**table))


@pytest.mark.parametrize(
    "table",
    [
        {"partition": "id"},
        {"partition": "day", "index": {"type": "global_record_level"}},
        {"changes": {"preset": "dms"}, "path": "*.csv"},
        {"changes": {"preset": "maxwell", "truncate": "table-truncate", "ignore": []}},
        {"table_type": "merge_on_read", "index": {"type": "bucket", "buckets": 2}},
    ],
)
def test_what_fits(table: dict[str, Any]) -> None:
    build(**table)
