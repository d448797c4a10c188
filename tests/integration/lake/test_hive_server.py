"""HiveServer2, a real one: what only it does. What every catalog does is in the contract."""

import ssl
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from headwater.config.catalogs import CatalogConfig
from headwater.config.environment import read_environment
from headwater.errors import CatalogError, CatalogUnavailableError, CredentialsError, MissingExtraError
from headwater.lake.catalogs import build_catalog
from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.hive.metastore import HiveMetastoreCatalog
from headwater.lake.catalogs.hive.server import HiveServerCatalog
from headwater.lake.catalogs.planning import plan_change
from headwater.lake.prerequisites.java import find_java
from tests.fixtures.catalogs.harness import COLUMNS, Harness
from tests.fixtures.catalogs.hive_metastore import MetastoreServer, hive_metastore
from tests.fixtures.catalogs.hive_server import HiveServer, hive_server, start_hive_server

pytestmark = pytest.mark.long
__all__ = ["hive_metastore", "hive_server"]


@pytest.fixture
def database() -> str:
    return f"shop_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def by_thrift(hive_metastore: MetastoreServer, database: str) -> Iterator[HiveMetastoreCatalog]:
    catalog = HiveMetastoreCatalog(
        CatalogConfig(type="hive", database=database, address=hive_metastore.address)
    )
    yield catalog
    catalog.close()


@pytest.fixture
def harness(hive_server: HiveServer, database: str, tmp_path: Path) -> Iterator[Harness]:
    catalog = HiveServerCatalog(build_config(hive_server, database), "")
    yield Harness(catalog, f"file:{tmp_path}")
    catalog.close()


def build_config(server: HiveServer, database: str, parameters: str = "") -> CatalogConfig:
    return CatalogConfig(type="hive", database=database, address=f"{server.address}{parameters}")


def need(held: CatalogTable | None) -> CatalogTable:
    assert held is not None
    return held


def test_entry_equals_that_of_the_metastore(harness: Harness, by_thrift: HiveMetastoreCatalog) -> None:
    wanted = harness.table()
    harness.sync(wanted)
    assert plan_change(by_thrift.read("orders"), by_thrift.narrow(wanted)).is_empty


def test_odd_texts_arrive_as_they_are(harness: Harness, by_thrift: HiveMetastoreCatalog) -> None:
    table = harness.table()
    odd = {"note": 'it\'s "so" ${hiveconf:x} $ \\ \t ; -- é ☃', "blank": "ends with a blank, and is long "}
    harness.sync(replace(table, properties={**table.properties, **odd}))
    assert odd.items() <= need(by_thrift.read("orders")).properties.items()
    assert odd.items() <= need(harness.catalog.read("orders")).properties.items()


def test_comments_of_several_lines_stay(harness: Harness, by_thrift: HiveMetastoreCatalog) -> None:
    harness.sync(harness.table())
    held = by_thrift._find_table("orders")
    held.sd.cols[1].comment = 'it\'s the "key"\nof two lines'
    by_thrift._client.alter_table(by_thrift._database, "orders", held)
    harness.sync(harness.table(columns=StructType(COLUMNS.fields[:-1])))
    assert by_thrift._find_table("orders").sd.cols[1].comment == 'it\'s the "key"\nof two lines'


def test_partition_at_another_location_is_updated(harness: Harness, by_thrift: HiveMetastoreCatalog) -> None:
    wanted = harness.table()
    elsewhere = {values: f"{place}-old" for values, place in wanted.partitions.items()}
    harness.sync(replace(wanted, partitions=elsewhere))
    assert len(harness.sync(wanted).moved) == 2
    assert plan_change(by_thrift.read("orders"), by_thrift.narrow(wanted)).is_empty


def test_another_format_reaches_the_partitions(harness: Harness, by_thrift: HiveMetastoreCatalog) -> None:
    harness.sync(harness.table())
    harness.sync(harness.table(base_file_format="orc"))
    (first, *_) = by_thrift._client.get_partitions(by_thrift._database, "orders", -1)
    assert first.sd.inputFormat.endswith("OrcInputFormat")
    assert need(harness.catalog.read("orders")).format == harness.table(base_file_format="orc").format


