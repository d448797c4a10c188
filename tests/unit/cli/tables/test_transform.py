"""`headwater transform`: what is refused before Spark starts, and how steps look as text."""

import pytest
from typer.testing import CliRunner

from headwater.app.processing.sample import TransformReport
from headwater.cli.main import app
from headwater.cli.tables.transform import render_report
from headwater.ingest.processing.preview import StepColumn, StepRows

CONFIG = """\
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", transform: [{drop: secret_number}, {hash: email}]}
  items: {path: "*.json"}
"""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["order"], "no table 'order'"),
        (["items"], "table items has no `transform`"),
        (["orders", "--step", "3"], "table orders has no transform 3"),
        (["orders"], "tables.orders.transform[1].hash: needs a salt: set the environment variable"),
    ],
)
def test_invalid_transform_requests_are_rejected_before_spark_starts(tmp_path, monkeypatch, args, said):
    monkeypatch.delenv("HEADWATER_HASH_SALT", raising=False)
    config = tmp_path / "headwater.yaml"
    config.write_text(CONFIG)
    done = CliRunner().invoke(app, ["-c", str(config), "transform", *args])
    assert done.exit_code == 2
    assert said in done.stderr


def test_each_transform_is_a_table_with_types_in_its_header(capsys):
    nested, flat = StepColumn("at", "struct<c:string>"), StepColumn("at_c", "string")
    number = StepColumn("id", "bigint")
    steps = (
        StepRows(0, "input", (number, nested), ({"id": 1, "at": {"c": "x"}},)),
        StepRows(1, "step 1 (flatten)", (number, flat), ({"id": 1, "at_c": "x"},)),
    )
    render_report(TransformReport("orders", "a.json", "json", 1, 2, steps))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "table orders, a.json (json): 1 records, 2 do not fit the columns"
    assert lines[2] == "input: the records as read"
    assert lines[3].split() == ["id", "bigint", "at", "struct<c:string>"]
    assert '{"c": "x"}' in lines[4]
    assert lines[6] == "step 1 (flatten)"
    assert lines[8].split() == ["1", "x"]
