"""Commands that write what a `run` does are refused beside one, before Spark starts."""

import json
import shutil
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.app.roles import choose_roles
from headwater.app.services.writer_lease import hold_for_run
from headwater.cli.main import app
from headwater.config.loader import load_settings
from headwater.lake.writers.writer_lease import Patience
from headwater.sources.lister import ListedObject
from tests.fixtures.lakes import FIXTURE_LAKE
from tests.fixtures.listing.inventory import InventoryRow, write_inventory

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
FOLDER = {"type": "local", "clean_source": "delete"}
BUCKET = {
    "type": "s3",
    "bucket": "landing",
    "endpoint": "http://127.0.0.1:9",
    "queue": {"url": "http://127.0.0.1:9/q"},
}


@pytest.mark.parametrize("lock", [None, {"provider": "file_system"}])
@pytest.mark.parametrize(
    ("source", "command"),
    [
        (FOLDER, ("quarantine", "retry")),
        (FOLDER, ("quarantine", "drop", "--yes")),
        (FOLDER, ("verify", "--repair")),
        (FOLDER, ("routing", "--apply")),
        (FOLDER, ("replay", "--table", "orders", "--since", "1d")),
        (FOLDER, ("skip-to", "latest", "--table", "orders")),
        (FOLDER, ("adopt", "orders")),
        (FOLDER, ("clean-source",)),
        (BUCKET, ("reconcile", "--inventory", "{manifest}")),
    ],
)
def test_it_says_who_writes_and_that_it_has_to_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: dict[str, object],
    command: tuple[str, ...],
    lock: dict[str, str] | None,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    shutil.copytree(FIXTURE_LAKE, tmp_path / "lake")
    for folder in ("landing", "inventory"):
        (tmp_path / folder).mkdir()
    row = InventoryRow(ListedObject("k", 1, "e", None, NOW))
    manifest = str(write_inventory(tmp_path / "inventory", "CSV", [[row]], bucket="landing"))
    place = {"path": str(tmp_path / "landing")} if source is FOLDER else {}
    config = tmp_path / "headwater.yaml"
    tables = {"orders": {"path": "*.json"}}
    lake = str(tmp_path / "lake")
    config.write_text(json.dumps({"source": source | place, "lake": lake, "tables": tables, "lock": lock}))
    settings = load_settings(config)
    with hold_for_run(settings, choose_roles(settings), threading.Event(), once=True):
        monkeypatch.setattr("headwater.app.services.writer_lease.Patience", lambda: Patience(0.0))
        refused = CliRunner().invoke(
            app, ["-c", str(config), *(word.format(manifest=manifest) for word in command)]
        )
    assert (refused.exit_code, refused.stdout) == (1, ""), refused.output
    assert "being written by run (process" in refused.stderr
    assert "wait until it ends, or stop it" in refused.stderr
