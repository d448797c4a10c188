"""The commands for a new bucket in Google Cloud: init, up, run, down; no subscription is ever named."""

import json
import os
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import Finished, run_command
from tests.fixtures.google import PROJECT
from tests.fixtures.provisioning.google_cloud import GoogleCloud

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_bucket_becomes_a_table_without_a_subscription_being_named(
    google_cloud: GoogleCloud, tmp_path: Path
) -> None:
    def run(*words: str, timeout: float = 180) -> Finished:
        environ = {
            **os.environ,
            "HEADWATER__SOURCE__ENDPOINT": google_cloud.storage.endpoint,
            "HEADWATER__SOURCE__PROJECT": PROJECT,
            "HEADWATER__SOURCE__QUEUE__ENDPOINT": google_cloud.pubsub.endpoint,
        }
        return run_command(*words, folder=tmp_path, environ=environ, timeout=timeout)

    written = run("init", "--source", "gcs", "--bucket", google_cloud.bucket, ".").expect(0).stdout
    assert written.rstrip().endswith(" up")
    # A run before `up` says what is missing.
    assert "headwater up" in run("run", "--once").expect(1).stderr
    assert "an object was put; its notification took" in run("up").expect(0).stdout

    google_cloud.put("orders/a.json", b'{"id": 1}\n{"id": 2}\n')
    run("run", "--once", timeout=400).expect(0)
    rows = run("sql", "select id from landing order by id", "--json").expect(0).stdout
    assert [json.loads(line)["id"] for line in rows.splitlines()] == [1, 2]
    # The notification arrived, and nothing of the probe is in the tables.
    events = run("sql", "select key, event_name from events", "--json").expect(0).stdout
    found = {(event["key"], event["event_name"]) for event in map(json.loads, events.splitlines())}
    assert found == {("orders/a.json", "OBJECT_FINALIZE")}
    run("down", "--yes").expect(0)
    assert "Nothing to do" in run("down", "--yes").expect(0).stdout
