"""Writers of a lake that see each other: real processes, killed for real."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from headwater.errors import LakeError, TableBusyError
from headwater.lake.layout import writers_path
from headwater.lake.writers.lease import Role
from headwater.lake.writers.lease_store import LeaseStore
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease

AT_ONCE = Patience(0)

SCRIPT = """
import sys, time
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease
role, table, locked, child = sys.argv[2], sys.argv[3], sys.argv[4] == "locked", int(sys.argv[5])
lease = WriterLease(sys.argv[1], {}, Intent(role, role, (table,), is_locked=locked))
with lease.entered(Patience(0)):
    lease.add_process(child or None)
    print("in", flush=True)
    time.sleep(60)
"""


@contextmanager
def writer(
    lake: Path, role: str = "run", table: str = "orders", lock: str = "", child: int = 0
) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes the table, until the end of the block or its own."""
    command = [sys.executable, "-c", SCRIPT, str(lake), role, table, lock, str(child)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        try:
            yield process
        finally:
            process.kill()


def enter(lake: Path, role: Role = "run", table: str = "orders", **how: Any) -> None:
    intent = Intent(role, f"a {role}", (table,), **how)
    with WriterLease(str(lake), {}, intent).entered(AT_ONCE):
        pass


def find_leases(lake: Path) -> list[Path]:
    return list(Path(writers_path(str(lake))).glob("*"))


def test_second_writer_of_a_table_is_refused_with_who_the_first_is(tmp_path):
    with writer(tmp_path) as other:
        with pytest.raises(
            TableBusyError, match=rf"orders: being written by run \(process {other.pid} on"
        ) as e:
            enter(tmp_path, "service")
        assert "stop it first; or set `lock`" in e.value.hint
        enter(tmp_path, table="clicks")
    assert e.value.retryable


def test_lease_of_a_killed_writer_is_released(tmp_path):
    with writer(tmp_path) as other:
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        assert len(find_leases(tmp_path)) == 1
        enter(tmp_path)
    assert find_leases(tmp_path) == []


def test_killed_writer_counts_until_its_jvm_has_ended_too(tmp_path):
    with (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as jvm,
        writer(tmp_path, child=jvm.pid) as other,
    ):
        while len(json.loads(find_leases(tmp_path)[0].read_text())["processes"]) < 2:
            time.sleep(0.05)
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        with pytest.raises(TableBusyError):
            enter(tmp_path)
        jvm.kill()
        jvm.wait()
        enter(tmp_path)


@pytest.mark.parametrize(
    ("mine", "other", "is_allowed"),
    [
        ("service", "run", True),
        ("run", "service", True),
        ("run", "run", False),
        ("service", "service", False),
    ],
)
def test_with_a_lock_services_may_run_during_a_run(tmp_path, mine, other, is_allowed):
    with writer(tmp_path, other, lock="locked"):
        if is_allowed:
            enter(tmp_path, mine, is_locked=True)
        else:
            with pytest.raises(TableBusyError, match="being written by"):
                enter(tmp_path, mine, is_locked=True)


def test_exclusive_commands_are_rejected_with_any_lock(tmp_path):
    with writer(tmp_path, lock="locked"), pytest.raises(TableBusyError):
        enter(tmp_path, "service", is_locked=True, alone=True)


def test_waiting_writer_continues_when_the_first_is_killed(tmp_path):
    waited = []
    with writer(tmp_path, lock="locked") as other:

        def kill(lease: object) -> None:
            waited.append(lease)
            os.kill(other.pid, signal.SIGKILL)
            other.wait()

        intent = Intent("run", "a run", ("orders",), is_locked=True)
        with WriterLease(str(tmp_path), {}, intent).entered(Patience(30, kill)):
            assert len(find_leases(tmp_path)) == 1
    assert len(waited) == 1


def test_writer_on_another_machine_counts_until_it_was_silent_for_a_minute(tmp_path):
    with writer(tmp_path) as other:
        (lease,) = find_leases(tmp_path)
        content = json.loads(lease.read_text())
    other.wait()
    lease.write_text(json.dumps(content | {"place": "another machine"}))
    with pytest.raises(TableBusyError, match="on another"):
        enter(tmp_path)
    silent = time.time() - 61
    os.utime(lease, (silent, silent))
    enter(tmp_path)
    assert find_leases(tmp_path) == []


def test_incomplete_lease_is_of_an_unknown_writer(tmp_path):
    enter(tmp_path)
    folder = Path(writers_path(str(tmp_path)))
    (folder / "half.json").write_text('{"token": "x"')
    with pytest.raises(TableBusyError, match="being written by another process"):
        enter(tmp_path)


def test_writer_presumed_dead_is_notified(tmp_path, monkeypatch):
    monkeypatch.setattr("headwater.lake.writers.writer_lease._RENEW_SECONDS", 0.05)
    monkeypatch.setattr("headwater.lake.writers.writer_lease._PUBLISH_SECONDS", 0.05)
    notified = []
    lease = WriterLease(str(tmp_path), {}, Intent("run", "run", ("orders",)), lambda: notified.append(1))
    with lease.entered(AT_ONCE):
        lease.check()
        for file in find_leases(tmp_path):
            file.unlink()
        assert lease.lost.wait(5)
        with pytest.raises(TableBusyError, match="another process may have taken over"):
            lease.check()
    assert notified == [1]


def test_a_standby_outlives_an_outage_of_the_storage(tmp_path, monkeypatch):
    read_others, looks = LeaseStore.read_others, []

    def read(store, mine):
        looks.append(mine)
        if len(looks) == 2:
            raise OSError("service unavailable")
        return read_others(store, mine)

    monkeypatch.setattr(LeaseStore, "read_others", read)
    with writer(tmp_path) as other:
        Timer(0.2, lambda: (other.kill(), other.wait())).start()
        intent = Intent("run", "a run", ("orders",))
        with WriterLease(str(tmp_path), {}, intent).entered(Patience(30)):
            assert len(looks) > 2
    assert find_leases(tmp_path) == []


@pytest.mark.parametrize("method", ["write", "read_others"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("service unavailable", "service unavailable"),
        ("When creating key: AWS Error NO_SUCH_BUCKET during PutObject", "the bucket does not exist"),
        ("When creating key: AWS Error ACCESS_DENIED during PutObject", "access denied"),
    ],
)
def test_a_failing_storage_is_an_error_when_nobody_waits(tmp_path, monkeypatch, method, text, said):
    def fail(store, mine):
        raise OSError(text)

    monkeypatch.setattr(LeaseStore, method, fail)
    with pytest.raises(LakeError, match=said) as raised:
        enter(tmp_path)
    assert raised.value.hint
    assert find_leases(tmp_path) == []


def test_a_lease_that_cannot_be_removed_hides_no_other_error(tmp_path, monkeypatch):
    def fail(store, token):
        raise OSError("service unavailable")

    monkeypatch.setattr(LeaseStore, "remove", fail)
    lease = WriterLease(str(tmp_path), {}, Intent("run", "a run", ("orders",)))
    with pytest.raises(KeyError, match="the cause"), lease.entered(AT_ONCE):
        raise KeyError("the cause")
