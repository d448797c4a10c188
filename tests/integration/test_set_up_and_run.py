"""The commands that a user types for a new bucket: init, up, run, down; no queue is ever named."""

import json
import uuid
from pathlib import Path

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Finished, run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_first_configuration_of_a_bucket_ingests_it_unchanged(
    emulator: EmulatorSession, tmp_path: Path
) -> None:
    bucket = f"landing-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)
    objects = {
        "in/orders/1.json": b'{"id": 1, "updated_at": "2026-01-01"}\n{"id": 2, "updated_at": "2026-01-01"}\n',
        "in/orders/2.json": b'{"id": 1, "updated_at": "2026-01-02"}\n',
        "in/people/a.csv": "person_id;name\n1;J\u00fcrg\n2;Ada\n".encode("latin-1"),
        "elsewhere/a.json": b"{}",
    }
    for key, body in objects.items():
        emulator.clients.s3.put_object(Bucket=bucket, Key=key, Body=body)

    def run(*words: str, timeout: float = 180) -> Finished:
        return run_command(*words, folder=tmp_path, environ=emulator.environment, timeout=timeout)

    address = f"s3://{bucket}/in"
    missing = run("init", "--path", "s3://no-such-bucket", "--endpoint", emulator.endpoint).expect(1)
    assert "no-such-bucket does not exist" in missing.stderr
    assert "--no-inspect" in missing.stderr
    run("init", "--path", address, "--endpoint", emulator.endpoint).expect(0)
    run("up").expect(0)
    run("run", "--once", timeout=400).expect(0)
    rows = run("sql", "select id, updated_at from orders order by id", "--json").expect(0).stdout
    assert [json.loads(line)["id"] for line in rows.splitlines()] == [1, 2]
    assert json.loads(rows.splitlines()[0])["updated_at"].startswith("2026-01-02")
    names = run("sql", "select name from people order by person_id", "--json").expect(0).stdout
    assert [json.loads(line)["name"] for line in names.splitlines()] == ["J\u00fcrg", "Ada"]
    run("down", "--yes").expect(0)


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
