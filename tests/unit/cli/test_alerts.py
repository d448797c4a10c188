"""`headwater alerts`: what it prints can be given to Prometheus and to Grafana as it is."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from tests.fixtures.promtool import run_promtool

BASE = "source: {type: local, path: in}\nlake: lake\ntables: {orders: {path: '*.json'}}\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "headwater.yaml"
    file.write_text(BASE + "slo: {fresh: 45s, complete: 15m, target: 0.999}\n", "utf-8")
    return file


def run(config: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "alerts", *words])


def test_rules_follow_the_configuration(config: Path) -> None:
    done = run(config, "--job", "lake-prod")
    assert done.exit_code == 0
    groups = YAML(typ="safe").load(done.stdout)["groups"]
    expressions = "\n".join(rule["expr"] for group in groups for rule in group["rules"])
    assert 'le="45.0"' in expressions
    assert "<= bool 900)" in expressions
    assert "> 14.4 * 0.001" in expressions
    assert 'job="lake-prod"' in expressions
    assert 'job="headwater"' not in expressions


def test_prometheus_accepts_the_output(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(run(config).stdout, "utf-8")
    done = run_promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_is_json(config: Path) -> None:
    dashboard = json.loads(run(config, "--dashboard").stdout)
    assert dashboard["title"].startswith("headwater: ")
    assert len(dashboard["panels"]) > 10


@pytest.mark.parametrize("job", ["", 'a"b'])
def test_an_invalid_job_exits_2(config: Path, job: str) -> None:
    done = run(config, "--job", job)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is not the name of a scrape job" in done.stderr
