"""What `headwater rehearse` reports equals what applying the new file would change; it writes to no table."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.erasure.erasure import Erasure
from headwater.app.rehearsal import Rehearsal, RehearsalReport, RehearsalWindow, TableRehearsal
from headwater.config.settings import Settings
from headwater.lake.erasure.subjects import SubjectHasher
from headwater.lake.jvm import delete_folder
from headwater.lake.layout import rehearsal_path
from tests.fixtures.folder_lake import FolderLake

SLOW = pytest.mark.slow
MODES: dict[str, dict[str, Any]] = {
    "mirror": {"path": "*.json", "mode": "mirror"},
    "append": {"path": "*.json", "mode": "append"},
    "merge": {"path": "*.json", "record_key": "id", "ordering": "at"},
}
OUTSIDE = [("old1.json", [(1, 10, "old"), (2, 10, "old")]), ("old2.json", [(3, 90, "late"), (4, 10, "old")])]
INSIDE = [("new1.json", [(1, 20, "new"), (3, 20, "new")]), ("new2.json", [(5, 20, "new"), (1, 30, "newer")])]


def text(rows: Sequence[tuple[int, int, str]]) -> str:
    return "".join(json.dumps({"id": id_, "at": at, "name": name}) + "\n" for id_, at, name in rows)


def fill(lake: FolderLake, *names: str) -> None:
    """Objects outside the window of two objects, then two inside: overwritten, removed, with equal keys."""
    lake.put("removed.json", text([(6, 10, "removed")]))
    lake.put_many([("old1.json", text([(1, 5, "first"), (7, 5, "first")]))])
    ingest(lake, *names)
    lake.announce("removed.json", kind="removed")
    for key, rows in OUTSIDE:
        lake.put(key, text(rows))
    ingest(lake, *names)
    lake.put_many([(key, text(rows)) for key, rows in INSIDE])
    ingest(lake, *names)
    lake.put("new2.json", text([(5, 25, "newest"), (1, 30, "newest"), (1, 29, "second")]))
    ingest(lake, *names)


def ingest(lake: FolderLake, *names: str) -> None:
    for name in names:
        lake.ingest(name)


def edit(lake: FolderLake, table: str, **options: Any) -> Settings:
    plain = lake.settings.model_dump(by_alias=True, exclude_unset=True)
    plain["tables"][table] |= options
    return Settings.model_validate(plain)


def rehearse(
    lake: FolderLake, spark: SparkSession, new: Settings, *only: str, objects: int = 100
) -> RehearsalReport:
    return Rehearsal(App(lake.settings, spark=spark), new, RehearsalWindow(objects=objects)).run(only)


def counts(found: TableRehearsal) -> tuple[int, int, int, int, int]:
    rows = found.rows
    return rows.equal, rows.changed, rows.only_now, rows.only_new, rows.undecided


def list_files(lake: FolderLake) -> dict[str, int]:
    """Every file of the lake with the time of its last change."""
    return {str(path): path.stat().st_mtime_ns for path in Path(lake.lake).rglob("*") if path.is_file()}


EDITS: dict[str, dict[str, Any]] = {
    "value": {"transform": [{"sql": "select _headwater_source, id, at, upper(name) as name from input"}]},
    "rows": {"transform": [{"sql": "select * from input where at <> 30 and at <> 90"}]},
    "new column": {"transform": [{"sql": "select *, at * 2 as twice from input"}]},
    "dropped column": {"transform": [{"drop": ["name"]}]},
    "type": {"transform": [{"cast": {"at": "double"}}]},
    "several rows": {"transform": [{"sql": "select *, explode(array(1, 2)) as part from input"}]},
    "suffix": {"suffix": ["1.json"]},
    "mode": {"mode": "append", "record_key": [], "ordering": []},
    "key": {"record_key": "name", "ordering": "at", "mode": "merge"},
    "ordering": {"record_key": "id", "ordering": "name", "schema_hints": "name string", "mode": "merge"},
}


def read_rows(lake: FolderLake) -> list[dict[str, Any]]:
    """The data of the table's rows, as text, with their object and number."""
    rows = [row.asDict() for row in lake.table("things").read().collect()]
    return [
        {
            name: value if value is None else str(value)
            for name, value in row.items()
            if name[:8] != "_hoodie_"
        }
        for row in rows
    ]


def select_data(row: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in row.items() if not name.startswith("_headwater_")}
    # As double and bigint are compared.
    return found | {name: float(found[name]) for name in ("at",) if found.get(name)}


