"""A keyed table's commits are tried again when another writer came first, and for no other reason."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import tenacity.nap
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from headwater.errors import LakeError, WriteConflictError
from headwater.lake.keyed_table import _ATTEMPTS, KeyedTable, RowKey, choose_compact_after
from headwater.lake.options import WriteOptions

SCHEMA = StructType([StructField("id", StringType())])
MIB = 1024 * 1024


class Failing:
    """A table whose first writes fail."""

    def __init__(self, *errors: LakeError) -> None:
        self.errors = list(errors)
        self.writes = 0
        self.raised: LakeError | None = None

    def write(self, frame: DataFrame, options: WriteOptions) -> None:
        del frame, options
        self.writes += 1
        if self.errors:
            raise self.errors.pop(0)


def write(monkeypatch: pytest.MonkeyPatch, *errors: LakeError) -> Failing:
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=lambda _seconds: None))
    table = KeyedTable(cast(SparkSession, None), "/nowhere", "ledger", SCHEMA, RowKey(("id",)))
    failing = Failing(*errors)
    cast(Any, table)._table = failing
    try:
        table.write_frame(cast(DataFrame, None))
    except LakeError as error:
        failing.raised = error
    return failing


@pytest.mark.parametrize(
    ("size", "commits"), [(0, 20), (80 * MIB, 20), (84 * MIB, 21), (1_000 * MIB, 250), (2**40, 400)]
)
def test_large_table_is_compacted_after_more_commits(size: int, commits: int) -> None:
    assert choose_compact_after(size) == commits


def test_a_conflict_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = write(monkeypatch, WriteConflictError("first"), WriteConflictError("again"))
    assert (done.writes, done.raised) == (3, None)


def test_it_gives_up_after_some_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    done = write(monkeypatch, *(WriteConflictError(str(at)) for at in range(_ATTEMPTS)))
    assert (done.writes, str(done.raised)) == (_ATTEMPTS, str(_ATTEMPTS - 1))


def test_another_failure_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = write(monkeypatch, LakeError("no space"))
    assert (done.writes, str(done.raised)) == (1, "no space")
