"""`plan`, `up` and `down` of a folder: nothing to do, and nothing is asked of anybody."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    path = tmp_path / "headwater.yaml"
    path.write_text("source: {type: local, path: in}\nlake: out\ntables: {a: {path: '*.json'}}\n")
    return path


def run(config: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), *words])


@pytest.mark.parametrize("command", [("plan",), ("up",), ("up", "--dry-run"), ("down",), ("down", "--yes")])
def test_a_folder_needs_nothing(config: Path, command: tuple[str, ...]) -> None:
    text = run(config, *command)
    assert text.exit_code == 0
    assert "Nothing to do" in text.stdout
    output = json.loads(run(config, *command, "--json").stdout)
    assert output["actions"] == []


def test_a_folder_takes_no_policies(config: Path) -> None:
    done = run(config, "plan", "--policies")
    assert done.exit_code == 2
    assert "type gcs and s3" in done.stderr


def test_policies_without_credentials_leave_account_and_region_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    path = tmp_path / "headwater.yaml"
    path.write_text("source: {type: s3, bucket: acme}\nlake: s3a://lake\ntables: {a: {path: '*.json'}}\n")
    output = json.loads(run(path, "plan", "--policies").stdout)
    assert output["serve"]["Statement"][0]["Resource"] == ["arn:aws:sqs:*:*:headwater-acme"]
