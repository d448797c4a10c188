"""What works without any extra, and what the short commands import.

Each test has a process of its own. In it, the packages of the extras, and those that come with them, cannot
be imported.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.cli.main import COMMANDS
from headwater.config.extras.packages import MODULES

# Packages of the core bring these, too.
CORE = {"urllib3", "markdown_it"}
COME_WITH_EXTRAS = {"grpc", "httpx", "mcp", "requests", "starlette", "thrift"}
OPTIONAL = {module.partition(".")[0] for modules in MODULES.values() for module in modules}
HIDDEN = sorted((OPTIONAL | COME_WITH_EXTRAS) - CORE)

CONFIG = """\
source: {type: local, path: in}
lake: out
tables:
  a: {path: "*.json"}
"""
PROGRAM = """
import contextlib, io, json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

hidden, commands = json.loads(sys.argv[1])
sys.meta_path.insert(0, Hidden())
from headwater.cli.main import app

done = []
for words in commands:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(words)
        except SystemExit as end:
            code = end.code
    done.append((code, out.getvalue(), err.getvalue()))
imported = {name.partition(".")[0] for name in sys.modules}
print(json.dumps({"done": done, "imported": sorted(imported), "modules": sorted(sys.modules)}))
"""


def run_commands(folder: Path, *commands: list[str], hidden: list[str] | None = None) -> dict[str, Any]:
    given = json.dumps([HIDDEN if hidden is None else hidden, commands])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, given],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    (tmp_path / "in").mkdir()
    return tmp_path


def test_every_command_shows_its_help_and_the_overview_its_first_line(folder: Path) -> None:
    commands = [["--help"], ["index", "build", "--help"], *([name, "--help"] for name in COMMANDS)]
    (_, overview, _), _, *others = done = run_commands(folder, *commands)["done"]
    for words, (code, out, _) in zip(commands, done, strict=True):
        assert code in (0, None), words
        assert "Usage:" in out, words
    for (name, (_, summary)), (_, out, _) in zip(COMMANDS.items(), others, strict=True):
        assert squeeze(summary) in squeeze(overview), name
        assert squeeze(summary) in squeeze(out), name


def squeeze(text: str) -> str:
    return "".join(text.split())


def test_configuration_is_checked_and_the_lake_read(folder: Path) -> None:
    commands = [["config", "check"], ["status"], ["lineage"], ["sql", "select 1 as one", "--json"]]
    for words, (code, out, err) in zip(commands, run_commands(folder, *commands)["done"], strict=True):
        assert code in (0, None), (words, err)
        assert out, words


def test_init_writes_tables_of_documents(folder: Path) -> None:
    (folder / "in/manuals").mkdir()
    (folder / "in/manuals/a.pdf").write_bytes(b"%PDF-1.4")
    commands = [["init", "--force", "--path", "in", "."], ["config", "check"]]
    (init, _, err), (check, _, said) = run_commands(folder, *commands)["done"]
    assert init in (0, None), err
    assert check == 2
    assert said.endswith("hint: pip install 'headwater[documents]'\n")


def test_modules_of_a_run_are_imported_without_extras(folder: Path) -> None:
    code = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hidden())
import headwater.app.run, headwater.app.doctor, headwater.app.machine.preparation
import headwater.app.services.worker, headwater.ingest.formats, headwater.lake.queries, headwater.lake.writes
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)


def test_section_without_its_extra_exits_2_with_the_command_before_spark_starts(folder: Path) -> None:
    (folder / "headwater.yaml").write_text(CONFIG + "search: {table: a, text: [title]}\n")
    commands = [["run", "--once"], ["config", "check"], ["status"], ["doctor"], ["serve"], ["index", "build"]]
    found = run_commands(folder, *commands)
    for words, (code, out, err) in zip(commands, found["done"], strict=True):
        assert (code, out) == (2, ""), words
        assert "search" in err, words
        assert err.endswith("hint: pip install 'headwater[search]'\n"), words
    assert "pyspark" not in found["imported"]


def test_command_of_an_extra_exits_2_with_the_command(folder: Path) -> None:
    commands = [["serve"], ["index", "build"], ["index", "eval"], ["demo"]]
    for words, (code, out, err) in zip(commands, run_commands(folder, *commands)["done"], strict=True):
        assert (code, out) == (2, ""), words
        assert f"`headwater {words[0]}" in err, words
        assert err.endswith("hint: pip install 'headwater[search]'\n"), words


@pytest.mark.parametrize("words", [["--help"], ["status"]], ids=" ".join)
def test_short_commands_import_neither_spark_nor_extras(folder: Path, words: list[str]) -> None:
    found = run_commands(folder, words, hidden=[])
    ((code, _, err),) = found["done"]
    assert code in (0, None), err
    unwanted = {"pyspark", "py4j", "pandas", "boto3", "torch", *HIDDEN}
    assert not unwanted & set(found["imported"])


def test_help_imports_no_command_and_no_library_but_typer(folder: Path) -> None:
    found = run_commands(folder, ["--help"], hidden=[])
    own = {name for name in found["modules"] if name.startswith("headwater.")}
    assert own == {
        "headwater.cli",
        *(
            f"headwater.cli.{name}"
            for name in ("main", "completion", "global_options", "invocation", "rendering")
        ),
    } | {"headwater.errors", "headwater.version"}
    assert not {"attr", "pydantic", "pygments", "rich", "ruamel", "structlog"} & set(found["imported"])
