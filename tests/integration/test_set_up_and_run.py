"""The commands that a user types for a new bucket: init, up, run, down; no queue is ever named."""

import json
import uuid
from pathlib import Path

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Finished, run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_bucket_becomes_a_table_without_a_queue_being_named(
    emulator: EmulatorSession, tmp_path: Path
) -> None:
    bucket = f"landing-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)

    def run(*words: str, timeout: float = 180) -> Finished:
        environ = {**emulator.environment, "HEADWATER__SOURCE__ENDPOINT": emulator.endpoint}
        return run_command(*words, folder=tmp_path, environ=environ, timeout=timeout)

    written = run("init", "--source", "s3", "--bucket", bucket, ".").expect(0).stdout
    assert written.rstrip().endswith(" up")
    # A run before `up` says what is missing.
    assert "headwater up" in run("run", "--once").expect(1).stderr
    assert "an object was put; its notification took" in run("up").expect(0).stdout

    emulator.clients.s3.put_object(Bucket=bucket, Key="orders/a.json", Body=b'{"id": 1}\n{"id": 2}\n')
    run("run", "--once", timeout=400).expect(0)
    rows = run("sql", "select id from landing order by id", "--json").expect(0).stdout
    assert [json.loads(line)["id"] for line in rows.splitlines()] == [1, 2]
    # Nothing of the probe is in the tables: it took its own messages out of the queue again.
    events = run("sql", "select key from events", "--json").expect(0).stdout
    assert {json.loads(line)["key"] for line in events.splitlines()} == {"orders/a.json"}
    run("down", "--yes").expect(0)
    assert "Nothing to do" in run("down", "--yes").expect(0).stdout
