"""`forget` removes every row of a subject from all files, keeps it out, and `verify` stays complete."""

import json
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.backup.backup import back_up_lake
from headwater.app.backup.restore import restore_lake
from headwater.app.erasure.command import Subjects, build_erasures
from headwater.app.erasure.erasure import Erasure
from headwater.app.erasure.report import ErasureReport
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.verify import Verify
from headwater.lake.erasure.subjects import SubjectHasher
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.cleaning import CleanPolicy, clean
from headwater.lake.services.savepoints import create_savepoint, delete_savepoint
from tests.fixtures.folder_lake import FolderLake

SLOW = pytest.mark.slow
MODES = {
    "mirror": {"mode": "mirror"},
    "append": {"mode": "append"},
    "merge": {"record_key": "id"},
}


def lines(*rows: tuple[int, str]) -> str:
    return "".join(json.dumps({"id": at, "customer": name}) + "\n" for at, name in rows)


def forget(lake: FolderLake, spark: SparkSession, *names: str, column: str = "customer") -> ErasureReport:
    app = App(lake.settings, spark=spark)
    hasher = SubjectHasher.of(app.register.ensure_secret(), (column,))
    return Erasure(app, "orders", hasher, frozenset(hasher.hash([name]) for name in names)).run()


def find_in_files(lake: FolderLake, text: str) -> list[str]:
    """Data files below the table that have the text in a column, whatever the timeline says of them."""
    found = []
    for path in (Path(lake.lake) / "orders").rglob("*"):
        if path.is_file() and ".hoodie" not in path.relative_to(lake.lake).parts:
            if path.suffix == ".parquet":
                rows = parquet.ParquetFile(path).read().to_pylist()
                found += [path.name] if any(row["customer"] == text for row in rows) else []
            elif text.encode() in path.read_bytes():
                found.append(path.name)
    return found


@pytest.mark.parametrize("kind", ["copy_on_write", pytest.param("merge_on_read", marks=SLOW)])
@pytest.mark.parametrize("mode", ["mirror", *(pytest.param(m, marks=SLOW) for m in ("append", "merge"))])
def test_subject_is_erased_and_stays_out(spark: SparkSession, tmp_path: Path, mode: str, kind: str) -> None:
    config = {"path": "**/*.json", "table_type": kind, **MODES[mode]}
    lake = FolderLake(spark, tmp_path, orders=config)
    lake.put_many([("a.json", lines((1, "ann"), (2, "bob"))), ("b.json", lines((3, "bob")))])
    lake.ingest("orders")
    lake.put("c.json", lines((4, "ann"), (5, "cleo")))
    lake.ingest("orders")
    assert find_in_files(lake, "bob")

    report = forget(lake, spark, "bob")
    (table, *_) = report.structures
    assert (table.rows_deleted, table.remaining) == (2, ())
    assert report.is_erased
    assert find_in_files(lake, "bob") == []
    assert [Path(uri).name for uri in report.objects] == ["a.json", "b.json"]
    assert lake.rows("orders", "id", "customer") == [(1, "ann"), (4, "ann"), (5, "cleo")]
    verified = Verify(App(lake.settings, spark=spark), deep=1).run()
    assert verified.is_complete, verified.tables["orders"].problems

    app = App(lake.settings, spark=spark)
    redrive = Redrive(app)
    redrive.append([redrive.ask_again(str(lake.source), key, redrive._now()) for key in ("a.json", "b.json")])
    lake.put("again.json", lines((2, "bob"), (6, "dora")))
    lake.ingest("orders")
    assert {name for _, name in lake.rows("orders", "id", "customer")} == {"ann", "cleo", "dora"}
    assert find_in_files(lake, "bob") == []
    assert "1 row of a forgotten subject was left out" in {row[0] for row in lake.ledger("detail")}
    assert Verify(App(lake.settings, spark=spark), deep=1).run().is_complete
    # Later log files are no reason to doubt it.
    hasher = SubjectHasher.of(app.register.ensure_secret(), ("customer",))
    assert Erasure(app, "orders", hasher, frozenset({hasher.hash(["bob"])})).plan().is_erased


