"""Which Spark settings a configuration becomes: addresses, executors, and the Python of their workers."""

from typing import Any

import pytest

from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.settings import Settings
from headwater.config.source import GcsSourceConfig
from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.lake.prerequisites.spark_settings import (
    build_spark_settings,
    choose_python,
    list_provided,
)

CLUSTER = "spark://host:7077"


def build_settings(**spark: Any) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": "/landing"},
            "lake": "/lake",
            "tables": {"t": {"path": "*.json"}},
            "spark": spark,
        }
    )


def test_addresses_of_the_driver_are_spark_settings() -> None:
    built = build_spark_settings(
        build_settings(
            master=CLUSTER,
            driver_host="driver.spark.svc",
            driver_bind_address="10.0.3.17",
            driver_port=7078,
            block_manager_port=7079,
        )
    )
    assert built["spark.driver.host"] == "driver.spark.svc"
    assert built["spark.driver.bindAddress"] == "10.0.3.17"
    assert built["spark.driver.port"] == "7078"
    assert built["spark.blockManager.port"] == "7079"


def test_spark_chooses_the_addresses_of_a_clusters_driver_unless_they_are_given() -> None:
    names = {"spark.driver.host", "spark.driver.bindAddress", "spark.driver.port", "spark.blockManager.port"}
    assert not names & build_spark_settings(build_settings(master=CLUSTER)).keys()
    local = build_spark_settings(build_settings())
    assert {local["spark.driver.host"], local["spark.driver.bindAddress"]} == {"127.0.0.1"}


def test_config_has_priority_over_typed_addresses() -> None:
    given = build_settings(master=CLUSTER, driver_port=7078, config={"spark.driver.port": "9000"})
    assert build_spark_settings(given)["spark.driver.port"] == "9000"


def test_executors_limit_their_arenas_unless_config_does() -> None:
    name = "spark.executorEnv.MALLOC_ARENA_MAX"
    assert name not in build_spark_settings(build_settings())
    assert build_spark_settings(build_settings(master=CLUSTER))[name] == "2"
    given = build_settings(master=CLUSTER, config={name: "4"})
    assert build_spark_settings(given)[name] == "4"


@pytest.mark.parametrize(
    ("spark", "environ", "expected"),
    [
        ({"spark.master": "local[2]"}, {}, "/own"),
        ({"spark.master": "local[2]"}, {"PYSPARK_PYTHON": "/other"}, "/own"),
        ({"spark.master": "local[2]", "spark.pyspark.python": "/set"}, {}, "/set"),
        ({"spark.master": CLUSTER}, {}, "/own"),
        ({"spark.master": CLUSTER}, {"PYSPARK_PYTHON": "./env/bin/python"}, "./env/bin/python"),
        (
            {"spark.master": CLUSTER, "spark.pyspark.python": "./set/bin/python"},
            {"PYSPARK_PYTHON": "/other"},
            "./set/bin/python",
        ),
    ],
)
def test_workers_run_in_the_python_of_the_user_or_of_the_driver(
    spark: dict[str, str], environ: dict[str, str], expected: str
) -> None:
    assert choose_python(spark, environ, "/own") == expected


def test_only_executors_of_their_own_can_have_their_jars() -> None:
    assert list_provided(build_settings(master=CLUSTER)) == ()
    assert list_provided(build_settings(executor_jars="provided")) == ()
    assert list_provided(build_settings(master=CLUSTER, executor_jars="provided")) == (HUDI_BUNDLE,)


def build_gcs_settings(**source: Any) -> Settings:
    source = {"type": "gcs", "bucket": "landing", "file_system_scheme": "gs", **source}
    return build_settings().model_copy(update={"source": GcsSourceConfig(**source)})


def list_gcs(settings: Settings) -> dict[str, str]:
    built = build_spark_settings(settings)
    return {k.removeprefix("spark.hadoop.fs.gs."): v for k, v in built.items() if ".fs.gs." in k}


def test_cloud_storage_is_a_file_system_of_spark_only_for_large_objects() -> None:
    assert list_gcs(build_gcs_settings(file_system_scheme=None)) == {}
    assert list_gcs(build_gcs_settings()) == {"impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"}


def test_a_lake_in_cloud_storage_has_the_endpoint_of_its_own_store() -> None:
    lake = {
        "lake": "gs://acme-lake/bronze",
        "lake_storage": LakeStorageConfig(endpoint="https://lake.example"),
    }
    of_source = build_gcs_settings(file_system_scheme=None, endpoint="https://source.example")
    for settings in (build_settings(), of_source):
        found = list_gcs(settings.model_copy(update=lake))
        assert found["storage.root.url"] == "https://lake.example/"


def test_only_an_emulator_of_cloud_storage_gets_no_credentials() -> None:
    private = list_gcs(build_gcs_settings(endpoint="https://storage.example.com"))
    assert (private["storage.root.url"], "auth.null.enable" in private) == (
        "https://storage.example.com/",
        False,
    )
    emulator = list_gcs(build_gcs_settings(endpoint="http://127.0.0.1:4443"))
    assert (emulator["auth.service.account.enable"], emulator["auth.null.enable"]) == ("false", "true")
