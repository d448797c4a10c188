"""The `spark` section: addresses of the driver, and settings that have no effect."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\n"


def load(spark: str) -> Settings:
    return parse_settings(f"{BASE}spark: {spark}\n", Path("/shop/headwater.yaml"), {})


@pytest.mark.parametrize("host", ["driver", "driver.spark.svc", "10.0.3.17", "[fd00::1]", "a-b.c"])
def test_hosts_are_names_or_addresses(host: str) -> None:
    assert load(f"{{driver_host: '{host}'}}").spark.driver_host == host


@pytest.mark.parametrize("host", ["my_host", "spark://driver", "driver:7078", "", "a b", "-a", "fd00::1"])
def test_other_hosts_are_rejected_before_spark_starts(host: str) -> None:
    with pytest.raises(ConfigError, match=r"without scheme, port or underscore"):
        load(f"{{driver_host: '{host}'}}")


@pytest.mark.parametrize("port", ["80", "65536", "0", "any"])
def test_other_ports_are_rejected(port: str) -> None:
    with pytest.raises(ConfigError, match=r"spark.driver_port"):
        load(f"{{driver_port: {port}}}")


def test_driver_and_blocks_have_different_ports() -> None:
    with pytest.raises(ConfigError, match=r"spark.block_manager_port: .*is also `driver_port`"):
        load("{driver_port: 7078, block_manager_port: 7078}")


def test_python_of_the_driver_is_a_warning() -> None:
    settings = load("{config: {spark.pyspark.driver.python: /usr/bin/python3}}")
    ((path, text),) = settings.iter_warnings()
    assert path == ("spark", "config", "spark.pyspark.driver.python")
    assert "has no effect" in text
    assert not list(load("{config: {spark.pyspark.python: ./env/bin/python}}").iter_warnings())
