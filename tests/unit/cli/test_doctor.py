"""`headwater doctor` as a command: exit codes, text, JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.doctor import render_findings
from headwater.cli.main import app
from headwater.sources.finding import SetupFinding

# Without jars to look for, nothing is asked of the network.
CONFIG = """
source: {type: local, path: in}
lake: out
tables: {a: {path: a.json}}
spark: {config: {spark.jars.packages: ""}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    return tmp_path


def run(folder: Path, *args: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["-c", str(folder / "headwater.yaml"), "doctor", *args])
    # Not the log, to which threads of earlier tests may still write.
    return done.exit_code, done.stdout


def test_a_problem_is_exit_code_1_and_has_its_fix(folder: Path) -> None:
    code, output = run(folder)
    assert code == 1
    assert "PROBLEM" in output
    assert "-> create it, or correct source.path" in output


def test_json_has_a_verdict_and_every_finding(folder: Path) -> None:
    code, output = run(folder, "--json")
    answer = json.loads(output)
    assert (code, answer["ok"]) == (1, False)
    source = next(finding for finding in answer["findings"] if finding["name"] == "source.path")
    assert source["status"] == "problem"
    assert set(source) == {"name", "status", "detail", "fix"}


def test_warnings_are_counted_apart_from_problems(capsys: pytest.CaptureFixture[str]) -> None:
    render_findings([SetupFinding("a", "ok", "fine"), *[SetupFinding("b", "warning", "hm", "look")] * 2])
    output = capsys.readouterr().out
    assert output.rstrip().endswith("2 warnings.")
    assert "-> look" in output


def test_a_wrong_configuration_is_exit_code_2(folder: Path) -> None:
    (folder / "headwater.yaml").write_text(CONFIG + "lakee: x\n")
    code, _ = run(folder)
    assert code == 2


def test_fix_shows_what_it_would_do_and_requires_a_confirmation(folder: Path) -> None:
    done = CliRunner().invoke(app, ["-c", str(folder / "headwater.yaml"), "doctor", "--fix"])
    assert done.exit_code == 2
    assert f"create the folder {folder / 'in'}" in done.output
    assert "--yes" in done.output
    assert not (folder / "in").exists()


def test_confirmed_fix_is_applied_and_checked_again(folder: Path) -> None:
    code, output = run(folder, "--fix", "--yes", "--json")
    answer = json.loads(output)
    assert (folder / "in").is_dir()
    assert answer["fixed"] == [
        {"name": "source.path", "action": f"create the folder {folder / 'in'}", "error": ""}
    ]
    source = next(finding for finding in answer["findings"] if finding["name"] == "source.path")
    assert source["status"] == "ok"
    assert code == (0 if answer["ok"] else 1)
    assert "Nothing to fix" in run(folder, "--fix", "--yes")[1]


def test_yes_without_fix_is_a_usage_error(folder: Path) -> None:
    assert run(folder, "--yes")[0] == 2
