"""`headwater schema` as a command."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.app.schema import RenamedField, SchemaReport, TableColumn
from headwater.cli.main import app
from headwater.cli.tables.schema import render_previews, render_report
from headwater.ingest.evolution.preview import ColumnEffect, ObjectPreview
from headwater.ingest.evolution.schema_history import RecordedChange, SchemaVersion
from tests.fixtures.lakes import write_config


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "schema", *args])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_json_has_columns_mode_and_versions(config):
    output = json.loads(run(config, "orders_cow", "--json").stdout)
    assert set(output) == {
        "table",
        "schema_evolution_mode",
        "rescued_data_column",
        "columns",
        "renamed",
        "versions",
    }
    assert (output["table"], output["schema_evolution_mode"]) == ("orders_cow", "add_new_columns")
    assert output["rescued_data_column"] is None


def test_table_without_commits_says_so(config):
    done = run(config, "coming")
    assert done.exit_code == 0
    assert "no commit with columns yet" in done.stdout


@pytest.mark.parametrize("args", [("orders_cow", "x.json"), ("orders_cow", "--preview")])
def test_preview_and_objects_belong_together(config, args):
    done = run(config, *args)
    assert done.exit_code == 2
    assert "headwater schema orders_cow --preview KEY..." in done.stderr


def test_unknown_table_is_bad_input(config):
    done = run(config, "nowhere")
    assert done.exit_code == 2
    assert "nowhere" in done.stderr


def test_text_has_a_line_a_change(capsys):
    changes = (
        RecordedChange("widened", "n", "bigint", "double", "s3://b/k"),
        RecordedChange("added", "note", None, "string", None),
    )
    at = datetime(2026, 5, 2, 10, tzinfo=timezone.utc)
    versions = (SchemaVersion(1, at, "20260502100000000"), SchemaVersion(2, at, None, changes))
    columns = (TableColumn("n", "double"), TableColumn("note", "string"))
    renamed = (RenamedField("größe", "grosse"),)
    render_report(SchemaReport("t", "add_new_columns", "rest", columns, renamed, versions))
    lines = capsys.readouterr().out.splitlines()
    assert ["größe", "grosse"] in [line.split() for line in lines]
    assert lines[:2] == [
        "table t, schema_evolution_mode: add_new_columns",
        "values that fit no column are in rest",
    ]
    assert "20260502100000000" in lines[-3]
    assert lines[-2].split()[-5:] == ["widened", "n", "bigint", "double", "s3://b/k"]
    assert lines[-1].split()[-3:] == ["added", "note", "string"]


def test_preview_has_effects_missing_columns_and_failures(capsys):
    render_previews(
        [
            ObjectPreview("a", (ColumnEffect("added", "x", None, "int"),), ("gone",)),
            ObjectPreview("b"),
            ObjectPreview("c", error="not there"),
        ]
    )
    output = capsys.readouterr().out
    assert "added" in output
    assert "has no gone: null in its rows" in output
    assert "changes nothing" in output
    assert "cannot preview: not there" in output
