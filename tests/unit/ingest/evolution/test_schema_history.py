"""Versions of a table's columns, as they are carried from commit to commit."""

from datetime import datetime, timezone

import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from headwater.capture.position import BEGINNING, Position
from headwater.errors import LakeError
from headwater.ingest.committed_state import CommittedState, parse_committed_state
from headwater.ingest.evolution.schema_history import (
    RecordedChange,
    SchemaVersion,
    add_version,
    name_commit,
    parse_history,
    write_history,
)

NOW = datetime(2026, 5, 2, 10, tzinfo=timezone.utc)
FIRST = StructType([StructField("a", LongType())])
SECOND = StructType([StructField("a", DoubleType()), StructField("b", StringType())])


def test_version_is_added_when_columns_differ_and_says_by_which_object():
    first = add_version((), None, FIRST, {}, NOW)
    same = add_version(first, FIRST, FIRST, {}, NOW)
    second = add_version(name_commit(same, "c1"), FIRST, SECOND, {"b": "s3://x/y"}, NOW)
    assert first == same == (SchemaVersion(1, NOW),)
    assert second[0].commit == "c1"
    assert second[1].version == 2
    assert second[1].changes == (
        RecordedChange("widened", "a", "bigint", "double", None),
        RecordedChange("added", "b", None, "string", "s3://x/y"),
    )
    assert name_commit(name_commit(second, "c2"), "c3")[1].commit == "c2"


def test_table_older_than_its_history_has_a_first_version():
    assert [v.version for v in add_version((), FIRST, SECOND, {}, NOW)] == [1, 2]


def test_history_survives_the_commit_metadata():
    history = add_version(add_version((), None, FIRST, {}, NOW), FIRST, SECOND, {"b": "ü"}, NOW)
    state = CommittedState(
        Position("20260502100000000", 3), SECOND, history=history, rescued_column="_rescued_data"
    )
    assert parse_history(write_history(history)) == history
    assert parse_committed_state(state.to_metadata()) == state
    assert parse_committed_state({"checkpoint": state.checkpoint.to_text()}).history == ()


@pytest.mark.parametrize(
    "metadata",
    [{"checkpoint": "yesterday"}, {"schema": "{}"}, {"checkpoint": BEGINNING.to_text(), "schema": "{"}],
)
def test_invalid_state_error_names_possible_owner(metadata):
    with pytest.raises(LakeError) as caught:
        parse_committed_state(metadata)
    assert "headwater." in caught.value.hint


def test_oldest_versions_are_forgotten_before_the_commits_grow_without_end():
    history: tuple[SchemaVersion, ...] = ()
    before = None
    for number in range(300):
        after = StructType([StructField(f"c{at}", LongType()) for at in range(number + 1)])
        history, before = add_version(history, before, after, {}, NOW), after
    assert len(history) == 200
    assert history[-1].version == 300
