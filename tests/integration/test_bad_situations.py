"""What stops a run: one clear error with the fix, no traceback, an exit code by kind, and nothing lost."""

import json
import os
import random
import signal
from collections import Counter
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import Finished
from tests.fixtures.end_to_end.faulty_proxy import run_faulty_proxy, sqs_error
from tests.fixtures.end_to_end.pipeline import Pipeline

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES = {"clicks": {"path": "clicks/*.json"}}


@pytest.fixture
def pipeline(emulator, tmp_path) -> Pipeline:
    built = Pipeline(emulator, tmp_path, TABLES)
    built.put_all({f"clicks/{at}.json": json.dumps({"n": at}) + "\n" for at in range(5)})
    return built


def assert_clear(run: Finished, exit_code: int, *words: str) -> None:
    """One error that says these words, with a hint, and nothing of our insides."""
    run.expect(exit_code)
    said = run.stderr
    assert "Traceback" not in run.stdout + said
    assert sum(line.startswith("error: ") for line in said.splitlines()) == 1, said
    assert any(line.startswith("hint: ") for line in said.splitlines()), said
    for word in words:
        assert word in said


def change_config(pipeline: Pipeline, *path: str, value: Any) -> None:
    section = pipeline.config
    for name in path[:-1]:
        section = section[name]
    section[path[-1]] = value
    pipeline.write_config()


def test_queue_that_does_not_exist(pipeline):
    url = pipeline.config["source"]["queue"]["url"]
    change_config(pipeline, "source", "queue", "url", value=url + "-gone")
    assert_clear(pipeline.run_once(), 1, f"{url}-gone", "does not exist")


def test_lake_that_cannot_be_written(pipeline):
    # A file where a folder has to be: refused even to root.
    pipeline.lake.write_text("in the way")
    assert_clear(pipeline.run_once(), 1, str(pipeline.lake))
    assert set(pipeline.drain_keys()) == {f"clicks/{at}.json" for at in range(5)}


def test_jars_that_cannot_be_downloaded(pipeline, tmp_path):
    pipeline.environ["HEADWATER_PREPARED"] = str(tmp_path / "nothing")
    settings = tmp_path / "ivy-settings.xml"
    # Port 9 is "discard": nobody listens there.
    settings.write_text(
        '<ivysettings><settings defaultResolver="gone"/><resolvers>'
        '<ibiblio name="gone" m2compatible="true" root="http://127.0.0.1:9/maven2/"/>'
        "</resolvers></ivysettings>"
    )
    pipeline.config["spark"] = {
        "config": {"spark.jars.ivySettings": str(settings), "spark.jars.ivy": str(tmp_path / "ivy")}
    }
    pipeline.write_config()
    assert_clear(pipeline.run_once(), 1, "jars", "downloaded")
    assert set(pipeline.drain_keys()) == {f"clicks/{at}.json" for at in range(5)}


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("InvalidClientTokenId", "AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        ("AccessDenied", "sqs:ReceiveMessage"),
        ("RequestExpired", "clock"),
    ],
)
def test_credentials_that_are_refused(emulator, tmp_path, code, fix):
    with run_faulty_proxy(emulator.endpoint) as proxy:
        proxy.find_fault = lambda method, _: sqs_error(403, code) if method == "POST" else None
        pipeline = Pipeline(emulator, tmp_path, TABLES, endpoint=proxy.endpoint)
        assert_clear(pipeline.run_once(), 1, code, fix)
    assert sum(pipeline.queue_depth()) >= 1


def test_no_credentials_at_all(pipeline):
    environ = {name: value for name, value in pipeline.environ.items() if not name.startswith("AWS_")}
    environ |= {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(pipeline.folder)}
    run = pipeline.start("run", "--once", environ=environ).finish(120)
    assert_clear(run, 1, "credentials", "AWS_PROFILE")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("surce",), {}, ("surce", "Did you mean")),
        (("tables", "clicks", "ordering"), "n", ("tables.clicks.ordering", "append")),
        (("tables", "clicks", "mode"), "merge", ("tables.clicks.record_key", "merge")),
        (
            ("tables", "clicks"),
            {"path": "*.json", "mode": "append", "operation": "upsert"},
            ("tables.clicks.operation", "insert, bulk_insert"),
        ),
    ],
)
def test_invalid_configuration_is_reported_before_spark_starts(pipeline, path, value, words):
    change_config(pipeline, *path, value=value)
    run = pipeline.run_once()
    run.expect(2)
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("error: ")
    for word in (pipeline.config_path.name, *words):
        assert word in run.stderr
    assert run.seconds < 5, "Spark takes longer"
    assert not pipeline.lake.exists()


