"""What `doctor` says of a lock: real sockets, folders and jars; no JVM."""

import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headwater.app.services.lock_check import check_lock
from headwater.config.hudi.lock import LOCK_CLASSES
from headwater.config.settings import Settings
from headwater.lake.prerequisites.packages import HUDI_BUNDLE


def build(tmp_path: Path, lock: dict[str, Any] | None, **top: Any) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "in")},
            "lake": str(tmp_path / "lake"),
            "tables": {"t": {"path": "*.json"}},
            "lock": lock,
            **top,
        }
    )


def write_bundle(home: Path, *classes: str) -> None:
    group, artifact, version = HUDI_BUNDLE.split(":")
    jar = home / ".ivy2/cache" / group / artifact / "jars" / f"{artifact}-{version}.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as content:
        for name in classes:
            content.writestr(f"{name.replace('.', '/')}.class", b"")


def look(tmp_path: Path, lock: dict[str, Any] | None, **top: Any) -> dict[str, tuple[str, str]]:
    found = check_lock(build(tmp_path, lock, **top), {"HOME": str(tmp_path / "home")})
    assert all(bool(finding.fix) == (finding.status != "ok") for finding in found)
    return {finding.name: (finding.status, finding.detail) for finding in found}


def test_lake_without_a_lock_has_nothing_to_check(tmp_path):
    assert look(tmp_path, None) == {}


def test_lock_of_files_is_tried_in_the_lake_and_leaves_nothing(tmp_path):
    write_bundle(tmp_path / "home", LOCK_CLASSES["file_system"])
    before = sorted(tmp_path.rglob("*"))
    found = look(tmp_path, {"provider": "file_system"})
    assert found["lock"] == ("ok", f"{tmp_path / 'lake'}: only one of two writers creates the lock file")
    assert found["lock.class"][0] == "ok"
    assert sorted(tmp_path.rglob("*")) == before


def test_folder_that_only_spark_reaches_is_a_warning(tmp_path):
    lock = {"provider": "file_system", "folder": "hdfs://namenode/locks"}
    assert look(tmp_path, lock)["lock"][0] == "warning"


def test_class_that_is_in_no_jar_is_a_problem(tmp_path):
    write_bundle(tmp_path / "home", LOCK_CLASSES["file_system"])
    status, detail = look(tmp_path, {"provider": "in_process"})["lock.class"]
    assert (status, "InProcessLockProvider is not in any of hudi-spark" in detail) == ("problem", True)


def test_lock_class_is_checked_only_with_jars(tmp_path):
    assert look(tmp_path, {"provider": "in_process"})["lock.class"][0] == "warning"


@pytest.mark.parametrize("provider", ["zookeeper", "hive_metastore"])
def test_server_is_asked_whether_it_listens(tmp_path, provider):
    scheme = "thrift://" if provider == "hive_metastore" else ""
    extra = {"database": "d"} if provider == "hive_metastore" else {}
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        lock = {"provider": provider, "address": f"{scheme}{address}", **extra}
        assert look(tmp_path, lock)["lock"] == ("ok", f"{address} is reachable")
    status, detail = look(tmp_path, lock)["lock"]
    assert status == "problem"
    assert detail.startswith(f"cannot connect to {address}")


def test_dynamodb_that_does_not_answer_is_a_problem(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    lock = {"provider": "dynamodb", "table": "locks", "region": "eu-west-1", "endpoint": "http://127.0.0.1:9"}
    spark = {"packages": "org.apache.hudi:hudi-aws-bundle:1.2.0"}
    status, detail = look(tmp_path, lock, spark=spark)["lock"]
    assert (status, "DynamoDB does not answer for the lock table locks" in detail) == ("problem", True)
