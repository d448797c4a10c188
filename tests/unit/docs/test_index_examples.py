"""The examples of docs/how-to/index-a-table.md: each command says what the page says it does."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from tests.fixtures.inspection.addresses import copy_fixture

PAGE = (Path(__file__).parents[3] / "docs/how-to/index-a-table.md").read_text("utf-8")
(CONFIGURATION,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command, shown in re.findall(r"\$ headwater (.*?)\n((?:(?!\$ ).*\n)*)", block)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lake").mkdir()
    copy_fixture("orders_cow", tmp_path / "lake")
    (tmp_path / "lake/orders_cow").rename(tmp_path / "lake/orders")
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_command_output_matches_the_page(command, shown):
    done = run(*shlex.split(command))
    assert done.exit_code == (2 if shown.startswith("error:") else 0)
    assert shown in f"{done.stdout}{done.stderr}"


@pytest.mark.usefixtures("folder")
def test_program_runs(capsys):
    exec(PROGRAM, {})
    assert capsys.readouterr().out == "()\n"
