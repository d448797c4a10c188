"""`headwater table NAME check`, and what it exits with."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.lake import inspection
from headwater.lake.layout import TableAddress
from tests.fixtures.inspection.addresses import copy_fixture


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return copy_fixture("orders_mor", tmp_path / "lake")


def run(address: TableAddress, *args: str) -> Result:
    lake = Path(address.path).parent
    config = lake.parent / "headwater.yaml"
    config.write_text(
        f"""
source: {{type: local, path: /landing}}
lake: {lake}
tables: {{orders_mor: {{path: "*.json", table_type: merge_on_read}}}}
"""
    )
    return CliRunner().invoke(app, ["-c", str(config), "table", "orders_mor", "check", *args])


def test_intact_table_passes(address):
    done = run(address, "--contents")
    assert done.exit_code == 0, done.stderr
    assert "5 files in the newest state: all complete" in done.stdout
    assert json.loads(run(address, "--json").stdout) == {
        "table": "orders_mor", "good": True, "files": 5, "damaged": [], "skipped": [], "problems": [],
    }  # fmt: skip


def test_truncated_log_is_reported_with_next_steps(address):
    log = next(log for one in inspection.read_layout(address).slices for log in one.log_files)
    os.truncate(Path(address.path, log.path), 50)
    done = run(address)
    assert done.exit_code == 3
    assert "1 corrupt" in done.stdout
    assert "hint: restore the file" in done.stdout
    [output] = json.loads(run(address, "--json").stdout)["damaged"]
    assert (output["path"], output["what"], output["found"]) == (log.path, "size", 50)
