"""Timelines by the names of their files."""

from datetime import datetime, timezone

import pytest

from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.instants import build_instants, parse_instant_name, parse_time

T1, T2, C1, C2 = "20260101000000000", "20260101000100000", "20260101000000500", "20260101000100500"


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        (f"{T1}_{C1}.commit", (T1, C1, "commit", "completed")),
        (f"{T1}_{C1}.savepoint", (T1, C1, "savepoint", "completed")),
        (f"{T1}.commit.requested", (T1, "", "commit", "requested")),
        (f"{T1}.inflight", (T1, "", "commit", "inflight")),
        (f"{T1}.deltacommit.inflight", (T1, "", "deltacommit", "inflight")),
        (f"{T1}.compaction.requested", (T1, "", "compaction", "requested")),
        (f"{T1}.logcompaction.inflight", (T1, "", "logcompaction", "inflight")),
        (f"{T1}.clustering.requested", (T1, "", "clustering", "requested")),
        (f"{T1}.indexing.inflight", (T1, "", "indexing", "inflight")),
        (f"{T1}_{C1}.restore", (T1, C1, "restore", "completed")),
        ("20260101000000_20260101000001.commit", ("20260101000000", "20260101000001", "commit", "completed")),
        (f"{T1}.commit", None),  # a timeline of Hudi 0.x
        (f".{T1}_{C1}.commit.crc", None),
        ("history", None),
        (f"{T1}_{C1}.commit.requested", None),
    ],
)
def test_name_has_action_state_and_times(name, parsed):
    assert parse_instant_name(name) == parsed


def build(*names: str):
    return build_instants(StoredFile(f".hoodie/timeline/{name}", 1) for name in names)


def test_files_of_one_action_are_one_instant_in_the_furthest_state():
    done, begun = build(
        f"{T1}.commit.requested", f"{T1}.inflight", f"{T1}_{C1}.commit", f"{T2}.clean.requested"
    )
    assert (done.state, done.completed, done.action, set(done.files)) == (
        "completed",
        C1,
        "commit",
        {"requested", "inflight", "completed"},
    )
    assert (begun.state, begun.completed, begun.action, begun.is_write) == ("requested", "", "clean", False)


@pytest.mark.parametrize(
    ("planned", "completed"),
    [("compaction", "commit"), ("logcompaction", "deltacommit"), ("clustering", "replacecommit")],
)
def test_completed_service_is_distinguished_from_a_write(planned, completed):
    (one,) = build(f"{T1}.{planned}.requested", f"{T1}.{planned}.inflight", f"{T1}_{C1}.{completed}")
    assert (one.action, one.planned_as, one.state, one.is_write) == (completed, planned, "completed", True)


def test_savepoint_is_another_action_than_the_commit_of_its_time():
    found = build(f"{T1}_{C1}.commit", f"{T1}_{C2}.savepoint", f"{T1}.savepoint.inflight")
    assert [(one.action, one.completed) for one in found] == [("commit", C1), ("savepoint", C2)]


def test_time_is_utc_when_the_table_says_so():
    assert parse_time("20260704101530123", "UTC") == datetime(2026, 7, 4, 10, 15, 30, 123000, timezone.utc)
    assert parse_time("20260704101530", "UTC") == datetime(2026, 7, 4, 10, 15, 30, 0, timezone.utc)


def test_local_time_is_that_of_this_machine(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert parse_time("20260704101530123", "LOCAL") == datetime(
            2026, 7, 4, 1, 15, 30, 123000, timezone.utc
        )
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("mark", ["00000000000000", "00000000000001", "", "20261399000000000"])
def test_invalid_instant_has_no_time(mark):
    assert parse_time(mark, "UTC") is None
