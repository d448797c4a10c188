"""Rows that Spark or Hudi fails on: bisected, quarantined with their reason, and the others committed."""

import json
import logging
from typing import Any

import pytest

from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

ANSI_STEP = {
    "sql": "select _headwater_source, id, if(id = 7, raise_error('seven is bad'), id) as checked from input"
}


def lines(*ids: int) -> str:
    return "".join(f'{{"id":{n}}}\n' for n in ids)


def quarantined(lake: FolderLake) -> list[tuple[Any, ...]]:
    return lake.quarantine("level", "reason", "key", "line", "payload")


def test_record_with_failing_transform_is_quarantined(build, caplog):
    lake = build(t={"path": "*.json", "transform": [ANSI_STEP]})
    lake.put_many([("a.json", lines(1, 2)), ("b.json", lines(3, 7, 4)), ("c.json", lines(5))])
    with caplog.at_level(logging.WARNING):
        (result,) = lake.ingest("t")
    assert lake.rows("t", "id") == [(1,), (2,), (3,), (4,), (5,)]
    assert quarantined(lake) == [("record", "unwritable", "b.json", 2, '{"id":7}')]
    assert "seven is bad" in lake.quarantine("detail")[0][0]
    assert (result.rows, result.bad_rows, dict(result.objects)) == (5, 1, {"ingested": 3})
    assert "cannot write 1 records of b.json" in caplog.text
    lake.put("d.json", lines(6))
    lake.ingest("t")
    assert lake.rows("t", "id")[-1] == (6,)


def test_an_object_of_which_all_records_fail_is_quarantined_and_ingested_after_the_correction(build):
    lake = build(t={"path": "*.json", "transform": [ANSI_STEP]})
    lake.put_many([("a.json", lines(7, 7)), ("b.json", lines(1))])
    (result,) = lake.ingest("t")
    assert dict(result.objects) == {"ingested": 1, "quarantined": 1}
    assert quarantined(lake) == [("object", "unwritable", "a.json", None, None)]
    assert lake.ledger("key", "status", "reason", "rows") == [
        ("a.json", "quarantined", "unwritable", 0),
        ("b.json", "ingested", "", 1),
    ]
    lake.change("t", transform=[{"sql": "select _headwater_source, id, id as checked from input"}])
    lake.announce("a.json")
    lake.ingest("t")
    assert lake.rows("t", "id") == [(1,), (7,), (7,)]


@pytest.mark.parametrize("mode", ["append", "merge", "mirror"])
def test_a_record_that_hudi_cannot_write_is_quarantined_and_the_others_are_committed(build, mode):
    key = {"record_key": "id"} if mode == "merge" else {}
    nested = {"partition": "p", "url_encode_partitions": False}
    lake = build(t={"path": "*.json", "mode": mode, **nested, **key})
    records = [{"id": n, "p": "10:30" if n == 3 else "a"} for n in range(5)]
    lake.put_many(
        [("a.json", "".join(json.dumps(r) + "\n" for r in records)), ("b.json", '{"id":9,"p":"b"}\n')]
    )
    (result,) = lake.ingest("t")
    assert (result.rows, result.bad_rows) == (5, 1)
    assert lake.rows("t", "id") == [(0,), (1,), (2,), (4,), (9,)]
    ((level, reason, key_, line, detail),) = lake.quarantine("level", "reason", "key", "line", "detail")
    assert (level, reason, key_, line) == ("record", "unwritable", "a.json", 4)
    assert "URISyntaxException" in detail
    assert lake.ledger("key", "status", "rows", "bad_rows") == [
        ("a.json", "ingested", 4, 1),
        ("b.json", "ingested", 1, 0),
    ]
    assert not list(lake.source.parent.glob("lake/_headwater/scratch-*"))


def test_a_large_batch_is_halved_until_its_bad_object_is_found(build, monkeypatch):
    monkeypatch.setattr("headwater.ingest.objects.MAX_OBJECTS", 2)
    lake = build(t={"path": "*.json", "transform": [ANSI_STEP]})
    lake.put_many([(f"{n}.json", lines(n)) for n in range(8)])
    results = lake.ingest("t")
    assert [sum(result.objects.values()) for result in results] == [4, 2, 2]
    assert lake.rows("t", "id") == [(n,) for n in range(7)]
    assert [row[2] for row in quarantined(lake)] == ["7.json"]