def match(
    now: list[dict[str, Any]], new: list[dict[str, Any]], key: str
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Both as data by identity: the key if it is unique, else object and record; equal rows first."""
    if key and all(key in row for row in now + new):
        found = [{row[key]: select_data(row) for row in rows} for rows in (now, new)]
        if [len(one) for one in found] == [len(now), len(new)]:
            return found[0], found[1]
    names = {name for row in now + new for name in select_data(row)}
    left: list[dict[Any, Any]] = [{}, {}]
    for side, rows in enumerate((now, new)):
        for row in sorted(rows, key=lambda row: int(row["_headwater_row"])):
            identity = (row["_headwater_object"], row["_headwater_row"])
            left[side][identity] = {name: select_data(row).get(name) for name in names}
    for identity, data in list(left[0].items()):
        same = [other for other, found in left[1].items() if (other[0], found) == (identity[0], data)]
        if same:
            equal = (identity[0], "equal", *identity)
            left[0][equal], left[1][equal] = left[0].pop(identity), left[1].pop(same[0])
    return left[0], left[1]


def compare(
    now: list[dict[str, Any]], new: list[dict[str, Any]], key: str
) -> tuple[tuple[int, ...], dict[str, int]]:
    """What the rehearsal should have counted, computed from the table before and after a rebuild."""
    before, after = match(now, new, key)
    columns: dict[str, int] = {}
    changed = 0
    for identity in before.keys() & after.keys():
        one, other = before[identity], after[identity]
        differing = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
        changed += bool(differing)
        for name in differing:
            columns[name] = columns.get(name, 0) + 1
    both = len(before.keys() & after.keys())
    return (both - changed, changed, len(before) - both, len(after) - both), columns


def rebuild(lake: FolderLake, spark: SparkSession, **options: Any) -> list[dict[str, Any]]:
    """Apply an edit in the documented way, by deleting the table's folder; return the rows; undo."""
    before = lake.settings
    lake.change("things", **options)
    try:
        delete_folder(spark, lake.table("things").path)
        lake.ingest("things")
        return read_rows(lake)
    finally:
        lake.settings = before
        delete_folder(spark, lake.table("things").path)
        lake.ingest("things")


@SLOW
@pytest.mark.parametrize("mode", MODES)
def test_same_file_has_no_difference_in_a_window(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES[mode])
    fill(lake, "things")
    files = list_files(lake)
    found = rehearse(lake, spark, lake.settings, "things", objects=2)
    assert not found.has_differences
    # Key 3 is in the window, but the row of an object outside of it wins.
    assert counts(found.tables["things"]) == ((2, 0, 0, 0, 1) if mode == "merge" else (5, 0, 0, 0, 0))
    assert list_files(lake) == files
    found = rehearse(lake, spark, lake.settings, "things")
    assert not found.has_differences
    assert counts(found.tables["things"]) == ((5, 0, 0, 0, 0) if mode == "merge" else (9, 0, 0, 0, 0))


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", MODES)
def test_each_edit_has_the_differences_of_a_rebuild(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES[mode])
    fill(lake, "things")
    rebuild(lake, spark)
    now = read_rows(lake)
    for name, options in EDITS.items():
        new = edit(lake, "things", **options)
        found = rehearse(lake, spark, new, "things").tables["things"]
        key = next(iter(new.tables["things"].record_key), "")
        expected, columns = compare(now, rebuild(lake, spark, **options), key)
        assert not found.failure_new, name
        assert counts(found) == (*expected, 0), name
        assert {one.column: one.rows for one in found.rows.columns} == columns, name


def test_only_rows_that_the_window_decides_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES["merge"])
    fill(lake, "things")
    files, before = list_files(lake), read_rows(lake)
    options = EDITS["value"]
    found = rehearse(lake, spark, edit(lake, "things", **options), objects=2).tables["things"]
    # Key 3 is in the window, but the row of an object outside of it wins, before and after a rebuild.
    assert counts(found) == (0, 2, 0, 0, 1)
    assert list_files(lake) == files
    (column,) = found.rows.columns
    after = {row["id"]: row for row in rebuild(lake, spark, **options)}
    for example in column.examples:
        key = json.loads(example.row)["id"]
        assert example.now == next(row["name"] for row in before if row["id"] == key)
        assert example.new == after[key]["name"]
    assert sorted(json.loads(example.row)["id"] for example in column.examples) == ["1", "5"]


CHANGES = {
    "path": "*.json",
    "record_key": "id",
    "changes": {"op": "name", "insert": ["insert"], "delete": ["delete"], "sequence": "at"},
}


