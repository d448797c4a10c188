"""`headwater prepare`: its folder, and that a start uses it. Real processes."""

import json
import os

import pytest

from headwater.lake.prerequisites.packages import AZURE_PACKAGE, GCS_PACKAGE
from headwater.lake.prerequisites.prepared_start import PreparedStart, name_jar
from tests.fixtures.end_to_end.command import run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CONFIG = """
source: {type: local, path: source, settle_seconds: 0}
lake: lake
tables: {orders: {path: "*.json"}}
spark: {config: {spark.jars.ivySettings: FOLDER/ivy.xml, spark.jars.ivy: FOLDER/ivy}}
"""
# Port 9 is "discard": nobody listens there.
DEAD_REPOSITORY = (
    '<ivysettings><settings defaultResolver="gone"/><resolvers>'
    '<ibiblio name="gone" m2compatible="true" root="http://127.0.0.1:9/maven2/"/>'
    "</resolvers></ivysettings>"
)


def test_a_prepared_start_takes_no_jars_from_ivy_and_most_classes_from_the_archive(tmp_path):
    prepared = tmp_path / "prepared"
    environ = {**os.environ, "HEADWATER_PREPARED": str(prepared)}
    first = run_command("prepare", "--json", folder=tmp_path / "1", environ=environ, timeout=600).expect(0)
    report = json.loads(first.stdout)
    assert len(report["jars"]) == 7
    assert report["reason"] is None
    assert set(map(str, prepared.iterdir())) == {*report["jars"], report["archive"]}

    again = run_command("prepare", folder=tmp_path / "2", environ=environ, timeout=60).expect(0)
    assert "from an archive" in again.stdout
    assert "Downloading" not in again.stdout

    folder = tmp_path / "run"
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "a.json").write_text('{"id": 1}\n')
    (folder / "headwater.yaml").write_text(CONFIG.replace("FOLDER", str(folder)))
    (folder / "ivy.xml").write_text(DEAD_REPOSITORY)
    loaded = tmp_path / "loaded.txt"
    environ["SPARK_SUBMIT_OPTS"] = f"-Xlog:class+load:file={loaded}"
    run_command("run", "--once", folder=folder, environ=environ).expect(0)
    lines = [line for line in loaded.read_text().splitlines() if " org.apache.hudi." in line]
    archived = sum("shared objects file" in line for line in lines)
    assert archived > 0.8 * len(lines) > 900


def test_further_packages_are_stored_with_all_that_they_depend_on(tmp_path):
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    for path in PreparedStart.find({}).folder.iterdir():
        (prepared / path.name).symlink_to(path)
    environ = {**os.environ, "HEADWATER_PREPARED": str(prepared)}
    # Small, and the second one is all that the first one depends on.
    storage, logging = "org.apache.hive:hive-storage-api:2.8.1", "org.slf4j:slf4j-api:1.7.30"
    words = ("prepare", "--package", storage)
    failed = run_command(*words, folder=tmp_path, environ=environ, timeout=300).expect(1)
    assert "not named: org.slf4j_slf4j-api-1.7.30.jar" in failed.stderr
    assert not (prepared / name_jar(storage)).exists()

    run_command(*words, "--package", logging, folder=tmp_path, environ=environ, timeout=300).expect(0)
    assert all((prepared / name_jar(package)).is_file() for package in (storage, logging))


def test_the_drivers_of_other_clouds_are_stored_if_they_are_asked_for(tmp_path):
    prepared = tmp_path / "prepared"
    sizes = {name_jar(GCS_PACKAGE): 30_000_000, name_jar(AZURE_PACKAGE): 500_000}
    prepared.mkdir()
    for path in PreparedStart.find({}).folder.iterdir():
        if path.name not in sizes:
            (prepared / path.name).symlink_to(path)
    environ = {**os.environ, "HEADWATER_PREPARED": str(prepared)}
    words = ("prepare", "--gcs", "--azure", "--json")
    done = run_command(*words, folder=tmp_path, environ=environ, timeout=300).expect(0)
    assert len(json.loads(done.stdout)["jars"]) == 9
    for jar, least in sizes.items():
        assert (prepared / jar).stat().st_size > least


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    environ = {**os.environ, "HEADWATER_PREPARED": str(tmp_path / "file" / "below")}
    failed = run_command("prepare", folder=tmp_path, environ=environ, timeout=60).expect(1)
    assert f"error: {tmp_path / 'file'}" in failed.stderr
    assert "HEADWATER_PREPARED=FOLDER" in failed.stderr
    assert "Traceback" not in failed.stderr
