"""What every catalog does, run on every one of them: in-process, Glue on the emulator, a real metastore, a
real HiveServer2, DataHub's and BigQuery's REST shapes on small servers."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from pyspark.sql.types import DecimalType, StringType, StructField, StructType

from headwater.config.catalogs import CatalogConfig
from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.errors import CatalogConflictError, CatalogError, CatalogUnavailableError, CredentialsError
from headwater.lake.catalogs import build_catalog
from headwater.lake.catalogs.bigquery.catalog import BigQueryCatalog
from headwater.lake.catalogs.datahub import DataHubCatalog
from headwater.lake.catalogs.glue import GlueCatalog
from headwater.lake.catalogs.hive.metastore import HiveMetastoreCatalog
from headwater.lake.catalogs.hive.server import HiveServerCatalog
from headwater.lake.catalogs.memory import MemoryCatalog
from headwater.lake.catalogs.planning import normalize_location
from headwater.lake.catalogs.protocol import Catalog
from headwater.lake.catalogs.syncing import plan_entry
from tests.fixtures.catalogs.bigquery import run_bigquery
from tests.fixtures.catalogs.datahub import run_datahub
from tests.fixtures.catalogs.harness import COLUMNS, Harness
from tests.fixtures.catalogs.hive_metastore import hive_metastore
from tests.fixtures.catalogs.hive_server import hive_server
from tests.fixtures.catalogs.no_google import no_google
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.free_port import find_free_port

__all__ = ["hive_metastore", "hive_server", "no_google"]

NOTE = StructField("note", StringType())


@pytest.fixture
def memory(tmp_path: Path) -> Harness:
    return Harness(MemoryCatalog(), str(tmp_path))


@pytest.fixture
def glue(emulator: EmulatorSession) -> Harness:
    client = boto3.client(
        "glue",
        endpoint_url=emulator.endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )
    database = f"shop_{uuid.uuid4().hex[:8]}"
    config = CatalogConfig(type="glue", database=database, region=REGION)
    harness = Harness(GlueCatalog(config, client), "s3a://lake/bronze")
    sent: list[str] = []
    client.meta.events.register("before-call.glue.*", lambda model, **_: sent.append(model.name))
    harness.count_sent = lambda: len([name for name in sent if not name.startswith("Get")])

    def describe(name: str, text: str) -> None:
        held = client.get_table(DatabaseName=database, Name=name)["Table"]
        columns = [
            c | {"Comment": text} if c["Name"] == "id" else c for c in held["StorageDescriptor"]["Columns"]
        ]
        table = {key: held[key] for key in ("Name", "PartitionKeys", "TableType")}
        table |= {"StorageDescriptor": held["StorageDescriptor"] | {"Columns": columns}, "Description": text}
        table["Parameters"] = held["Parameters"] | {"classification": text}
        client.update_table(DatabaseName=database, TableInput=table)

    def read(name: str) -> str:
        held = client.get_table(DatabaseName=database, Name=name)["Table"]
        column = next(c for c in held["StorageDescriptor"]["Columns"] if c["Name"] == "id")
        return " ".join((held["Description"], column["Comment"], held["Parameters"]["classification"]))

    harness.describe_table, harness.read_description = describe, read
    return harness


@pytest.fixture
def hive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    server = request.getfixturevalue("hive_metastore")
    database = f"shop_{uuid.uuid4().hex[:8]}"
    catalog = HiveMetastoreCatalog(CatalogConfig(type="hive", database=database, address=server.address))
    yield build_hive_harness(catalog, catalog, f"file:{tmp_path}", database)
    catalog.close()


@pytest.fixture
def hive_by_statements(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    metastore = request.getfixturevalue("hive_metastore")
    server = request.getfixturevalue("hive_server")
    database = f"shop_{uuid.uuid4().hex[:8]}"
    beside = HiveMetastoreCatalog(CatalogConfig(type="hive", database=database, address=metastore.address))
    catalog = HiveServerCatalog(CatalogConfig(type="hive", database=database, address=server.address), "")
    yield build_hive_harness(catalog, beside, f"file:{tmp_path}", database)
    catalog.close()
    beside.close()


def build_hive_harness(catalog: Catalog, beside: HiveMetastoreCatalog, place: str, database: str) -> Harness:
    """`beside` is where somebody else writes and reads what is said of a table."""

    def describe(name: str, text: str) -> None:
        held = beside._find_table(name)
        next(column for column in held.sd.cols if column.name == "id").comment = text
        held.parameters["comment"] = text
        beside._client.alter_table(database, name, held)

    def read(name: str) -> str:
        held = beside._find_table(name)
        column = next(column for column in held.sd.cols if column.name == "id")
        return " ".join((column.comment, held.parameters["comment"]))

    return Harness(catalog, place, describe_table=describe, read_description=read)


@pytest.fixture
def datahub() -> Iterator[Harness]:
    with run_datahub() as server:
        server.token = "s3cret"
        config = CatalogConfig(type="datahub", database="shop", address=server.address)
        catalog = DataHubCatalog(config, "s3cret")
        harness = Harness(catalog, "s3a://lake/bronze")

        def describe(name: str, text: str) -> None:
            urn = catalog._build_urn(name)
            server.aspects[urn, "datasetProperties"]["description"] = text
            fields = server.aspects[urn, "schemaMetadata"]["fields"]
            next(one for one in fields if one["fieldPath"] == "id")["description"] = text

        def read(name: str) -> str:
            urn = catalog._build_urn(name)
            fields = server.aspects[urn, "schemaMetadata"]["fields"]
            column = next(one for one in fields if one["fieldPath"] == "id")
            return f"{server.aspects[urn, 'datasetProperties']['description']} {column['description']}"

        harness.describe_table, harness.read_description = describe, read
        harness.count_sent = lambda: len(server.proposals)
        yield harness
        catalog.close()


@pytest.fixture
def bigquery(tmp_path: Path, no_google: None) -> Iterator[Harness]:
    with run_bigquery() as server:
        catalog = BigQueryCatalog(
            CatalogConfig(type="bigquery", project="acme-analytics", database="shop", endpoint=server.address)
        )
        harness = Harness(catalog, str(tmp_path), key_types=("DATE", "STRING"))

        def describe(name: str, text: str) -> None:
            table = server.tables["shop", name]
            table["description"] = text
            fields = table["schema"]["fields"]
            next(one for one in fields if one["name"] == "address")["fields"][0]["description"] = text
            next(one for one in fields if one["name"] == "day")["description"] = text

        def read(name: str) -> str:
            fields = {one["name"]: one for one in server.tables["shop", name]["schema"]["fields"]}
            city, day = fields["address"]["fields"][0], fields["day"]
            table = server.tables["shop", name]
            return f"{table['description']} {city['description']} {day['description']}"

        harness.describe_table, harness.read_description = describe, read
        harness.count_sent = lambda: len(server.sent)
        yield harness
        catalog.close()


@pytest.fixture(
    params=[
        *("memory", "glue", "datahub", "bigquery"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("hive", "hive_by_statements")),
    ]
)
def harness(request: pytest.FixtureRequest) -> Harness:
    found: Harness = request.getfixturevalue(request.param)
    return found


def test_an_unknown_table_and_an_unknown_database_are_none(harness: Harness) -> None:
    assert harness.catalog.read("orders") is None
    harness.sync(harness.table())
    assert harness.catalog.read("others") is None


def test_a_new_table_is_read_as_it_was_wanted(harness: Harness) -> None:
    wanted = harness.table()
    change = harness.sync(wanted)
    held, told = harness.catalog.read("orders"), harness.catalog.narrow(wanted)
    assert change.is_new
    assert held is not None
    assert (held.columns, held.format) == (told.columns, told.format)
    keys = [(key.name, key.type) for key in held.partition_keys]
    assert keys == list(zip(("day", "region"), harness.key_types, strict=True))
    assert normalize_location(held.location) == normalize_location(wanted.location)
    assert told.properties.items() <= held.properties.items()
    assert harness.places() == {
        values: normalize_location(place) for values, place in told.partitions.items()
    }


def test_nothing_is_sent_when_nothing_changed(harness: Harness) -> None:
    harness.sync(harness.table())
    sent = harness.count_sent() if harness.count_sent else 0
    assert harness.sync(harness.table(requested="20260102")).is_empty
    assert (harness.count_sent() if harness.count_sent else 0) == sent


def test_partitions_are_added_and_removed(harness: Harness) -> None:
    harness.need_partitions()
    harness.sync(harness.table(days=3))
    wanted = harness.table(partitions=tuple(f"day=2026-01-0{day}/region=eu b+c" for day in (1, 3, 4)))
    change = harness.sync(wanted)
    assert (len(change.added), len(change.dropped), len(change.moved)) == (1, 1, 0)
    assert sorted(day for day, _ in harness.places()) == ["2026-01-01", "2026-01-03", "2026-01-04"]
    assert harness.sync(wanted).is_empty


def test_followed_offset_is_written_with_another_change(harness: Harness) -> None:
    harness.need_partitions()
    harness.sync(harness.table())
    harness.sync(harness.table(days=3, requested="20260102"))
    held = harness.catalog.read("orders")
    assert held is not None
    assert held.properties["last_commit_time_sync"] == "20260102"


def test_columns_are_added_and_widened(harness: Harness) -> None:
    harness.sync(harness.table())
    fields = [StructField("price", DecimalType(38, 10)) if one.name == "price" else one for one in COLUMNS]
    # In the table the new column stands in the middle; in the catalog it comes last.
    wanted = harness.table(columns=StructType([*fields[:2], NOTE, *fields[2:]]))
    change = harness.sync(wanted)
    assert [(one.effect, one.name) for one in change.columns] == [("add", "note"), ("change", "price")]
    held = harness.catalog.read("orders")
    assert held is not None
    types = {column.name: column.type for column in harness.catalog.narrow(wanted).columns}
    names = ("_hoodie_commit_time", "id", "price", "address", "tags", "note")
    assert [(column.name, column.type) for column in held.columns] == [(name, types[name]) for name in names]
    # A partition's own entry has the types, too.
    assert change.moved == harness.catalog.narrow(wanted).partitions
    assert harness.sync(wanted).is_empty


def test_a_column_that_the_table_lost_goes(harness: Harness) -> None:
    harness.sync(harness.table())
    shorter = harness.table(columns=StructType(COLUMNS.fields[:-1]))
    assert [(one.effect, one.name) for one in harness.sync(shorter).columns] == [("remove", "tags")]
    assert harness.sync(shorter).is_empty


def test_a_table_without_partitions(harness: Harness) -> None:
    plain = harness.table(partition_fields=(), partitions=("",))
    harness.sync(plain)
    held = harness.catalog.read("orders")
    assert held is not None
    assert (held.partition_keys, dict(held.partitions)) == ((), {})
    assert harness.sync(plain).is_empty


def test_many_partitions_in_several_requests(harness: Harness) -> None:
    harness.need_partitions()
    folders = tuple(f"day=day{number}/region=eu" for number in range(120))
    harness.sync(harness.table(partitions=folders))
    assert len(harness.places()) == 120
    assert harness.sync(harness.table(partitions=folders)).is_empty


def test_partitions_that_another_process_has_added_or_dropped_are_fine(harness: Harness) -> None:
    harness.need_partitions()
    harness.sync(harness.table(days=2))
    stale = plan_entry(harness.catalog, harness.table(days=3))
    harness.catalog.apply(stale)
    harness.catalog.apply(stale)
    gone = plan_entry(harness.catalog, harness.table(days=1))
    harness.catalog.apply(gone)
    harness.catalog.apply(gone)
    assert len(harness.places()) == 1


def test_properties_of_other_writers_are_kept(harness: Harness) -> None:
    if harness.describe_table is None or harness.read_description is None:
        pytest.skip("nobody else writes it")
    harness.sync(harness.table())
    harness.describe_table("orders", "told")
    wanted = harness.table(columns=StructType([*COLUMNS, NOTE]))
    harness.sync(wanted)
    assert set(harness.read_description("orders").split()) == {"told"}
    assert harness.sync(wanted).is_empty


def test_a_name_that_is_another_tables_is_refused(harness: Harness) -> None:
    harness.sync(harness.table())
    with pytest.raises(CatalogConflictError, match="another table"):
        harness.sync(harness.table(path=f"{harness.place}/elsewhere"))
    with pytest.raises(CatalogConflictError, match="partitioned by day, region"):
        harness.sync(harness.table(partition_fields=(), partitions=("",)))


@pytest.mark.parametrize("kind", ["glue", "hive", "hive_by_statements", "datahub", "bigquery"])
def test_a_catalog_that_does_not_answer_is_one_to_try_again(
    kind: str, tmp_path: Path, no_google: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    port = find_free_port()
    catalog: Catalog
    if kind == "glue":
        catalog = GlueCatalog(
            CatalogConfig(type="glue", database="shop", region=REGION, endpoint=f"http://127.0.0.1:{port}")
        )
    elif kind == "datahub":
        catalog = DataHubCatalog(
            CatalogConfig(type="datahub", database="shop", address=f"http://127.0.0.1:{port}")
        )
    elif kind == "bigquery":
        catalog = BigQueryCatalog(
            CatalogConfig(
                type="bigquery",
                project="acme-analytics",
                database="shop",
                endpoint=f"http://127.0.0.1:{port}",
            )
        )
    else:
        scheme = "thrift" if kind == "hive" else "jdbc:hive2"
        catalog = build_catalog(
            CatalogConfig(type="hive", database="shop", address=f"{scheme}://127.0.0.1:{port}")
        )
    with pytest.raises(CatalogUnavailableError) as caught:
        catalog.read("orders")
    catalog.close()
    assert caught.value.retryable
    assert str(port) in caught.value.message


def test_missing_glue_database_error_has_next_step(glue: Harness) -> None:
    assert isinstance(glue.catalog, GlueCatalog)
    glue.catalog._config = glue.catalog._config.model_copy(update={"create_database": False})
    with pytest.raises(CatalogError) as caught:
        glue.sync(glue.table())
    assert "create_database: true" in caught.value.hint


def test_missing_datahub_token_error_names_the_setting() -> None:
    with run_datahub() as server:
        server.token = "s3cret"
        catalog = DataHubCatalog(CatalogConfig(type="datahub", database="shop", address=server.address))
        with pytest.raises(CredentialsError) as caught:
            catalog.read("orders")
        catalog.close()
    assert "DATAHUB_GMS_TOKEN" in caught.value.hint


def test_datahub_has_kinds_keys_and_location() -> None:
    with run_datahub() as server:
        config = CatalogConfig(type="datahub", database="shop", address=server.address, environment="DEV")
        harness = Harness(DataHubCatalog(config), "s3a://lake")
        harness.sync(harness.table())
        harness.catalog.close()
    urn = "urn:li:dataset:(urn:li:dataPlatform:hudi,shop.orders,DEV)"
    assert {one for one, _ in server.proposals} == {urn}
    fields = {one["fieldPath"]: one for one in server.aspects[urn, "schemaMetadata"]["fields"]}
    assert fields["address"]["type"] == {"type": {"com.linkedin.schema.RecordType": {}}}
    assert fields["price"]["type"] == {"type": {"com.linkedin.schema.NumberType": {}}}
    assert [name for name, one in fields.items() if one["isPartitioningKey"]] == ["day", "region"]
    properties = server.aspects[urn, "datasetProperties"]["customProperties"]
    assert properties["headwater.location"] == "s3a://lake/orders"
    assert server.aspects[urn, "status"] == {"removed": False}
