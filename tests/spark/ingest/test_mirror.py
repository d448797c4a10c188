"""A mirror's rows follow their objects: overwrites, removals, and whatever order their events come in."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from headwater.lake.layout import ledger_path

TABLE_TYPES = ("copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.slow))


def lines(*values):
    return "".join(json.dumps({"id": value, "text": f"t{value}"}) + "\n" for value in values)


@pytest.fixture(params=TABLE_TYPES)
def lake(request, build):
    return build(things={"path": "**/*.json", "mode": "mirror", "table_type": request.param})


def present(lake):
    return lake.rows("things", "id")


def states(lake):
    return {row[0]: row[1:] for row in lake.ledger("key", "status", "reason", "rows", "events")}


def test_overwrite_replaces_the_rows_of_its_object_and_no_other(lake):
    lake.put("a.json", lines(1, 2, 3))
    lake.put("b.json", lines(10))
    lake.ingest("things")
    lake.put("a.json", lines(4))
    lake.ingest("things")
    assert present(lake) == [(4,), (10,)]
    lake.put("a.json", lines(5, 6, 7, 8))
    lake.ingest("things")
    assert present(lake) == [(5,), (6,), (7,), (8,), (10,)]
    assert states(lake)["a.json"] == ("ingested", "", 4, 3)


def test_removal_takes_the_rows_away_and_a_new_object_brings_them_back(lake):
    lake.put_many([("a.json", lines(1, 2)), ("b.json", lines(3))])
    lake.ingest("things")
    (lake.source / "a.json").unlink()
    lake.announce("a.json", kind="removed")
    (result,) = lake.ingest("things")
    assert result.committed
    assert present(lake) == [(3,)]
    assert states(lake)["a.json"] == ("removed", "", 0, 2)
    lake.put("a.json", lines(1, 9))
    lake.ingest("things")
    assert present(lake) == [(1,), (3,), (9,)]


def test_late_event_never_brings_removed_rows_back(lake):
    lake.write("a.json", lines(1))
    late = lake.capture("a.json")
    lake.put("a.json", lines(1))
    lake.ingest("things")
    lake.announce("a.json", kind="removed")
    lake.ingest("things")
    lake.append(late)
    lake.ingest("things")
    assert present(lake) == []
    assert states(lake)["a.json"] == ("removed", "", 0, 3)


def test_batch_of_overwrites_and_removals_is_one_commit(lake):
    lake.put_many([(f"{name}.json", lines(name)) for name in "abcd"])
    lake.ingest("things")
    lake.write("a.json", lines("a2"))
    (lake.source / "b.json").unlink()
    lake.write("e.json", lines("e"))
    lake.append(
        lake.capture("a.json"), lake.capture("b.json", "removed"), lake.capture("e.json"),
    )  # fmt: skip
    (result,) = lake.ingest("things")
    assert result.committed
    assert present(lake) == [("a2",), ("c",), ("d",), ("e",)]


@pytest.mark.slow
def test_large_compressed_object_is_read_with_a_concurrent_removal(lake):
    lake.put_many([("a.json", lines(1)), ("b.json", lines(2))])
    lake.ingest("things")
    # Told by its first bytes, as its name does not say so.
    lake.write("a.json", gzip.compress(lines(*range(200_000)).encode()))
    (lake.source / "b.json").unlink()
    lake.append(lake.capture("a.json"), lake.capture("b.json", "removed"))
    lake.ingest("things")
    assert lake.quarantine("key", "reason", "detail") == []
    assert len(present(lake)) == 200_000


def test_object_that_becomes_empty_has_no_rows(lake):
    lake.put("a.json", lines(1, 2))
    lake.ingest("things")
    lake.put("a.json", "")
    lake.ingest("things")
    assert present(lake) == []
    assert states(lake)["a.json"] == ("skipped", "empty_object", 0, 2)


def test_objects_without_rows_may_be_removed_before_the_first_commit(build):
    lake = build(things={"path": "**/*.json", "mode": "mirror"})
    lake.put("a.json", "")
    lake.ingest("things")
    lake.announce("a.json", kind="removed")
    lake.ingest("things")
    lake.put("a.json", lines(1))
    lake.ingest("things")
    assert present(lake) == [(1,)]


def test_object_that_becomes_unreadable_has_no_rows_and_is_quarantined(lake):
    lake.put_many([("a.json", lines(1, 2)), ("b.json", lines(3))])
    lake.ingest("things")
    lake.put("a.json", "{not json\n")
    lake.ingest("things")
    assert present(lake) == [(3,)]
    assert lake.quarantine("key", "reason") == [("a.json", "unparsable")]
    assert states(lake)["a.json"] == ("quarantined", "unparsable", 0, 2)


def test_object_deleted_before_the_read_leaves_no_rows_or_quarantine(lake):
    lake.put_many([("a.json", lines(1)), ("b.json", lines(3))])
    lake.ingest("things")
    lake.write("a.json", lines(2))
    overwritten = lake.capture("a.json")
    (lake.source / "a.json").unlink()
    lake.append(overwritten)
    lake.ingest("things")
    assert present(lake) == [(3,)]
    assert lake.quarantine("key") == []
    assert states(lake)["a.json"] == ("removed", "missing", 0, 2)


def test_row_that_moves_to_another_partition_is_in_one_of_them_only(build):
    lake = build(things={"path": "*.json", "mode": "mirror", "partition": "day"})
    lake.put("a.json", '{"id": 1, "day": "mon"}\n{"id": 2, "day": "mon"}\n')
    lake.ingest("things")
    lake.put("a.json", '{"id": 1, "day": "tue"}\n{"id": 2, "day": "mon"}\n')
    lake.ingest("things")
    assert lake.rows("things", "id", "day") == [(1, "tue"), (2, "mon")]


def test_ledger_that_was_deleted_is_built_again_with_the_same_content(lake):
    lake.put_many([(f"{n}.json", lines(n)) for n in range(5)])
    lake.ingest("things")
    lake.put("0.json", lines(7, 8))
    lake.announce("1.json", kind="removed")
    lake.put("2.json", "")
    lake.put("3.json", "{\n")
    lake.ingest("things")
    columns = lake.ledger_columns()
    before = lake.ledger(*columns)
    assert len(before) == 5
    shutil.rmtree(Path(ledger_path(lake.lake)))
    lake.put("9.json", lines(9))
    lake.ingest("things")
    after = lake.ledger(*columns)
    key = columns.index("key")
    assert [row for row in after if row[key] != "9.json"] == before
    assert len(after) == 6