@SLOW
def test_savepoint_keeps_its_files_and_is_named(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, orders={"path": "**/*.json", "record_key": "id"})
    lake.put("a.json", lines((1, "ann"), (2, "bob")))
    lake.ingest("orders")
    address = find_address(lake.settings, "orders")
    service = ServiceTable.of(spark, address, lake.settings.tables["orders"])
    savepoint = create_savepoint(service, None, "")
    report = forget(lake, spark, "bob")
    (left,) = report.structures[0].remaining
    assert (left.rows, left.savepoints) == (1, (savepoint.instant,))
    assert not report.is_erased
    delete_savepoint(service, savepoint.instant)
    repeated = forget(lake, spark, "bob")
    assert repeated.is_erased
    assert find_in_files(lake, "bob") == []


@SLOW
def test_other_file_groups_keep_their_history(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, orders={"path": "*.json", "record_key": "id", "partition": "customer"})
    lake.put("a.json", lines((1, "ann"), (2, "bob")))
    lake.ingest("orders")
    before = lake.table("orders").load_timeline().commits[-1].requested
    lake.put("b.json", lines((1, "ann"), (3, "ann")))
    lake.ingest("orders")
    assert forget(lake, spark, "bob").is_erased
    old = lake.table("orders").read_as_of(before)
    assert [tuple(row) for row in old.select("id", "customer").collect()] == [(1, "ann")]
    # A later clean of the table's own still works, and so do writes.
    service = ServiceTable.of(spark, find_address(lake.settings, "orders"), lake.settings.tables["orders"])
    assert clean(service, CleanPolicy("versions", 1)).files
    lake.put("c.json", lines((4, "dora"), (5, "bob")))
    lake.ingest("orders")
    assert lake.rows("orders", "id") == [(1,), (3,), (4,)]


@SLOW
def test_restored_lake_knows_what_was_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, orders={"path": "*.json", "mode": "append"})
    lake.put("a.json", lines((1, "ann"), (2, "bob")))
    lake.ingest("orders")
    backup, original = str(tmp_path / "backup"), lake.settings
    back_up_lake(original, backup, original.lake_storage, 2)
    forget(lake, spark, "bob")
    back_up_lake(original, f"{backup}-2", original.lake_storage, 2)
    for at, name in enumerate((f"{backup}-2", backup)):
        lake.lake = str(tmp_path / f"moved-{at}" / "lake")
        lake.settings = original.model_copy(update={"lake": lake.lake})
        lake.app = App(lake.settings, spark=spark)
        restore_lake(lake.settings, name, original.lake_storage, 2)
        if name == backup:
            # Older than the erasure: the list comes from elsewhere, and everything on it is erased again.
            shutil.copytree(Path(original.lake) / "_headwater/forget", Path(lake.lake) / "_headwater/forget")
            (again,) = build_erasures(lake.app, "orders", Subjects(again=True), dry_run=False)
            assert again.run().is_erased
        lake.put(f"{at}.json", lines((3, "bob"), (4, "dora")))
        lake.ingest("orders")
        assert lake.rows("orders", "id") == [(1,), (4,)]
        assert find_in_files(lake, "bob") == []


@SLOW
def test_derived_tables_and_quarantined_records_are_erased(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(
        spark,
        tmp_path,
        orders={"path": "*.json", "mode": "mirror", "schema": "id bigint, customer string"},
        by_customer={"from": "orders", "transform": [{"sql": "select * from input"}]},
        totals={
            "from": "orders",
            "refresh": "full",
            "record_key": "name",
            "transform": [{"sql": "select 'all' as name, count(*) as n from input"}],
        },
    )
    bad = '{"id": "no number", "customer": "bob"}\n{"id": "none", "customer": "ann"}\n'
    lake.put("a.json", lines((1, "ann"), (2, "bob")) + bad)
    lake.ingest("orders")
    App(lake.settings, spark=spark).build_derived_pipeline("by_customer").run_batch()
    assert len(lake.quarantine_of("orders", "payload")) == 2
    report = forget(lake, spark, "bob")
    assert {one.name: one.remaining for one in report.structures} == {
        "orders": (),
        "by_customer": (),
        "quarantine": (),
    }
    assert [one.rows_deleted for one in report.structures] == [1, 0, 1]
    assert "derived table totals" in report.not_covered
    assert lake.rows("by_customer", "customer") == [("ann",)]
    ((payload,),) = lake.quarantine_of("orders", "payload")
    assert "ann" in payload
    stored = [
        text
        for path in (Path(lake.lake) / "_headwater/quarantine").glob("*.parquet")
        for text in parquet.read_table(path, columns=["payload"])["payload"].to_pylist()
    ]
    assert stored
    assert all("bob" not in text for text in stored)
    assert Verify(App(lake.settings, spark=spark)).run().is_complete
