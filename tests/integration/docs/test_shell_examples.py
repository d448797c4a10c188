"""The commands of the README and of the tutorial run as they stand, in the order in which they stand.

Only places change: the README's folder in /tmp is the test's own, and what is in a bucket is in the emulator.
"""

import os
import re
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from headwater.demo.emulator import CREDENTIALS, REGION
from tests.fixtures.end_to_end.shell_session import ShellSession, iter_blocks, split_commands

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")
HEADWATER = ROOT / ".venv/bin/headwater"


@pytest.fixture
def open_shell(tmp_path):
    opened: list[ShellSession] = []

    def open_session(folder, **environ):
        environ = {**os.environ, "HOME": os.environ["HOME"], **environ}
        opened.append(ShellSession(folder, environ, tmp_path / f"shell-{len(opened)}.log"))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


def run_all(shell, block, codes=None):
    """What each command of a block printed, by its first words; `codes` are exit codes other than 0."""
    printed = {}
    for command in split_commands(block):
        name = re.sub(r"\s+", " ", command.partition("#")[0]).strip()
        code, said = shell.run(command)
        assert code == (codes or {}).get(name, 0), f"{command}\n{said}"
        assert "Traceback" not in said
        printed[name] = said
    return printed


def test_folder_of_the_readme(open_shell, tmp_path):
    assert HEADWATER.exists(), "the README works in a clone after `make setup`"
    shop = tmp_path / "shop"
    blocks = [(kind, text.replace("/tmp/shop", str(shop))) for kind, text in iter_blocks(README)]
    begin, work, _ = [text for kind, text in blocks if kind == "sh" and "make demo" not in text]
    configuration = next(text for kind, text in blocks if kind == "yaml")
    # What follows an alias in the README is typed at a prompt, from the clone.
    shell = open_shell(ROOT)
    run_all(shell, begin)
    assert (shop / "headwater.yaml").read_text("utf-8").count("#") > 3
    (shop / "headwater.yaml").write_text(configuration)
    *commands, last = split_commands(work)
    printed = run_all(shell, "\n".join(commands), {"headwater run --once": 3})
    query = next(name for name in printed if name.startswith("headwater sql"))
    assert re.findall(r"(\d+)\D+(\d+)", printed[query]) == [("1", "25"), ("2", "35")]
    assert printed["headwater changes orders --since earliest"].count("\n") >= 2
    assert "orders/b.json" in printed["headwater quarantine list"]
    assert "orders" in printed["headwater status"]

    assert last.startswith("headwater run ")
    stays = shell.start(last)
    (shop / "landing/orders/c.json").write_text(
        '{"order_id": 4, "amount": 1, "updated_at": "2026-01-02T10:00:00Z"}\n'
    )
    wait_for_row(shell, "select amount from orders where order_id = 4")
    assert shell.stop(stays) == 0, shell.read_log()[-3_000:]


def test_bucket_of_the_readme(open_shell, tmp_path, emulator):
    blocks = list(iter_blocks(README))
    configuration = [text for kind, text in blocks if kind == "yaml"][1]
    commands = split_commands([text for kind, text in blocks if kind == "sh"][-1])
    s3 = emulator.clients.s3
    for bucket in re.findall(r"acme-\w+", configuration):
        s3.create_bucket(Bucket=bucket)
    (tmp_path / "headwater.yaml").write_text(configuration)
    shell = open_shell(
        tmp_path,
        **CREDENTIALS,
        AWS_REGION=REGION,
        PATH=f"{HEADWATER.parent}:{os.environ['PATH']}",
        HEADWATER__SOURCE__ENDPOINT=emulator.endpoint,
        HEADWATER__LAKE_STORAGE__ENDPOINT=emulator.endpoint,
    )
    assert [command.partition("#")[0].strip() for command in commands] == ["headwater up", "headwater run"]
    code, said = shell.run(commands[0])
    assert code == 0, said
    stays = shell.start(commands[1])
    row = b'{"order_id": 1, "amount": 7, "updated_at": "2026-01-01T10:00:00Z"}\n'
    s3.put_object(Bucket="acme-landing", Key="orders/a.json", Body=row)
    wait_for_row(shell, "select amount from orders where order_id = 1")
    assert shell.stop(stays) == 0, shell.read_log()[-3_000:]


def test_tutorial(open_shell, tmp_path):
    blocks = list(iter_blocks(TUTORIAL))
    files, work, changes, broken, origin = [text for kind, text in blocks if kind == "sh"]
    shell = open_shell(tmp_path, PATH=f"{HEADWATER.parent}:{os.environ['PATH']}")
    run_all(shell, files)
    (tmp_path / "headwater.yaml").write_text(next(text for kind, text in blocks if kind == "yaml"))
    assert "/cart" in run_all(shell, work)['headwater sql "select * from clicks"']
    orders = run_all(shell, changes)['headwater sql "select order_id, amount from orders"']
    assert re.findall(r"(\d+)\D+(\d+)", orders) == [("1", "25")]
    *told, show = split_commands(broken)
    printed = run_all(shell, "\n".join(told))
    assert "exit code 3" in printed['headwater run --once; echo "exit code $?"']
    listed = shell.run("headwater quarantine list --json")[1]
    (identifier,) = re.findall(r'"quarantine_id": ?"([^"]+)"', listed)
    assert show == "headwater quarantine show ID"
    assert '{"order_id": 3, "am' in run_all(shell, show.replace("ID", identifier)).popitem()[1]
    assert "bad.json" in "".join(run_all(shell, origin).values())


def test_rows_are_written_from_python_as_the_how_to_shows(open_shell, tmp_path):
    page = (ROOT / "docs/how-to/write-to-a-table.md").read_text("utf-8")
    (tmp_path / "example.py").write_text(next(text for kind, text in iter_blocks(page) if kind == "python"))
    (tmp_path / "headwater.yaml").write_text(
        next(text for kind, text in iter_blocks(TUTORIAL) if kind == "yaml")
    )
    shell = open_shell(tmp_path, PATH=f"{HEADWATER.parent}:{os.environ['PATH']}")
    files = [
        command for kind, text in iter_blocks(TUTORIAL) if kind == "sh" for command in split_commands(text)
    ]
    run_all(shell, "\n".join(files[:2]))
    run_all(shell, "headwater run --once")
    corrected = tmp_path / "corrected/2026-05-01"
    corrected.mkdir(parents=True)
    rows = pa.table(
        {
            "order_id": [1, 5],
            "amount": [21, 50],
            "updated_at": [datetime(2026, 5, 1, tzinfo=timezone.utc)] * 2,
        }
    )
    parquet.write_table(rows, corrected / "rows.parquet")
    code, said = shell.run("python example.py")
    assert code == 0, said
    kept = shell.run('headwater sql "select order_id, amount from orders order by order_id"')[1]
    assert re.findall(r"(\d+)\D+(\d+)", kept) == [("1", "21"), ("5", "50")]


def wait_for_row(shell, query):
    """Until a row can be had; each look is a process of its own, as a reader's would be."""
    for _ in range(60):
        code, said = shell.run(f'headwater sql "{query}" --json')
        if code == 0 and '"amount"' in said:
            return
        shell.run("sleep 1")
    raise AssertionError(shell.read_log()[-5_000:])
