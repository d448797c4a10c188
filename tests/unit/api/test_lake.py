"""`import headwater`: what it exports, and what works without a JVM."""

import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.app.components.run_report import RunReport, TableTotals
from headwater.app.objects.explain import Explanation, TableDecision
from headwater.app.objects.verify import TableReport, VerifyReport
from headwater.capture.consumer.stats import CaptureStats
from headwater.errors import ConfigError, TableNotFoundError, UsageError
from headwater.ingest.planning.verification import Finding, TableVerification
from headwater.lake.sql.engine import QueryResult
from scripts import write_python_reference
from tests.fixtures.lakes import FIXTURE_LAKE

SECTIONS: dict[str, Any] = {
    "source": {"type": "local", "path": "landing"},
    "tables": {"orders_cow": {"path": "*.json", "record_key": "order_id"}},
}


@pytest.fixture
def lake() -> hw.Lake:
    return hw.Lake(**SECTIONS, lake=str(FIXTURE_LAKE))


def test_importing_loads_neither_spark_nor_pandas_nor_an_extra() -> None:
    code = (
        "import sys, headwater as hw; hw.open, hw.Lake; "
        "print([name for name in ('pyspark', 'pandas', 'polars', 'fastapi', 'boto3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_exports_are_what_is_documented() -> None:
    assert {name: getattr(hw, name) for name in hw.__all__}.keys() <= set(dir(hw))
    with pytest.raises(AttributeError, match="has no attribute 'close'"):
        _ = hw.close
    assert write_python_reference.PAGE.read_text("utf-8") == write_python_reference.write(), (
        "run: python scripts/write_python_reference.py"
    )


def test_all_mistakes_are_reported_without_a_file() -> None:
    with pytest.raises(ConfigError) as caught:
        hw.Lake(source={"type": "locl"}, tables={"orders": {"path": "*.json", "keys": "id"}})
    assert "Lake(...): source.type: " in caught.value.message
    assert "Lake(...): tables.orders.keys: unknown key" in caught.value.message
    assert isinstance(caught.value, hw.HeadwaterError)


def test_a_file_is_opened_by_path_variable_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lakes.yaml"
    body = "{source: {type: local, path: landing}, lake: %s, tables: {orders: {path: '*.json'}}}"
    path.write_text(f"lakes: {{a: {body % 'a'}, b: {body % 'b'}}}")
    assert hw.open(path, name="b").settings.lake == str(tmp_path / "b")
    monkeypatch.setenv("HEADWATER_CONFIG", str(path))
    opened = hw.open(name="a", overrides={"tables.orders.path": "*.csv"})
    assert opened.settings.lake == str(tmp_path / "a")
    assert opened.settings.tables["orders"].path == ("*.csv",)
    with pytest.raises(ConfigError, match="does not exist"):
        hw.open(tmp_path / "none.yaml")


def test_a_lake_is_a_collection_of_tables(lake: hw.Lake) -> None:
    assert (list(lake), len(lake), "orders_cow" in lake, "events" in lake, "other" in lake) == (
        ["orders_cow"],
        1,
        True,
        True,
        False,
    )
    assert repr(lake["orders_cow"]) == f"<table orders_cow at {FIXTURE_LAKE}/orders_cow>"
    with pytest.raises(UsageError, match="there is no table other"):
        lake["other"]
    with pytest.raises(TableNotFoundError):
        lake["ledger"].to_arrow()


def test_a_table_is_read_in_the_form_of_each_library(lake: hw.Lake) -> None:
    orders = lake["orders_cow"]
    arrow = orders.to_arrow()
    assert arrow.schema.names == orders.schema.names
    assert not [name for name in arrow.column_names if name.startswith("_")]
    assert arrow.num_rows == orders.count() == len(orders.to_pandas()) == len(orders.to_polars()) == 8
    assert orders.to_pandas().dtypes["order_id"].pyarrow_dtype == arrow.schema.field("order_id").type
    assert orders.to_polars().to_arrow().num_columns == arrow.num_columns
    assert "_hoodie_record_key" in orders.to_arrow(meta=True).column_names
    assert orders.to_arrow(["order_id", "_hoodie_commit_time"]).column_names == [
        "order_id",
        "_hoodie_commit_time",
    ]
    assert "<td>" in orders._repr_html_()


def test_an_earlier_state_can_only_be_read(lake: hw.Lake) -> None:
    orders = lake["orders_cow"]
    first = orders.history(None)[-1]
    assert first.completed is not None
    before = orders.as_of(first.completed)
    assert 0 < before.count() <= orders.count()
    assert before.to_arrow().num_rows == before.count()
    asked = before.sql("select count(*) as n from orders_cow").to_arrow()
    assert asked["n"].to_pylist() == [before.count()]
    for write in (lambda: before.delete("true"), lambda: before.upsert([]), lambda: before.insert([])):
        with pytest.raises(UsageError, match="can only be read"):
            write()


def test_changes_and_history_are_lists_that_notebooks_show(lake: hw.Lake) -> None:
    orders = lake["orders_cow"]
    changes = orders.changes()
    assert {change.op for change in changes} <= {"i", "u"}
    assert len(changes) == orders.count()
    assert orders.changes(since=changes.completed) == []
    shown = orders.history()._repr_html_()
    assert shown.startswith("<table>")
    assert "<th>instant</th>" in shown


def test_rows_are_iterated_or_converted(lake: hw.Lake) -> None:
    joined = "orders_cow a join orders_cow b on a.order_id = b.order_id"
    rows = lake.sql(f"select a.order_id, count(*) over () as n, b.order_id from {joined}")
    assert rows.engine == "hudi-rs+datafusion"
    assert rows.columns == ("order_id", "n", "order_id_2")
    first = next(iter(rows))
    assert first["n"] == 8
    again = lake.sql("select * from orders_cow", limit=3)
    assert (len(again), again.to_arrow().num_rows, len(list(again))) == (3, 3, 3)
    assert len(list(again)) == 3
    assert repr(again).startswith("<3 rows: ")
    assert next(iter(lake.sql("show tables")))["table"] == "orders_cow"
    assert lake.sql("show tables").to_pandas()["table"][0] == "orders_cow"


def test_values_in_notebooks_are_text_not_markup() -> None:
    table = pa.table({"<b>": ["<script>alert(1)</script>", None, "x" * 500]})
    rows = hw.Rows(QueryResult(("<b>",), iter(()), "spark", lambda: table))
    shown = rows._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
    assert "x" * 201 not in shown
    assert hw.Listing([{"a": "<i>"}])._repr_html_().count("<i>") == 0


def test_polars_is_asked_for_only_when_it_is_used(lake: hw.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match="Polars is not installed") as caught:
        lake["orders_cow"].to_polars()
    assert caught.value.hint == "pip install polars"


def test_a_text_is_no_list_of_keys_to_forget(lake: hw.Lake) -> None:
    with pytest.raises(UsageError, match="keys is the text 'c-17', not a list"):
        lake["orders_cow"].forget("c-17", by="customer")


def test_searching_without_a_section_names_it(lake: hw.Lake) -> None:
    with pytest.raises(ConfigError, match="search: missing"):
        lake.search("headphones")
    lake.close()


def test_quarantine_of_a_new_lake_is_empty(tmp_path: Path) -> None:
    lake = hw.Lake(**SECTIONS, lake=str(tmp_path / "lake"))
    assert (len(lake.quarantine), lake.quarantine.list()) == (0, [])
    assert repr(lake.quarantine) == f"<quarantine of {tmp_path}/lake: 0 items>"
    with pytest.raises(UsageError, match="no quarantined item"):
        lake.quarantine["abc"]
    assert lake.status().events.rows == 0
    assert "<td>orders_cow</td>" in lake._repr_html_()


def test_an_edited_file_is_read_as_if_it_were_in_place_of_the_lakes_own(tmp_path: Path) -> None:
    text = "source: {type: local, path: landing}\nlake: tables\ntables: {things: {path: '*.json'}}\n"
    folder, elsewhere = tmp_path / "lake", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
        (place / "headwater.yaml").write_text(text)
    lake = hw.open(folder / "headwater.yaml", overrides={"tables.things.mode": "append"})
    edited = lake._read_edited(elsewhere / "headwater.yaml")
    assert edited == lake.settings


def test_reports_are_tables_in_notebooks() -> None:
    now = datetime(2026, 5, 2, tzinfo=timezone.utc)
    totals = TableTotals(commits=1, rows=3, objects=Counter(ingested=2, quarantined=1))
    run = RunReport(CaptureStats(events=3), {"a": totals}, {"b": UsageError("no <b>")})
    assert "<td>2 ingested, 1 quarantined</td>" in run._repr_html_()
    assert "3 events captured; b failed: no &lt;b&gt;" in run._repr_html_()
    table = TableReport(TableVerification(ingested=2, missing=1), problems=[Finding("missing", "k.json")])
    html = VerifyReport(now, {"a": table}, now)._repr_html_()
    assert "<td>a</td><td>no</td><td>2</td>" in html
    assert "<td>missing</td><td>k.json</td>" in table._repr_html_()
    decision = TableDecision("a", "e", "1", now, "quarantined", "unparsable", "line 2", "v", 0, 1, 9)
    html = Explanation("file:///k.json", "quarantined", "", [], [decision], [], {})._repr_html_()
    assert "<td>quarantined</td><td>line 2</td>" in html
    assert "file:///k.json is quarantined; 0 events" in html


def test_a_status_is_a_table_in_notebooks(lake: hw.Lake) -> None:
    assert "<td>orders_cow</td>" in lake.status()._repr_html_()