def test_files_are_kept_after_conversion_to_a_managed_table(
    harness: Harness, by_thrift: HiveMetastoreCatalog, tmp_path: Path
) -> None:
    harness.sync(harness.table())
    file = tmp_path / "orders" / "day=2026-01-02" / "region=eu b+c" / "a.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("rows")
    held = by_thrift._find_table("orders")
    held.tableType = "MANAGED_TABLE"
    del held.parameters["EXTERNAL"]
    by_thrift._client.alter_table(by_thrift._database, "orders", held)
    assert len(harness.sync(harness.table(days=1)).dropped) == 1
    assert file.exists()


def test_missing_database_error_has_next_step(hive_server: HiveServer, tmp_path: Path) -> None:
    config = build_config(hive_server, "nobody_made_it").model_copy(update={"create_database": False})
    harness = Harness(HiveServerCatalog(config, ""), f"file:{tmp_path}")
    with pytest.raises(CatalogError) as caught:
        harness.sync(harness.table())
    harness.catalog.close()
    assert "create_database: true" in caught.value.hint


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headwater.lake.catalogs.hive.server")
    monkeypatch.setitem(sys.modules, "impala.dbapi", None)
    with pytest.raises(MissingExtraError) as caught:
        build_catalog(CatalogConfig(type="hive", database="shop", address="jdbc:hive2://hs:10000"))
    assert "headwater[hiveserver2]" in caught.value.hint


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        ({"hive__server2__transport__mode": "http"}, ";transportMode=http"),
        ({"hive__server2__authentication": "NOSASL"}, ";auth=noSasl"),
    ],
)
def test_other_ways_in(
    settings: dict[str, str], parameters: str, hive_metastore: MetastoreServer, database: str, tmp_path: Path
) -> None:
    server = start_hive_server(tmp_path, hive_metastore, **settings)
    try:
        catalog = HiveServerCatalog(build_config(server, database, parameters), "")
        harness = Harness(catalog, f"file:{tmp_path}/lake")
        harness.sync(harness.table())
        assert harness.sync(harness.table()).is_empty
        catalog.close()
    finally:
        server.stop()


def test_rejected_login_error_names_the_setting(
    hive_metastore: MetastoreServer, database: str, tmp_path: Path
) -> None:
    settings = {
        "hive__server2__authentication": "LDAP",
        "hive__server2__authentication__ldap__url": "ldap://127.0.0.1:1",
    }
    server = start_hive_server(tmp_path, hive_metastore, **settings)
    try:
        catalog = HiveServerCatalog(build_config(server, database), "wrong")
        with pytest.raises(CredentialsError) as caught:
            catalog.read("orders")
    finally:
        server.stop()
    assert "HEADWATER_HIVE_PASSWORD" in caught.value.hint


def test_an_encrypted_server_has_to_be_known(
    hive_metastore: MetastoreServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    settings = {
        "hive__server2__use__SSL": "true",
        "hive__server2__keystore__path": str(tmp_path / "keys.jks"),
        "hive__server2__keystore__password": "secret",
    }
    server = start_hive_server(tmp_path, hive_metastore, **settings)
    try:
        catalog = HiveServerCatalog(build_config(server, database, ";ssl=true"), "")
        with pytest.raises(CatalogUnavailableError):
            catalog.read("orders")
        monkeypatch.setenv(ssl.get_default_verify_paths().openssl_cafile_env, str(certificate))
        assert catalog.read("orders") is None
        catalog.close()
    finally:
        server.stop()


def make_certificate(folder: Path) -> Path:
    """Of 127.0.0.1, signed by itself; its key is in `keys.jks`."""
    keytool = find_java(read_environment()).path / "bin" / "keytool"
    keys = ["-keystore", str(folder / "keys.jks"), "-storepass", "secret", "-alias", "hs"]
    made = [
        str(keytool),
        "-genkeypair",
        "-keyalg",
        "RSA",
        "-dname",
        "CN=127.0.0.1",
        "-ext",
        "SAN=IP:127.0.0.1",
    ]
    subprocess.run([*made, "-ext", "SAN=IP:127.0.0.1", *keys], check=True, capture_output=True)
    path = folder / "server.pem"
    exported = [str(keytool), "-exportcert", "-rfc", "-file", str(path), *keys]
    subprocess.run(exported, check=True, capture_output=True)
    return path
