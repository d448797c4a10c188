"""Every action of a timeline: done, under way, left by a killed writer, damaged, archived."""

from pathlib import Path

import pytest

from headwater.errors import TableNotFoundError, TableUnsupportedError
from headwater.lake import inspection
from headwater.lake.layout import TableAddress
from tests.fixtures.inspection.addresses import NOW, TIMELINE, copy_fixture, find_fixture

KILLED = "20261121230000000"


def test_managed_table_lists_all_actions():
    actions = inspection.list_actions(find_fixture("managed"), NOW)
    assert [(one.action, one.state, one.operation) for one in actions] == [
        ("deltacommit", "completed", "upsert"),
        ("deltacommit", "completed", "upsert"),
        ("savepoint", "completed", None),
        ("commit", "completed", "compact"),
        ("replacecommit", "completed", "insert_overwrite"),
        ("deltacommit", "completed", "upsert"),
        ("replacecommit", "completed", "cluster"),
        ("rollback", "completed", None),
        ("deltacommit", "completed", "upsert"),
        ("clean", "completed", None),
        ("compaction", "requested", "compact"),
        ("deltacommit", "completed", "upsert"),
    ]
    assert [one.problem for one in actions] == [None] * len(actions)


def test_effects_of_each_action_are_reported():
    actions = inspection.list_actions(find_fixture("managed"), NOW)
    notes = {one.action: one.note for one in actions if one.note}
    assert notes["savepoint"] == "by owner: before the change"
    assert notes["rollback"].startswith("rolled back 2026")
    assert notes["clean"] == f"keeps commits since {actions[8].instant}"
    assert notes["compaction"] == "1 file groups to compact"
    assert {one.action: one.files_deleted for one in actions if one.files_deleted is not None} == {
        "rollback": 1,
        "clean": 4,
    }


def test_rows_are_counted_by_change():
    actions = inspection.list_actions(find_fixture("managed"), NOW)
    written = [
        (
            one.operation,
            w.rows_inserted,
            w.rows_updated,
            w.rows_deleted,
            w.rows_written,
            w.file_groups_replaced,
        )
        for one in actions
        if (w := one.written)
    ]
    assert written == [
        ("upsert", 6, 0, 0, 6, 0),
        ("upsert", 0, 2, 0, 2, 0),
        ("compact", 0, 0, 0, 6, 0),  # moves rows, changes none
        ("insert_overwrite", 1, 0, 0, 1, 1),
        ("upsert", 0, 1, 0, 1, 0),
        ("cluster", 0, 0, 0, 4, 2),
        ("upsert", 0, 1, 0, 1, 0),
        ("upsert", 0, 1, 0, 1, 0),
    ]


def test_deleted_rows_are_counted():
    *_, last = inspection.list_actions(find_fixture("orders_mor"), NOW)
    assert last.written is not None
    assert (last.operation, last.written.rows_deleted) == ("delete", 1)


def test_times_are_utc_and_hudis_own():
    first, *_ = inspection.list_actions(find_fixture("orders_cow"), NOW)
    assert (first.instant, first.completed) == ("20261121060030193", "20261121060031533")
    assert first.requested_at is not None
    assert first.completed_at is not None
    assert first.requested_at.isoformat() == "2026-11-21T06:00:30.193000+00:00"
    assert first.completed_at.isoformat() == "2026-11-21T06:00:31.533000+00:00"
    assert first.duration_seconds == pytest.approx(1.34)
    assert first.age_seconds is None


def test_archived_actions_come_when_asked():
    address = find_fixture("archived")
    active, all_of_them = (
        inspection.list_actions(address, NOW, archived=archived) for archived in (False, True)
    )
    assert [one.archived for one in all_of_them] == [True] * 4 + [False] * 3
    assert all_of_them[4:] == active
    assert [one.written.rows_inserted for one in all_of_them if one.written] == [1] * 7
    assert sorted(one.instant for one in all_of_them) == [one.instant for one in all_of_them]


def test_action_that_is_archived_and_not_yet_removed_is_there_once(tmp_path):
    address = copy_fixture("archived", tmp_path)
    archived = inspection.list_actions(address, NOW, archived=True)[3]
    # As archival leaves it that is killed between the two.
    source = next(Path(address.path, TIMELINE).glob("*.commit"))
    Path(address.path, TIMELINE, f"{archived.instant}_{archived.completed}.commit").write_bytes(
        source.read_bytes()
    )
    found = inspection.list_actions(address, NOW, archived=True)
    assert [one.archived for one in found] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    ("files", "state"),
    [(("commit.requested",), "requested"), (("commit.requested", "inflight"), "inflight")],
)
def test_write_of_a_killed_writer_has_its_age(tmp_path, files, state):
    address = copy_fixture("orders_cow", tmp_path)
    for name in files:
        Path(address.path, TIMELINE, f"{KILLED}.{name}").write_bytes(b"")
    *done, left = inspection.list_actions(address, NOW)
    assert left.operation is None
    assert (left.instant, left.action, left.state, left.age_seconds) == (KILLED, "commit", state, 1800.0)
    assert (left.completed, left.duration_seconds, left.written, left.problem) == (None, None, None, None)
    assert [one.state for one in done] == ["completed"] * 3


def test_pending_write_has_its_operation(tmp_path):
    address = copy_fixture("managed", tmp_path)
    timeline = Path(address.path, TIMELINE)
    max(timeline.glob("*_*.deltacommit")).unlink()
    left = inspection.list_actions(address, NOW)[-1]
    assert (left.action, left.state, left.operation) == ("deltacommit", "inflight", "upsert")
    assert left.written is None
    # Its log lies there, and nobody reads it.
    assert inspection.read_layout(address).totals.uncommitted_files == 1


@pytest.mark.parametrize("corruption", [b"", b"no Avro", b"Obj\x01", None])
def test_corrupt_instant_is_reported_and_others_are_listed(tmp_path, corruption):
    address = copy_fixture("orders_mor", tmp_path)
    path = sorted(Path(address.path, TIMELINE).glob("*.deltacommit"))[1]
    path.write_bytes(path.read_bytes()[:-40] if corruption is None else corruption)
    first, second, third = inspection.list_actions(address, NOW)
    assert second.problem is not None
    assert f"deltacommit {path.name[:17]} cannot be read" in second.problem
    assert second.written is None
    assert (second.state, second.completed) == ("completed", path.name[18:35])
    assert first.written is not None
    assert third.written is not None


@pytest.mark.parametrize("made", [False, True], ids=["nothing", "empty folder"])
def test_path_without_a_table_is_reported(tmp_path, made):
    place = tmp_path / "table"
    if made:
        place.mkdir()
    with pytest.raises(TableNotFoundError, match="no Hudi table exists there"):
        inspection.list_actions(TableAddress("table", str(place)), NOW)


def test_table_of_hudi_0_is_detected_by_its_version(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    path = Path(address.path, ".hoodie/hoodie.properties")
    older = path.read_text().replace("layout.version=2", "layout.version=1")
    path.write_text(older.replace("hoodie.table.version=9", "hoodie.table.version=6"))
    with pytest.raises(TableUnsupportedError, match="table version 6"):
        inspection.list_actions(address, NOW)
