"""SIGHUP: a run continues with the changed configuration, in the same process with the same JVM."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import Running, run_command
from tests.fixtures.free_port import find_free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONFIG = """\
source: {{type: local, path: landing}}
lake: {lake}
tables: {tables}
"""
ORDERS = '{orders: {path: "orders/*.json", mode: mirror}}'
BOTH = '{clicks: {path: "clicks/*.json"}, orders: {path: "orders/*.json", mode: mirror}}'
CLICKS = '{clicks: {path: "clicks/*.json"}}'


class Rig:
    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, find_free_port()

    def configure(self, tables: str, lake: str = "lake") -> None:
        (self.folder / "headwater.yaml").write_text(CONFIG.format(tables=tables, lake=lake))

    def put(self, key: str, number: int) -> None:
        file = self.folder / "landing" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"n": number}))

    def list_rows(self, table: str) -> list[int]:
        query = f"select n from {table} order by n"
        done = run_command("sql", query, "--json", folder=self.folder).expect(0)
        return [json.loads(line)["n"] for line in done.stdout.splitlines()]

    def read(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            return str(error.read().decode())
        except OSError:
            return ""

    def list_tables(self) -> list[str]:
        parts = json.loads(self.read("/healthz") or "{}").get("parts", {})
        return sorted(name for name in parts if name.startswith("table-"))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture
def running(rig: Rig) -> Iterator[Running]:
    rig.configure(ORDERS)
    rig.put("orders/a.json", 1)
    rig.put("clicks/a.json", 10)
    running = Running(["run", "--metrics-port", str(rig.port)], rig.folder, os.environ)
    yield running
    running.finish_by_force()


def find_jvms(running: Running) -> list[int]:
    return [pid for pid in running.find_processes("java") if os.getsid(pid) == pid]


def test_tables_are_added_and_removed_without_a_restart(rig: Rig, running: Running) -> None:
    def wait_for_rows(table: str, count: int) -> None:
        line = f'rows_written_total{{table="{table}"}} {count}'
        running.wait_until(lambda: line in rig.read("/metrics"), line)

    def reload(tables: str, lake: str = "lake") -> None:
        rig.configure(tables, lake)
        running.signal(signal.SIGHUP)

    wait_for_rows("orders", 1)
    jvms = find_jvms(running)
    # Not YAML: the run keeps what it has.
    reload("{orders: ")
    running.wait_until(lambda: "config_reload_successful 0" in rig.read("/metrics"), "the failure")
    assert "reload failed" in rig.read("/healthz")
    # The lake cannot change; the tables can.
    reload(BOTH, lake="elsewhere")
    running.wait_until(lambda: rig.list_tables() == ["table-clicks", "table-orders"], "both tables")
    rig.put("orders/b.json", 2)
    wait_for_rows("clicks", 1)
    wait_for_rows("orders", 2)
    assert "config_reload_successful 1" in rig.read("/metrics")
    reload(CLICKS)
    running.wait_until(lambda: rig.list_tables() == ["table-clicks"], "the removal")
    rig.put("clicks/b.json", 20)
    wait_for_rows("clicks", 2)
    assert 'lag_events{table="orders"}' not in rig.read("/metrics")
    assert find_jvms(running) == jvms
    running.signal(signal.SIGTERM)
    done = running.finish(90).expect(0)
    assert "Traceback" not in done.stderr
    assert "changes apply after a restart only" in done.stderr
    assert not (rig.folder / "elsewhere").exists()
    rig.configure(BOTH)
    assert (rig.list_rows("orders"), rig.list_rows("clicks")) == ([1, 2], [10, 20])