@SLOW
def test_key_deleted_by_an_object_outside_the_window_is_undecided(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = FolderLake(spark, tmp_path, things=CHANGES)
    first, second = [(1, 10, "insert"), (2, 10, "insert")], [(1, 50, "delete"), (2, 20, "insert")]
    for key, rows in (("a", first), ("b", second)):
        lake.put(f"{key}.json", text(rows))
        ingest(lake, "things")
    lake.put("c.json", text([(1, 30, "insert"), (2, 30, "insert"), (3, 30, "insert")]))
    ingest(lake, "things")
    lake.put("d.json", text([(3, 40, "delete"), (4, 40, "insert")]))
    ingest(lake, "things")
    found = rehearse(lake, spark, lake.settings, "things", objects=2).tables["things"]
    assert counts(found) == (2, 0, 0, 0, 1)
    assert not found.has_differences


@SLOW
def test_pending_skipped_and_overwritten_objects_are_no_difference(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES["append"])
    fill(lake, "things")
    lake.put("pending.json", text([(9, 9, "pending")]))
    lake.put("new1.json", text([(9, 9, "overwritten")]))
    found = rehearse(lake, spark, lake.settings, "things").tables["things"]
    assert not found.has_differences
    # The rows of contents that no object has any more: a rebuild would lose them.
    assert found.rows.lost > 0


@SLOW
def test_quarantine_of_either_file_only_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    low = {"range": {"column": "at", "min": 10}, "on_failure": "quarantine"}
    high = {"range": {"column": "at", "max": 30}, "on_failure": "quarantine"}
    lake = FolderLake(spark, tmp_path, things={**MODES["mirror"], "checks": [low]})
    lake.put("a.json", text([(1, 5, "low"), (2, 20, "good"), (3, 50, "high")]) + "no json\n")
    ingest(lake, "things")
    found = rehearse(lake, spark, edit(lake, "things", checks=[high])).tables["things"]
    assert counts(found) == (1, 0, 1, 1, 0)
    (now,), (new,) = found.quarantine.only_now, found.quarantine.only_new
    assert (now.reason, now.count, now.examples[0].line) == ("failed_check", 1, 1)
    assert (new.reason, new.count, new.examples[0].line) == ("failed_check", 1, 3)
    assert new.examples[0].object == str(lake.source / "a.json")
    assert found.quarantine.both == 1


@SLOW
def test_derived_tables_differ_with_their_source(spark: SparkSession, tmp_path: Path) -> None:
    totals = {
        "from": "things",
        "refresh": "full",
        "record_key": "name",
        "transform": [{"sql": "select name, sum(at) as total from input group by name"}],
    }
    lake = FolderLake(spark, tmp_path, things=MODES["mirror"], totals=totals)
    lake.put("a.json", text([(1, 5, "ann"), (2, 20, "bob"), (3, 50, "bob")]))
    ingest(lake, "things")
    new = edit(lake, "things", transform=[{"sql": "select * from input where at > 20 or at < 10"}])
    found = rehearse(lake, spark, new).tables
    assert counts(found["things"]) == (2, 0, 1, 0, 0)
    assert counts(found["totals"]) == (1, 1, 0, 0, 0)
    (column,) = found["totals"].rows.columns
    assert (column.column, column.examples[0].now, column.examples[0].new) == ("total", "70", "50")
    assert found["totals"].application.cost == "nothing"


@SLOW
def test_file_with_which_a_run_would_stop_is_a_difference(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES["mirror"])
    lake.put("a.json", text([(1, 5, "ann")]))
    ingest(lake, "things")
    report = rehearse(lake, spark, edit(lake, "things", transform=[{"sql": "select *, missing from input"}]))
    assert "missing" in report.tables["things"].failure_new
    assert report.has_differences


@SLOW
def test_added_table_has_only_new_rows_and_a_leftover_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES["mirror"])
    lake.put("a.json", text([(1, 5, "ann"), (2, 20, "bob")]))
    ingest(lake, "things")
    folder = Path(rehearsal_path(lake.lake))
    (folder / "now" / "things").mkdir(parents=True)
    (folder / "now" / "things" / "half.parquet").write_bytes(b"left by a killed rehearsal")
    plain = lake.settings.model_dump(by_alias=True, exclude_unset=True)
    plain["tables"]["others"] = {"path": "*.json", "record_key": "id"}
    report = rehearse(lake, spark, Settings.model_validate(plain))
    assert list(report.tables) == ["others"]
    assert counts(report.tables["others"]) == (0, 0, 0, 2, 0)
    assert report.unchanged == ("things",)
    assert not folder.exists()


@SLOW
def test_forgotten_subjects_are_in_neither_shadow(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things=MODES["merge"])
    lake.put("a.json", text([(1, 5, "ann"), (2, 20, "bob")]))
    ingest(lake, "things")
    app = App(lake.settings, spark=spark)
    hasher = SubjectHasher.of(app.register.ensure_secret(), ("id",))
    Erasure(app, "things", hasher, frozenset({hasher.hash(["1"])})).run()
    found = rehearse(lake, spark, edit(lake, "things", **EDITS["value"])).tables["things"]
    assert counts(found) == (0, 1, 0, 0, 0)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_same_file_has_no_difference_whatever_happened(
    spark: SparkSession, tmp_path: Path, mode: str, seed: int
) -> None:
    chance = random.Random(seed)
    lake = FolderLake(spark, tmp_path, things=MODES[mode])
    for step in range(12):
        key = f"{chance.randrange(5)}.json"
        if chance.random() < 0.2 and (lake.source / key).exists():
            lake.announce(key, kind="removed")
        else:
            rows = [(chance.randrange(6), chance.randrange(4), f"step {step}") for _ in range(3)]
            lake.put(key, text(rows))
        if chance.random() < 0.4:
            ingest(lake, "things")
    for objects in (1, 3, 100):
        found = rehearse(lake, spark, lake.settings, "things", objects=objects).tables["things"]
        assert not found.has_differences, (seed, objects, found)
        assert found.rows.unstable == 0
