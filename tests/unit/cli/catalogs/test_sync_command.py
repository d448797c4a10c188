"""`headwater table NAME sync` as a command, against a catalog that does not answer; `status` tells of it."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from headwater.cli.main import app
from tests.fixtures.catalogs.hive_metastore import find_free_port
from tests.fixtures.lakes import FIXTURE_LAKE, write_config


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


def test_a_catalog_that_does_not_answer_is_exit_code_one_and_shown_by_status(config: Path) -> None:
    done = run(config, "table", "orders_cow", "sync", "--json")
    assert done.exit_code == 1
    (told,) = json.loads(done.stdout)["catalogs"]
    assert "does not answer" in told["error"]
    (note,) = json.loads(run(config, "status", "--json", "--table", "orders_cow").stdout)["catalogs"]
    assert (note["catalog"], note["table"], note["sent_at"]) == ("hive", "orders_cow", "")
    assert "does not answer" in note["error"]
    assert "catalog     hive: orders_cow: failing since" in run(config, "status").stdout


def test_headwaters_own_tables_are_told_to_nobody(config: Path) -> None:
    done = run(config, "table", "events", "sync")
    assert done.exit_code == 2
    assert "no catalog is told of events" in done.stderr
