"""`headwater table NAME sync` as a command, against a catalog that does not answer; `status` tells of it."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.config.catalogs import catalog
from tests.fixtures.catalogs.bigquery import run_bigquery
from tests.fixtures.catalogs.no_google import no_google
from tests.fixtures.free_port import find_free_port
from tests.fixtures.lakes import FIXTURE_LAKE, write_config

__all__ = ["no_google"]


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), *args])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    shutil.copytree(FIXTURE_LAKE / "orders_cow", lake / "orders_cow")
    path = write_config(tmp_path, lake)
    with path.open("a") as file:
        file.write(
            f"catalogs: [{{type: hive, database: shop, address: 'thrift://127.0.0.1:{find_free_port()}'}}]\n"
        )
    return path


def test_catalog_outage_is_exit_code_1_and_in_status(config: Path) -> None:
    done = run(config, "table", "orders_cow", "sync", "--json")
    assert done.exit_code == 1
    (output,) = json.loads(done.stdout)["catalogs"]
    assert "does not answer" in output["error"]
    (note,) = json.loads(run(config, "status", "--json", "--table", "orders_cow").stdout)["catalogs"]
    assert (note["catalog"], note["table"], note["sent_at"]) == ("hive", "orders_cow", "")
    assert "does not answer" in note["error"]
    assert "catalog     hive: orders_cow: failing since" in run(config, "status").stdout


def test_own_tables_are_not_synced_unless_a_catalog_has_them(config: Path) -> None:
    done = run(config, "table", "events", "sync")
    assert done.exit_code == 2
    assert "events is not synced to a catalog" in done.stderr
    assert "add it to `own_tables` of a catalog" in done.stderr


@pytest.mark.usefixtures("no_google")
def test_a_dry_run_shows_the_manifest_that_would_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "lake/folder_days"
    shutil.copytree(FIXTURE_LAKE / "folder_days", table)
    # Only BigQuery itself needs it.
    monkeypatch.setattr(catalog, "_BIGQUERY_LAKES", "/")
    config = tmp_path / "headwater.yaml"
    with run_bigquery() as server:
        config.write_text(
            f"""
source: {{type: local, path: /landing}}
lake: "{tmp_path}/lake"
tables:
  folder_days: {{path: "*.json", record_key: id, partition: day, drop_partition_columns: true}}
catalogs:
  - {{type: bigquery, project: acme-analytics, database: shop, endpoint: "{server.address}"}}
"""
        )
        done = run(config, "table", "folder_days", "sync", "--dry-run")
        shown = "would create the table with 8 columns; write the manifest of 2 files\n"
        assert done.stdout == f"bigquery: shop.folder_days: {shown}"
        assert (server.sent, (table / ".hoodie/absolute-path-manifest").exists()) == ([], False)
        (output,) = json.loads(run(config, "table", "folder_days", "sync", "--json").stdout)["catalogs"]
        assert [change["files"] for change in output["tables"]] == [2]
        assert len(server.sent) == 2
        assert "nothing to send" in run(config, "table", "folder_days", "sync", "--dry-run").stdout
