"""What docs/how-to/query-a-table.md shows works, on the table that it shows."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from tests.fixtures.lakes import FIXTURE_LAKE

pytestmark = pytest.mark.long

HOW_TO = (Path(__file__).parents[4] / "docs/how-to/query-a-table.md").read_text("utf-8")


def list_blocks(language):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", HOW_TO, re.DOTALL | re.MULTILINE)
    return [text for kind, text in blocks if kind == language]


@pytest.fixture(autouse=True)
def shop(tmp_path, monkeypatch):
    shutil.copytree(FIXTURE_LAKE / "orders_cow", tmp_path / "lake" / "orders")
    (tmp_path / "headwater.yaml").write_text(
        f"""
source: {{type: local, path: landing}}
lake: {tmp_path}/lake
tables:
  orders: {{path: "orders/**/*.json", record_key: order_id}}
"""
    )
    monkeypatch.chdir(tmp_path)


def test_documented_commands_run():
    shown = [line for block in list_blocks("sh") for line in block.splitlines()]
    # Those need another table, or do not end.
    lines = [line for line in shown if "--cdc" not in line and "--follow" not in line]
    assert len(lines) >= 4
    for line in lines:
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert (done.exit_code, done.stderr) == (0, ""), line
        assert done.stdout


def test_first_command_prints_the_documented_output():
    command, shown = list_blocks("sh")[0], list_blocks("")[0]
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


def test_documented_python_runs(spark, capsys):
    (block,) = list_blocks("python")
    names: dict[str, Any] = {"spark": spark}
    exec(block, names)
    assert names["table"].num_rows == 8
    assert names["frame"].count() == 8
    said = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("i ", "u ", "d ")) for line in said) == 12
    assert said[-1] == "20261121060033553"
