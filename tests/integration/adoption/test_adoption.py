"""Tables of HoodieStreamer are continued from their checkpoints: no object is read again, none is lost."""

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.adoption.adoption import Adoption
from headwater.app.adoption.report import AdoptReport, AdoptRequest
from headwater.app.application import read_clock
from headwater.app.objects.explain import Explain
from headwater.app.objects.verify import Verify
from headwater.app.run import Run
from headwater.config.settings import Settings
from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.errors import UsageError
from headwater.lake.table import Table
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.old_pipeline import ORDERS, PAYMENTS, TABLES, Model, OldPipeline


@pytest.fixture
def old(
    spark: SparkSession, emulator: EmulatorSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OldPipeline:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return OldPipeline(spark, emulator, emulator.create_landing_zone(), tmp_path)


@pytest.fixture
def configure(old: OldPipeline, emulator: EmulatorSession) -> Callable[..., Settings]:
    def build(**tables: dict[str, Any]) -> Settings:
        source = {
            "type": "s3",
            "bucket": old.zone.bucket,
            "region": REGION,
            "endpoint": emulator.endpoint,
            "queue": {"url": old.zone.queue_url},
        }
        return Settings.model_validate({"source": source, "lake": old.lake, "tables": tables or TABLES})

    return build


def read(spark: SparkSession, old: OldPipeline, table: str) -> dict[str, tuple[int, float]]:
    rows = Table(spark, f"{old.lake}/{table}").read().select("id", "at", "amount").collect()
    found = {row["id"]: (row["at"], row["amount"]) for row in rows}
    assert len(found) == len(rows)
    return found


def adopt(spark: SparkSession, settings: Settings, old: OldPipeline, **given: Any) -> AdoptReport:
    request = AdoptRequest(**{"events": old.events, **given})
    return Adoption(App(settings, spark=spark), request, rows_a_commit=7).run()


@pytest.mark.slow
def test_both_tables_are_continued_where_their_jobs_stopped(
    spark: SparkSession, old: OldPipeline, configure: Callable[..., Settings]
) -> None:
    model = Model(old).fill()
    old.process(ORDERS, 13)
    assert "#" in old.process(PAYMENTS, 5)
    settings = configure()

    report = adopt(spark, settings, old)
    assert [(one.status, one.processed is not None) for one in report.tables] == [("adopted", True)] * 2
    assert report.events is not None
    assert (report.events.events, report.events.duplicates, report.events.rejected) == (60, 0, 0)
    # Whatever a job had processed cannot be read again.
    old.remove(*(f"orders/0-{number}.json" for number in range(10)))
    old.remove(*(f"payments/0 {number}.json" for number in range(5)))
    model.put_more()

    done = Run(App(settings, spark=spark)).once(threading.Event())
    assert not done.failures
    assert read(spark, old, "orders") == model.records["orders"]
    assert read(spark, old, "payments") == model.records["payments"]
    verified = Verify(App(settings, spark=spark)).run()
    assert verified.is_complete, {name: one.problems for name, one in verified.tables.items()}
    counts = verified.tables["orders"].counts
    assert (counts.ingested, counts.skipped) == (17 + 10, 3)
    assert counts.reasons == {"adopted: the previous pipeline has processed it": 3}
    explain = Explain(App(settings, spark=spark)).explain
    found = explain("orders/2-9.json"), explain("orders/1-0.json")
    assert [one.status for one in found] == ["ingested", "skipped"]
    assert found[1].reason == "orders: adopted: the previous pipeline has processed it"
    assert adopt(spark, settings, old).tables[0].status == "adopted before"


@pytest.mark.slow
def test_an_interrupted_import_continues_after_its_last_commit(
    spark: SparkSession, old: OldPipeline, configure: Callable[..., Settings]
) -> None:
    Model(old).fill()
    old.process(ORDERS, 13)
    settings, calls = configure(orders=TABLES["orders"]), iter(range(4))
    request = AdoptRequest(events=old.events)

    def count() -> datetime:
        next(calls)
        return read_clock()

    with pytest.raises(StopIteration):
        Adoption(App(settings, spark=spark), request, count, rows_a_commit=7).run()
    planned = Adoption(App(settings, spark=spark), request).plan()
    assert [one.status for one in planned.tables] == ["to adopt"]
    report = adopt(spark, settings, old)
    assert report.events is not None
    assert report.events.events < 60
    events = App(settings, spark=spark).events.read_snapshot()
    assert events is not None
    assert (events.count(), events.select("event_id").distinct().count()) == (60, 60)


@pytest.mark.slow
def test_whatever_does_not_fit_is_refused_together_and_nothing_is_written(
    spark: SparkSession, old: OldPipeline, configure: Callable[..., Settings]
) -> None:
    Model(old).fill()
    old.process(ORDERS, 13)
    old.process(PAYMENTS)
    wrong = {
        "orders": {**TABLES["orders"], "ordering": "amount"},
        "payments": {**TABLES["payments"], "partition_style": "hive"},
        "absent": {"path": "absent/*.json", "record_key": "id"},
    }
    settings = configure(**wrong)
    with pytest.raises(UsageError) as refused:
        adopt(spark, settings, old, tables=("orders", "payments", "absent"), checkpoints={"other": "1"})
    lines = refused.value.message.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "--checkpoint other: the table is not among those to adopt",
        "table orders: ordering is at in the table and amount in the configuration",
        "table payments: the Hive style of partition folders is false in the table and true in the "
        "configuration",
        f"table absent: there is no Hudi table with a commit at {old.lake}/absent",
    ]
    with pytest.raises(UsageError, match="specify it with --events ADDRESS"):
        adopt(spark, configure(), old, events="")
    with pytest.raises(UsageError, match="the table has not the columns of an events table"):
        adopt(spark, configure(), old, events=f"{old.lake}/orders")
    assert not Path(old.lake, "_headwater").exists()


@pytest.mark.slow
def test_a_lake_that_captures_already_is_refused(
    spark: SparkSession, old: OldPipeline, configure: Callable[..., Settings]
) -> None:
    model = Model(old).fill()
    old.process(ORDERS, 13)
    model.put_more()
    others = configure(other={"path": "other/*.json"})
    assert not Run(App(others, spark=spark)).once(threading.Event()).failures
    with pytest.raises(UsageError, match="the lake has already captured events of the bucket"):
        adopt(spark, configure(orders=TABLES["orders"]), old)
