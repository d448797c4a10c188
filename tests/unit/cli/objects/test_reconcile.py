"""`headwater reconcile` as a command: what is refused before Spark starts, and what is printed."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.app.reconcile import ReconcileDifference, ReconcileReport
from headwater.capture.reconcile import ReconcilePass
from headwater.cli.main import app
from headwater.cli.objects.reconcile import render_report
from headwater.sources.lister import ListedObject
from tests.fixtures.lakes import write_config
from tests.fixtures.listing.inventory import InventoryRow, write_inventory

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
DONE = ReconcilePass(
    "p",
    "b",
    "",
    "listing",
    NOW,
    finished_at=NOW + timedelta(1),
    listed=1200,
    missing=2,
    vanished=1,
    emitted=3,
)


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "reconcile", *args])


def write_s3_config(folder: Path, bucket: str = "landing") -> Path:
    config = folder / "headwater.yaml"
    source = {
        "type": "s3",
        "bucket": bucket,
        "endpoint": "http://127.0.0.1:9",
        "queue": {"url": "http://q/q"},
    }
    config.write_text(json.dumps({"source": source, "lake": "lake", "tables": {"t": {"path": "*.json"}}}))
    return config


def test_a_folder_has_no_inventory(tmp_path: Path) -> None:
    done = run(write_config(tmp_path), "--inventory", "manifest.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "a source of type 'local' has no inventory" in done.stderr


@pytest.mark.parametrize("bucket", ["landing", "other"])
def test_a_wrong_inventory_is_refused_before_spark_starts(
    tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    row = InventoryRow(ListedObject("k", 1, "e", None, NOW))
    manifest = write_inventory(tmp_path, "CSV", [[row]], bucket="other")
    given = manifest if bucket == "landing" else tmp_path / "nothing.json"
    done = run(write_s3_config(tmp_path), "--inventory", str(given))
    assert (done.exit_code, done.stdout) == (2, "")
    assert ("bucket other" if bucket == "landing" else "no such file") in done.stderr


def test_differences_are_reported_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    examples = [
        ReconcileDifference("missing", "a b[c].json", "e1", None),
        ReconcileDifference("vanished", "z", None, "e2"),
    ]
    render_report(ReconcileReport(DONE, examples), dry_run=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["missing", "a", "b[c].json", "e1"]
    assert lines[3:] == [
        "... and 1 more",
        "1,200 objects listed: 2 missing, 0 changed, 1 absent from the listing, 0 too recent to compare",
        "3 events added; ingest them: headwater run",
    ]


def test_a_dry_run_says_that_nothing_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    render_report(ReconcileReport(DONE), dry_run=True)
    assert capsys.readouterr().out.splitlines()[-1] == "dry run: nothing written"


@pytest.mark.parametrize(("waiting", "is_told"), [(2_000, True), (0, False), (None, False)])
def test_non_empty_queue_is_reported(
    waiting: int | None, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    render_report(ReconcileReport(DONE, waiting=waiting), dry_run=True)
    said = capsys.readouterr().out
    assert ("About 2,000 notifications wait in the queue" in said) is is_told
    assert ("Capture them first: headwater run --once" in said) is is_told
