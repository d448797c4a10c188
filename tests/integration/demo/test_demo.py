"""`headwater demo` as a user starts it: a real process, emulator, JVM and all."""

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.demo.azure_emulator import has_npm
from headwater.demo.google_emulators import find_pubsub_jar
from tests.fixtures.waiting import wait_until

pytestmark = pytest.mark.slow

HEADWATER = Path(sys.executable).parent / "headwater"
DEMO_SECONDS = 280
COMMAND_SECONDS = 60


def run_headwater(folder, *words, seconds=COMMAND_SECONDS):
    done = subprocess.run(
        [str(HEADWATER), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def list_processes_in(folder):
    """Command lines of processes that work in or below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder and the output of a finished demo."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, run_headwater(folder, "demo", "--seconds", "10", seconds=DEMO_SECONDS)


@pytest.mark.timeout(300)
def test_every_table_equals_the_uploaded_objects(demo):
    _, output = demo
    assert output.count("equal to the uploads") == 3
    assert "every row is in its table exactly once" in output


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("cloud", "scheme"), [("gcs", "gs"), ("azure", "abfs")])
def test_other_clouds_have_a_demo(tmp_path, cloud, scheme):
    if cloud == "gcs" and find_pubsub_jar() is None:
        pytest.skip("Google's Pub/Sub emulator is not installed")
    if cloud == "azure" and not has_npm():
        pytest.skip("npm is not installed")
    output = run_headwater(tmp_path, "demo", "--cloud", cloud, "--seconds", "10", seconds=DEMO_SECONDS)
    assert output.count("equal to the uploads") == 3
    assert "every row is in its table exactly once" in output
    assert f"{scheme}://shop-landing/orders/2026/05/04/orders-torn.json, line 3" in output
    assert "P-103's file was removed; recommendations stopped after" in output
    wait_until(lambda: not list_processes_in(tmp_path), "a process is left over")


@pytest.mark.timeout(300)
def test_kafka_has_a_demo(tmp_path):
    output = run_headwater(tmp_path, "demo", "--cloud", "kafka", "--seconds", "10", seconds=DEMO_SECONDS)
    assert "Every message is in its table once." in output
    assert re.search(r"stock +\d+ rows, [1-9]\d* rows deleted by messages without a value", output)
    wait_until(lambda: not list_processes_in(tmp_path), "a process is left over")


def test_unusable_objects_are_reported_with_address_and_reason(demo):
    _, output = demo
    assert "Quarantined, with the reason (4)" in output
    for address in ("orders-cut.json.gz", "orders-never-uploaded.json", "orders-torn.json, line 3"):
        assert address in output
    assert "ping from a colleague's laptop" in output


def test_freshness_is_reported(demo):
    _, output = demo
    assert "Freshness, PUT to committed: p50" in output


def test_answers_follow_the_bucket(demo):
    _, output = demo
    steps = re.findall(r"^  (.+ after) \d+\.\d s$", output, re.MULTILINE)
    assert steps == [
        "the shelf's files were uploaded; the first answer came after",
        "P-103's file got a lower price; the answer had it after",
        "P-103's file was removed; recommendations stopped after",
    ]
    assert "Hand grinder" in output


def test_search_serves_the_remaining_index(demo):
    folder, output = demo
    (config,) = folder.glob("demo/run-*/headwater.yaml")
    assert f"--config {config.relative_to(folder)} serve" in output
    command = [str(HEADWATER), "--config", str(config), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            (address,) = re.findall(r"http://(127\.0\.0\.1:\d+)/", server.stdout.readline())
            connection = http.client.HTTPConnection(address, timeout=60)
            body = json.dumps({"query": "a pan for the oven", "limit": 16})
            connection.request("POST", "/search", body, {"Content-Type": "application/json"})
            found = [hit["id"] for hit in json.loads(connection.getresponse().read())["hits"]]
            connection.close()
        finally:
            server.terminate()
    assert found[0] == "P-108"
    assert "P-103" not in found


def test_it_leaves_no_process(demo):
    folder, _ = demo
    wait_until(lambda: not list_processes_in(folder), f"a process is left over in {folder}")


def test_printed_commands_work_without_the_emulator(demo):
    folder, output = demo
    (config,) = folder.glob("demo/run-*/headwater.yaml")
    assert f"--config {config.relative_to(folder)} status" in output
    status = json.loads(run_headwater(folder, "--config", str(config), "status", "--json"))
    assert status["quarantine"] == {"messages": 1, "objects": 2, "records": 1}
    rows = run_headwater(folder, "--config", str(config), "sql", "select count(*) as n from orders", "--json")
    assert json.loads(rows)["n"] == status["tables"]["orders"]["rows"] > 0
    assert (
        len(run_headwater(folder, "--config", str(config), "quarantine", "list", "--json").splitlines()) == 4
    )
