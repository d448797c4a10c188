import json

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app

TEXT = """
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "*.json"}
"""


@pytest.fixture
def ask(tmp_path):
    file = tmp_path / "headwater.yaml"
    file.write_text(TEXT)
    return lambda *words: CliRunner().invoke(app, ["--config", str(file), "lineage", *words])


def test_nodes_and_edges_as_json(ask, tmp_path):
    found = json.loads(ask("--json").stdout)
    assert [(node["kind"], node["name"]) for node in found["nodes"]] == [
        ("source", str(tmp_path / "landing")),
        ("events", "events"),
        ("table", "orders"),
        ("quarantine", "quarantine"),
    ]
    assert found["edges"][1] == {
        "source": "events", "target": "orders", "rules": {"path": "*.json", "mode": "append"},
    }  # fmt: skip


def test_as_a_flowchart(ask):
    drawn = ask().stdout
    assert '    n1 -->|"path: *.json; mode: append"| n2' in drawn.splitlines()
    assert drawn.startswith("flowchart LR\n")
    assert ask("--mermaid").stdout == drawn
    refused = ask("--mermaid", "--json")
    assert (refused.exit_code, "are mutually exclusive" in refused.output) == (2, True)
