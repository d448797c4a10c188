"""What is read is what the event names: a version where there is one, else a state that is still there."""

import socket

import pytest

from headwater.errors import HeadwaterError
from tests.fixtures.bucket_lake import BucketLake

pytestmark = pytest.mark.slow

ROWS = {"rows": {"path": "*.json"}}


def test_every_version_is_read_even_if_superseded(build):
    lake = build(versioned=True, **ROWS)
    first = lake.put("a.json", '{"n": 1}\n')
    second = lake.put("a.json", '{"n": 2}\n{"n": 22}\n')
    removed = lake.remove("a.json")
    lake.announce(second, removed, first)
    lake.ingest("rows")
    assert lake.rows("rows", "n", "_headwater_version") == [
        (1, first.version_id),
        (2, second.version_id),
        (22, second.version_id),
    ]


def test_delete_marker_changes_nothing_in_append_and_is_accounted_for(build):
    lake = build(versioned=True, **ROWS)
    created = lake.put("a.json", '{"n": 1}\n')
    lake.announce(created)
    lake.ingest("rows")
    lake.announce(lake.remove("a.json"))
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(1,)]
    assert lake.ledger("status", "events") == [("ingested", 2)]


def test_version_that_was_removed_for_good_is_missing_and_the_others_are_rows(build):
    lake = build(versioned=True, **ROWS)
    gone, kept = lake.put("a.json", '{"n": 1}\n'), lake.put("a.json", '{"n": 2}\n')
    lake.s3.delete_object(Bucket=lake.bucket, Key="a.json", VersionId=gone.version_id)
    lake.announce(gone, kept)
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(2,)]


def test_overwritten_content_without_versions_is_superseded_and_its_successor_ingested_once(build):
    lake = build(versioned=False, **ROWS)
    first = lake.put("a.json", '{"n": 1}\n')
    second = lake.put("a.json", '{"n": 22}\n')
    lake.announce(first)
    assert [result.objects for result in lake.ingest("rows")] == [{"superseded": 1}]
    lake.announce(second)
    lake.ingest("rows")
    assert lake.rows("rows", "n", "_headwater_version") == [(22, second.etag)]


def test_restored_object_is_read_when_its_rows_are_not_there_and_only_then(build):
    lake = build(versioned=False, **ROWS)
    known, unknown = lake.put("known.json", '{"n": 1}\n'), lake.put("unknown.json", '{"n": 2}\n')
    lake.announce(known)
    lake.ingest("rows")
    lake.announce(lake.restore(known), lake.restore(unknown))
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(1,), (2,)]
    wanted = [("known.json", "ingested", 2), ("unknown.json", "ingested", 1)]
    assert lake.ledger("key", "status", "events") == wanted


def test_many_objects_are_read_by_executors_with_the_same_result(build):
    lake = build(versioned=True, **ROWS)
    events = [lake.put(f"ü {n}+%41.json", f'{{"n": {n}}}\n') for n in range(70)]
    lake.announce(*events)
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(n,) for n in range(70)]


def test_store_that_does_not_answer_fails_the_batch_and_loses_nothing(build):
    with socket.socket() as taken:
        # Bound and never listening: connections are refused for as long as this is open.
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        check_outage(build(versioned=False, endpoint=endpoint, rows={"path": "*.json", "schema": "n bigint"}))


def check_outage(lake: BucketLake) -> None:
    lake.announce(lake.put("a.json", '{"n": 1}\n'))
    with pytest.raises(HeadwaterError) as caught:
        lake.ingest("rows")
    assert "a.json" in caught.value.message or "source" in caught.value.message
    assert lake.quarantine("key") == []
