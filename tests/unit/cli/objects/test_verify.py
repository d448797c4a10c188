"""`headwater verify` as a command: what is refused before Spark starts, and what is told of a deep look."""

from datetime import datetime, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.app.objects.verify import TableReport, VerifyReport
from headwater.cli.main import app
from headwater.cli.objects.verify import build_json, describe_deep, render_report
from headwater.ingest.planning.verification import DeepCounts, Finding
from headwater.ingest.writing.stored_contents import OutsideRows
from tests.fixtures.lakes import write_config

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
DEEP = DeepCounts(objects=1200, rows=50_000, differing=1, changed=2)


def build_report(deep: DeepCounts | None) -> VerifyReport:
    table = TableReport(watermark=NOW, deep=deep)
    table.counts.add(Finding("ingested", "a.json", "cleaned"))
    return VerifyReport(NOW, {"orders": table}, NOW)


def test_sample_requires_deep(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["-c", str(write_config(tmp_path)), "verify", "--sample", "10"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--sample requires --deep" in done.stderr


def test_deep_verification_is_described_in_one_sentence() -> None:
    description = describe_deep(DEEP)
    assert description == "1,200 objects with 50,000 rows re-read, 1 differ, 2 changed since"
    assert describe_deep(DeepCounts(unread=3)).endswith("0 differ, 3 unreadable")


@pytest.mark.parametrize("deep", [DEEP, None])
def test_the_document_has_a_block_of_it(deep: DeepCounts | None, capsys: pytest.CaptureFixture[str]) -> None:
    report = build_report(deep)
    table = build_json(report)["tables"]["orders"]
    assert table["deep"] is deep
    assert (table["ingested"], table["reasons"]) == (1, {"cleaned": 1})
    render_report(report, repair=False)
    shown = capsys.readouterr().out
    assert ("re-read" in shown) == (deep is not None)
    assert "orders: 1 cleaned" in shown


def test_rows_of_another_source_are_reported_and_make_a_table_incomplete(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert build_report(None).is_complete
    report = build_report(None)
    report.tables["orders"].outside = OutsideRows(2, 1_500, "/old/a.json")
    assert not report.is_complete
    report.tables["items"] = TableReport(watermark=NOW)
    found = build_json(report)
    assert found["tables"]["orders"]["outside"].rows == 1_500
    complete = {name: table["complete"] for name, table in found["tables"].items()}
    assert (found["complete"], complete) == (False, {"orders": False, "items": True})
    render_report(report, repair=False)
    shown = capsys.readouterr().out
    assert "orders: 1,500 rows of 2 objects outside the source, such as /old/a.json" in shown
    assert "set source.moved_from" in shown


def test_a_table_with_pending_objects_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    report = build_report(None)
    render_report(report, repair=False)
    assert "Pending" not in capsys.readouterr().out
    late = TableReport(watermark=NOW)
    late.counts.add(Finding("pending", "b.json", "its event is not processed yet"))
    report.tables["items"] = late
    render_report(report, repair=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "All changes before 2026-06-01 00:00:00Z are in the tables or accounted for." in shown
    assert "Pending in items: captured later, or not ingested because the table fails." in shown
