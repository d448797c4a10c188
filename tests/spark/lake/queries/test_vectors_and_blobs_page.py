"""What docs/how-to/vectors-and-blobs.md shows works, on the table that it shows."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from headwater.cli.main import app
from tests.fixtures.folder_lake import FolderLake

PAGE = (Path(__file__).parents[4] / "docs/how-to/vectors-and-blobs.md").read_text("utf-8")


def list_blocks(language):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for kind, text in blocks if kind == language]


@pytest.fixture(scope="module")
def shop(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (configuration,), (rows,) = list_blocks("yaml"), list_blocks("json")
    (folder / "headwater.yaml").write_text(configuration)
    lake = FolderLake(spark, folder, **YAML(typ="safe").load(configuration)["tables"])
    lake.put("products/1.json", rows)
    lake.ingest("products")
    return lake


@pytest.fixture(autouse=True)
def next_to_the_configuration(shop, monkeypatch):
    monkeypatch.chdir(shop.source.parent)


def test_the_row_that_is_named_is_in_quarantine(shop):
    assert shop.rows("products", "id") == [("cup",), ("lamp",), ("mug",)]
    assert shop.quarantine("line", "reason") == [(4, "bad_vector")]
    done = CliRunner().invoke(app, ["quarantine", "list"])
    assert "bad_vector" in done.stdout


def test_commands_print_the_documented_output():
    commands = [line for block in list_blocks("sh") for line in block.splitlines() if " sql " in line]
    shown = list_blocks("")
    assert len(commands) == len(shown) == 2
    for command, expected in zip(commands, shown, strict=True):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert (done.exit_code, done.stderr) == (0, "")
        assert [line.rstrip() for line in done.stdout.splitlines()] == expected.splitlines()


def test_documented_python_runs(spark):
    (block,) = list_blocks("python")
    names: dict[str, Any] = {"spark": spark}
    exec(block, names)
    assert [row["id"] for row in names["nearest"].collect()] == ["mug", "cup"]
    (row,) = names["pictures"].collect()
    assert bytes(row["picture"]) == bytes(range(6))
