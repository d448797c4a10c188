"""Which locks fit which lake and tables, before Spark starts."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.lake.prerequisites.spark_settings import build_pools, build_spark_settings
from headwater.lake.typed_options.locks import read_session_lock

FILES = {"provider": "file_system"}
BUCKETS = {"index": {"type": "bucket", "buckets": 2}, "table_type": "merge_on_read", "record_key": "id"}


def build(lock: dict[str, Any] | None, table: dict[str, Any] | None = None, **top: Any) -> Settings:
    data = {
        "source": {"type": "local", "path": "in"},
        "lake": "out",
        "tables": {"t": {"path": "*.json", **(table or {})}},
        **({"lock": lock} if lock else {}),
        **top,
    }
    return parse_settings(yaml.safe_dump(data), Path("headwater.yaml"), {})


@pytest.mark.parametrize(
    ("lock", "table", "top", "expected_message"),
    [
        (
            {"provider": "zookeper"},
            {},
            {},
            "lock.provider: 'zookeper' is not allowed. Did you mean 'zookeeper'?",
        ),
        (
            {"provider": "zookeeper"},
            {},
            {},
            "lock.address: missing; `provider: zookeeper` requires the servers",
        ),
        (
            {"provider": "zookeeper", "address": "zk1"},
            {},
            {},
            "lock.address: 'zk1' is invalid; specify the servers, such as `zk1:2181,zk2:2181`",
        ),
        (
            {"provider": "hive_metastore", "address": "hms:9083", "database": "d"},
            {},
            {},
            "lock.address: 'hms:9083' is invalid; specify its URI, such as `thrift://metastore:9083`",
        ),
        (
            FILES | {"region": "eu-west-1"},
            {},
            {},
            "lock.region: not applicable with `provider: file_system`; applies to: dynamodb",
        ),
        (FILES, {}, {"lake": "s3a://b/lake"}, "lock.provider: 'file_system' is not safe in a lake at s3a://"),
        (
            {"provider": "storage"},
            {},
            {},
            "lock.provider: 'storage' supports only lakes at s3://, s3a:// and gs://; use file_system",
        ),
        (
            {"provider": "storage"},
            {},
            {"lake": "s3a://b/lake"},
            "lock.provider: 'storage' is not part of Hudi's bundle for Spark; add `spark.packages: "
            "[org.apache.hudi:hudi-aws-bundle:1.2.0]`",
        ),
        (
            {"provider": "dynamodb", "table": "locks", "region": "eu-west-1"},
            {},
            {},
            "lock.provider: 'dynamodb' is not part of Hudi's bundle for Spark; add `spark.packages: "
            "[org.apache.hudi:hudi-aws-bundle:1.2.0]`",
        ),
        (
            None,
            BUCKETS | {"concurrency": "non_blocking"},
            {},
            "tables.t.concurrency: 'non_blocking' requires a lock",
        ),
        (
            FILES,
            {"record_key": "id", "table_type": "merge_on_read", "concurrency": "non_blocking"},
            {},
            "tables.t.concurrency: 'non_blocking' needs `table_type: merge_on_read` and `index:",
        ),
        (
            None,
            {"services": "async"},
            {},
            "tables.t.services: 'async' means that `headwater services run` maintains",
        ),
        ({"provider": "in_process"}, {"services": "async"}, {}, "tables.t.services: 'async' means that"),
        (FILES, {"services": "semi_async"}, {}, "tables.t.services: 'semi_async' has no meaning with"),
        (
            None,
            {"hoodie": {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}},
            {},
            "tables.t.hoodie.hoodie.write.concurrency.mode: 'OPTIMISTIC_CONCURRENCY_CONTROL' requires a lock",
        ),
    ],
)
def test_incompatible_lock_options_are_reported_with_key_and_allowed_values(
    lock, table, top, expected_message
):
    with pytest.raises(ConfigError) as caught:
        build(lock, table, **top)
    assert caught.value.exit_code == 2
    (line,) = caught.value.message.splitlines()
    assert f": {expected_message}" in line


def test_locks_that_fit_are_taken():
    build(FILES, BUCKETS | {"concurrency": "non_blocking", "services": "semi_async"})
    build(FILES, {"services": "semi_async", "clustering": {"after": 4}, "max_pending_clustering": 2})
    build(FILES | {"folder": "/shared/locks"}, lake="s3a://b/lake")
    build(FILES, lake="abfss://lake@acme.dfs.core.windows.net/bronze")
    aws = {"packages": "org.apache.hudi:hudi-aws-bundle:1.2.0"}
    build({"provider": "storage"}, lake="s3a://b/lake", spark=aws)
    build({"provider": "dynamodb", "table": "locks", "region": "eu-west-1"}, spark=aws)


def find_options(lock: dict[str, Any]) -> dict[str, str]:
    found = read_session_lock(build_spark_settings(build(lock)), "orders")
    return {key.removeprefix("hoodie.write.lock."): value for key, value in found.items()}


def test_every_writer_of_a_session_with_a_lock_is_given_it():
    found = find_options(FILES | {"folder": "/locks/", "early_conflict_detection": True})
    prefix = "org.apache.hudi.client.transaction.lock"
    assert found == {
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.concurrency.early.conflict.detection.enable": "true",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "provider": f"{prefix}.FileSystemBasedLockProvider",
        "filesystem.path": "/locks/orders",
        "filesystem.expire": "5",
        "hoodie.fs.atomic_creation.support": "abfs,abfss",
        "client.num_retries": "360",
        "client.wait_time_ms_between_retry": "1000",
    }


def test_each_lock_has_its_server_and_table():
    zookeeper = find_options({"provider": "zookeeper", "address": "zk1:2181,zk2:2182"})
    assert zookeeper["zookeeper.url"] == "zk1:2181,zk2:2182"
    assert (zookeeper["zookeeper.port"], zookeeper["zookeeper.base_path"]) == ("2181", "/headwater")
    hive = find_options({"provider": "hive_metastore", "address": "thrift://hms:9083", "database": "d"})
    assert hive["hivemetastore.uris"] == "thrift://hms:9083"
    assert (hive["hivemetastore.database"], hive["hivemetastore.table"]) == ("d", "orders")


def test_without_a_lock_a_writer_is_given_nothing():
    settings = parse_settings(
        "source: {type: local, path: in}\nlake: out\ntables: {t: {path: '*.json'}}\n", Path("h.yaml"), {}
    )
    assert read_session_lock(build_spark_settings(settings), "t") == {}


def test_pools_get_their_shares_and_unknown_pools_are_reported():
    settings = build(FILES, spark={"pools": {"capture": {"weight": 4, "min_share": 1}, "services-t": {}}})
    pools = {pool.get("name"): pool for pool in ElementTree.fromstring(build_pools(settings.spark.pools))}
    assert [pools["capture"].findtext(name) for name in ("weight", "minShare")] == ["4", "1"]
    assert pools["services-t"].findtext("weight") == "1"
    with pytest.raises(ConfigError, match=r"spark.pools.captur: unknown pool 'captur'. Allowed: capture,"):
        build(FILES, spark={"pools": {"captur": {}}})