def test_all_invalid_keys_are_reported_together(pipeline):
    change_config(pipeline, "surce", value={})
    change_config(pipeline, "tables", "clicks", "ordering", value="n")
    run = pipeline.run_once().expect(2)
    assert "2 problems" in run.stderr


def test_configuration_that_does_not_exist(pipeline):
    pipeline.config_path.unlink()
    assert_clear(pipeline.run_once(), 2, "headwater.yaml")


def test_jvm_that_is_killed_ends_the_run_with_an_error(pipeline):
    running = pipeline.start("run")
    try:
        running.wait_until(lambda: pipeline.rows("clicks", "n").total() == 5, "rows of the first objects")
        (jvm,) = running.find_processes("java")
        os.kill(jvm, signal.SIGKILL)
        pipeline.put("clicks/late.json", '{"n": 100}\n')
        run = running.finish(60).expect(1)
    finally:
        running.finish_by_force()
    assert_clear(run, 1, "the JVM of this run was killed", "spark.driver_memory")
    pipeline.run_once().expect(0)
    assert pipeline.rows("clicks", "n") == Counter((n,) for n in (*range(5), 100))
    assert pipeline.queue_depth() == (0, 0)


def test_jvm_that_runs_out_of_memory_ends_the_run_with_an_error(pipeline):
    pipeline.put("clicks/large.json", json.dumps({"n": 6, "v": "x" * 250_000_000}))
    change_config(pipeline, "tables", "clicks", "max_record_bytes", value="1GB")
    run = pipeline.run_once()
    assert_clear(run, 1, "the JVM of this run ran out of memory", "spark.driver_memory")
    assert run.stderr.count("batch failed") <= 2
    # The default keeps such a record out of the heap.
    del pipeline.config["tables"]["clicks"]["max_record_bytes"]
    pipeline.write_config()
    pipeline.run_once().expect(3)
    assert pipeline.rows("clicks", "n") == Counter((n,) for n in range(5))
    (item,) = pipeline.sql("SELECT key, reason FROM quarantine")
    assert item == {"key": "clicks/large.json", "reason": "oversize"}


def test_batch_is_larger_than_the_memory_for_rows(pipeline):
    # Random digits, which no encoding makes smaller.
    numbers = random.Random(7)
    for at in range(14):
        lines = (json.dumps({"n": at, "v": f"{numbers.getrandbits(16_000):x}"}) for _ in range(12_000))
        pipeline.put(f"large/{at}.json", "\n".join(lines))
    change_config(pipeline, "tables", "large", value={"path": "large/*.json"})
    change_config(pipeline, "spark", value={"driver_memory": "512m"})
    pipeline.run_once().expect(0)
    assert pipeline.rows("large", "n") == Counter({(at,): 12_000 for at in range(14)})


@pytest.mark.long
def test_first_run_over_gigabytes_with_the_defaults(pipeline):
    # 1.5 GB of values that nothing compresses, and a heap of 2 GiB, which Spark and Hudi share.
    numbers = random.Random(7)
    values = (numbers.randbytes(2_000).hex() for _ in range(12_500))
    lines = "".join(json.dumps({"n": 0, "v": value}) + "\n" for value in values)
    for at in range(30):
        pipeline.put(f"large/{at}.json", lines.replace('"n": 0', f'"n": {at}'))
    change_config(pipeline, "tables", "large", value={"path": "large/*.json"})
    pipeline.run_once().expect(0)
    assert pipeline.rows("large", "n") == Counter({(at,): 12_500 for at in range(30)})
