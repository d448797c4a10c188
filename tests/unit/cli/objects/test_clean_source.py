"""`headwater clean-source` as a command: what is refused before Spark starts, and what is printed."""

import json
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.app.cleaning import CleanReport
from headwater.cli.main import app
from headwater.cli.objects.clean_source import describe_clean, render_report
from tests.fixtures.lakes import write_config

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def build_report(*, dry_run: bool = False, finished: bool = True) -> CleanReport:
    report = CleanReport("delete", dry_run, NOW, NOW if finished else None)
    report.objects = Counter({"due": 1200, "too_young": 3})
    report.examples = {"too_young": ["a.json", "b.json", "c.json", "d.json"]}
    report.results = Counter() if dry_run else Counter({"cleaned": 1198, "changed": 2})
    return report


def test_a_source_that_is_not_to_be_cleaned_is_left_alone(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["-c", str(write_config(tmp_path)), "clean-source"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "clean_source is off" in done.stderr


def test_a_combination_that_cannot_be_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "headwater.yaml"
    source = {"type": "local", "path": "landing", "clean_source": "tag"}
    config.write_text(json.dumps({"source": source, "lake": "lake", "tables": {"t": {"path": "*.json"}}}))
    for command in ("clean-source", "run"):
        done = CliRunner().invoke(app, ["-c", str(config), command])
        assert done.exit_code == 2
        assert "files have no tags" in done.stderr


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (build_report(), "delete: 1,198 of 1,200 due objects, 2 changed"),
        (build_report(dry_run=True), "1,200 objects due for `delete`; dry run: nothing changed"),
        (build_report(finished=False), "stopped: the next pass continues"),
    ],
)
def test_pass_is_described_in_one_sentence(report: CleanReport, expected: str) -> None:
    assert expected in describe_clean(report)


def test_every_object_is_in_the_table_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    render_report(build_report())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["objects", "why", "examples"]
    assert lines[1].split() == ["1,200", "due"]
    assert lines[2].split() == ["3", "too", "young", "a.json,", "b.json,", "c.json"]
