"""`headwater backup` and `restore` as processes: killed on the way, in a bucket, and next to another."""

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from headwater.demo.emulator import REGION
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Finished, Running
from tests.fixtures.lakes import BUCKET, FIXTURE_LAKE

TABLES = ("orders_cow", "orders_mor", "archived", "managed")


class Commands:
    """The command in a folder with a lake and its configuration."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder, self.environ = folder, environ
        for name in (*TABLES, "_headwater"):
            shutil.copytree(FIXTURE_LAKE / name, folder / "lake" / name)
        config = {
            "source": {"type": "s3", "bucket": "landing", "moved_from": BUCKET},
            "lake": "lake",
            "tables": {name: {"path": "*.json"} for name in TABLES},
        }
        (folder / "headwater.yaml").write_text(json.dumps(config))

    def run(self, *words: str, crash_point: str = "") -> Finished:
        environ = {**self.environ, "HEADWATER_CRASH_POINT": crash_point}
        return Running(words, self.folder, environ).finish(120)

    def read(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").expect(0).stdout)


@pytest.fixture
def commands(emulator: EmulatorSession, tmp_path: Path) -> Commands:
    return Commands(tmp_path, emulator.environment)


@pytest.mark.slow
def test_a_killed_backup_is_no_backup_and_is_repeated_from_where_it_was(commands: Commands) -> None:
    assert commands.run("backup", "copy", crash_point="mid_backup:2").was_killed
    refused = commands.run("--set", "lake=new", "restore", "copy").expect(2)
    assert "there is no complete backup in" in refused.stderr
    assert "if it was interrupted, repeat it" in refused.stderr
    assert commands.run("backup", "copy", crash_point="before_backup_manifest").was_killed
    commands.run("--set", "lake=new", "restore", "copy").expect(2)
    done = commands.read("backup", "copy")
    # What both had copied: their journals say so.
    assert done["copied_files"] == 0
    assert {path.name for path in (commands.folder / "copy").iterdir()} >= {"manifest.json", "data"}
    assert not list((commands.folder / "copy").glob("journal/*"))

    assert commands.run("--set", "lake=new", "restore", "copy", crash_point="mid_restore").was_killed
    restored = commands.read("--set", "lake=new", "restore", "copy")
    assert restored["report"]["manifest"] == done["manifest"]
    assert "headwater reconcile" in restored["next"][0]
    for name in (*TABLES, "events"):
        checked = commands.run("--set", "lake=new", "table", name, "check", "--contents").expect(0)
        assert "all complete" in checked.stdout


@pytest.mark.slow
def test_a_backup_in_a_bucket_is_restored_into_another_bucket(
    commands: Commands, emulator: EmulatorSession
) -> None:
    bucket = f"backup-{uuid.uuid4().hex[:12]}"
    where = ("--endpoint", emulator.endpoint, "--region", REGION)
    missing = commands.run("backup", f"s3://{bucket}/one", *where).expect(1)
    assert f"s3://{bucket}/one: the bucket does not exist" in missing.stderr
    commands.run("backup", "copy").expect(0)
    lake = ("--set", f"lake=s3a://{bucket}/lake", "--set", f"lake_storage.endpoint={emulator.endpoint}")
    missing = commands.run(*lake, "restore", "copy").expect(1)
    assert f"s3a://{bucket}/lake: the bucket does not exist" in missing.stderr
    emulator.clients.s3.create_bucket(Bucket=bucket)
    done = commands.read("backup", f"s3://{bucket}/one", *where)
    assert commands.read("backup", f"s3://{bucket}/one", *where)["copied_files"] == 0
    commands.run("restore", "--dry-run", f"s3://{bucket}/one", *where).expect(0)

    restored = commands.read(*lake, "restore", f"s3://{bucket}/one")
    assert restored["report"]["files"] == done["files"]
    rows = "select count(*) as n from orders_mor"
    assert commands.run(*lake, "sql", "--json", rows).stdout == commands.run("sql", "--json", rows).stdout

    key = next(
        entry["Key"]
        for entry in emulator.clients.s3.list_objects_v2(Bucket=bucket, Prefix="one/data/")["Contents"]
        if entry["Key"].endswith(".parquet")
    )
    emulator.clients.s3.delete_object(Bucket=bucket, Key=key)
    refused = commands.run("--set", "lake=new", "restore", f"s3://{bucket}/one", *where).expect(1)
    assert f"{key.removeprefix('one/')} is missing" in refused.stderr
    assert not (commands.folder / "new").exists()


@pytest.mark.slow
def test_one_destination_has_one_backup_at_a_time(commands: Commands) -> None:
    other = Intent("service", "backup", ("backup",), alone=True)
    with WriterLease(str(commands.folder / "copy"), {}, other).entered(Patience()):
        refused = commands.run("backup", "copy").expect(1)
    assert "being written by backup" in refused.stderr
    commands.run("backup", "copy").expect(0)
