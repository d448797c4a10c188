"""The frame of the command line: options, exit codes, what errors look like."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headwater import __version__
from headwater.cli import main as cli
from headwater.cli.invocation import Invocation
from headwater.errors import HeadwaterError, LakeNotWritableError

GOOD = "source: {type: local, path: in}\nlake: out\ntables: {a: {path: a.json}}\n"
# The last one is coverage's: processes that get it are measured.
ENVIRONMENT = {name: os.environ.get(name, "") for name in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG")}


def run_process(*args: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", *args],
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.yaml").write_text(GOOD)
    return tmp_path


def test_version_is_printed(folder: Path) -> None:
    done = run_process("--version", cwd=folder)
    assert (done.returncode, done.stdout) == (0, f"headwater {__version__}\n")


def test_help_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys\n"
        "from headwater.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'boto3', 'pandas', 'pyarrow', 'datafusion', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, timeout=60)


def test_global_options_work_after_the_command(folder: Path) -> None:
    (folder / "headwater.yaml").rename(folder / "other.yaml")
    after = ["-c", "other.yaml", "--set", "spark.master=local[3]", "--set=tables.a.path=b.json"]
    done = run_process("--set", "lake=elsewhere", "config", "check", "--json", *after, cwd=folder)
    settings = json.loads(done.stdout)
    assert settings["lake"] == str(folder / "elsewhere")
    assert (settings["spark"]["master"], settings["tables"]["a"]["path"]) == ("local[3]", ["b.json"])
    below = run_process("table", "a", "describe", "-c", "other.yaml", "--json", cwd=folder)
    assert json.loads(below.stderr)["error"] == "TableNotFoundError"
    wrong = run_process("status", "--set", "x", "-c", "other.yaml", cwd=folder)
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (2, "error: --set x is not KEY=VALUE")


@pytest.mark.parametrize("place", ["before", "after"])
def test_quiet_and_verbose_set_the_log_level(place: str, folder: Path) -> None:
    code = (
        "import logging, sys\n"
        "from headwater.cli.main import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(logging.getLevelName(logging.getLogger().level))\n"
    )

    def find_level(*flag: str) -> str:
        words = [*flag, "config", "check"] if place == "before" else ["config", "check", *flag]
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.splitlines()[-1]

    assert [find_level(), find_level("-q"), find_level("--verbose")] == ["INFO", "WARNING", "DEBUG"]


def test_a_command_keeps_its_own_options(folder: Path) -> None:
    shown = run_process("table", "a", "index", "create", "--help", cwd=folder).stdout
    assert "Indexed column" in shown
    assert "Configuration file" not in shown


def test_good_configuration_exits_0(folder: Path) -> None:
    done = run_process("config", "check", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "headwater.yaml is valid" in done.stdout


def test_effective_configuration_is_printed_as_json(folder: Path) -> None:
    done = run_process("--set", "spark.master=local[3]", "config", "check", "--json", cwd=folder)
    settings = json.loads(done.stdout)
    assert settings["spark"]["master"] == "local[3]"
    assert settings["tables"]["a"]["mode"] == "append"
    assert settings["tables"]["a"]["format"] == "json"
    assert settings["source"]["path"] == str(folder / "in")


def test_bad_configuration_exits_2_with_message_and_hint_and_no_traceback(folder: Path) -> None:
    (folder / "headwater.yaml").write_text(GOOD + "lakee: x\nspak: 5\n")
    done = run_process("config", "check", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 2 problems\n  headwater.yaml:4: lakee: unknown key")
    assert "\nhint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_sql_transform_without_row_origin_exits_2_with_the_required_select(folder: Path) -> None:
    step = "{path: a.json, transform: [{sql: 'select id, upper(name) as name from input'}]}"
    (folder / "headwater.yaml").write_text(GOOD.replace("{a: {path: a.json}}", f"{{a: {step}}}"))
    done = run_process("config", "check", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "tables.a.transform[0].sql: SQL: the result must contain `_headwater_source` unchanged" in done.stderr
    )
    assert "write SELECT _headwater_source, id, UPPER(name) AS name, or SELECT *" in done.stderr


def test_error_is_one_json_object_when_json_was_asked(folder: Path) -> None:
    (folder / "headwater.yaml").write_text(GOOD + "lakee: x\n")
    done = run_process("config", "check", "--json", cwd=folder)
    error = json.loads(done.stderr)
    assert done.returncode == error["exit_code"] == 2
    assert error["error"] == "ConfigError"
    assert len(error["problems"]) == 1
    assert error["hint"]


def test_configuration_file_is_found_by_flag_then_environment_then_here(folder: Path) -> None:
    for name in ("flag", "env"):
        (folder / f"{name}.yaml").write_text(GOOD.replace("out", name))
    env = {"HEADWATER_CONFIG": "env.yaml"}

    def lake(*args: str, env: dict[str, str] | None = None) -> str:
        return str(
            json.loads(run_process(*args, "config", "check", "--json", cwd=folder, env=env).stdout)["lake"]
        )

    assert lake("-c", "flag.yaml", env=env) == str(folder / "flag")
    assert lake(env=env) == str(folder / "env")
    assert lake() == str(folder / "out")


def test_environment_of_the_process_overrides_the_file(folder: Path) -> None:
    done = run_process("config", "check", "--json", cwd=folder, env={"HEADWATER__LAKE": "/elsewhere"})
    assert json.loads(done.stdout)["lake"] == "/elsewhere"


@pytest.mark.parametrize(
    "args", [("nope",), ("--set", "lake", "config", "check"), ("config", "check", "--nope")]
)
def test_wrong_usage_exits_2(folder: Path, args: tuple[str, ...]) -> None:
    done = run_process(*args, cwd=folder)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_schema_is_printed(folder: Path) -> None:
    done = run_process("config", "schema", cwd=folder)
    assert json.loads(done.stdout)["$schema"].startswith("https://json-schema.org/")


def test_init_output_passes_config_check(tmp_path: Path) -> None:
    args = ("init", "--source", "local", "--path", "in", "--lake", "lake", "conf")
    done = run_process(*args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run_process("--config", "conf/headwater.yaml", "config", "check", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["source"]["path"] == str(tmp_path / "in")
    again = run_process(*args, cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_interrupt_exits_130_without_a_traceback(folder: Path) -> None:
    code = (
        "import os, signal\n"
        # A shell that starts the tests in the background has its children ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from headwater.cli import main as cli\n"
        "@cli.app.command()\n"
        "def wait() -> None: os.kill(os.getpid(), signal.SIGINT); signal.pause()\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "wait"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def app_with_failing_command(error: Exception) -> typer.Typer:
    app = cli.build_app()

    @app.command()
    def fail() -> None:
        raise error

    return app


def test_known_error_of_a_command_becomes_its_exit_code() -> None:
    error = LakeNotWritableError("s3a://x refuses writes", hint="ask for s3:PutObject")
    result = CliRunner().invoke(app_with_failing_command(error), ["fail"])
    assert result.exit_code == 1
    assert result.stderr == "error: s3a://x refuses writes\nhint: ask for s3:PutObject\n"


def test_unknown_error_is_not_dressed_up() -> None:
    result = CliRunner().invoke(app_with_failing_command(KeyError("a bug")), ["fail"])
    assert isinstance(result.exception, KeyError)


def test_command_gets_the_global_options(tmp_path: Path) -> None:
    app = cli.build_app()
    seen: list[Invocation] = []

    @app.command()
    def look(ctx: typer.Context) -> None:
        seen.append(Invocation.of(ctx))

    result = CliRunner().invoke(app, ["-v", "-c", str(tmp_path), "--set", "a.b=c=d", "--set", "e=", "look"])
    assert result.exit_code == 0
    assert seen == [Invocation(tmp_path, {"a.b": "c=d", "e": ""}, verbose=True)]


def test_every_error_can_be_rendered() -> None:
    result = CliRunner().invoke(app_with_failing_command(HeadwaterError("")), ["fail"])
    assert result.stderr == "error: HeadwaterError\n"


def test_help_lists_each_command_once_below_a_heading(folder: Path) -> None:
    printed = run_process("--help", cwd=folder).stdout
    sections = dict(zip(cli.GROUPS, printed.split("Options:")[1].split("\n\n")[1:-1], strict=True))
    for heading, text in sections.items():
        lines = text.splitlines()
        assert lines[0] == f"{heading}:"
        assert [line.split()[0] for line in lines[1:] if line[2] != " "] == list(cli.GROUPS[heading])
    assert sorted(name for names in cli.GROUPS.values() for name in names) == sorted(cli.COMMANDS)
