"""A table that has grown gets a record index, and everybody who writes or maintains it keeps the index."""

import json
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from headwater.config.hudi.lock import LockConfig
from headwater.lake import auto_index, indexes
from headwater.lake.jvm import connect
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.clustering import ClusterOptions, cluster
from headwater.lake.services.metadata_table import rebuild_metadata
from headwater.lake.typed_options.clustering import clustering_options
from headwater.lake.typed_options.locks import to_session_settings
from headwater.lake.writes import write
from tests.fixtures.folder_lake import FolderLake

MERGED = {"path": "*.json", "record_key": "id", "schema": "id string, n bigint, day string"}
KINDS = {"": "global_record_level", "day": "record_level"}


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table counts as large."""
    monkeypatch.setattr(auto_index, "LEAST_BYTES", 1)


def put(lake: FolderLake, *rows: tuple[str, int, str]) -> None:
    """A file of rows, ingested as after a restart."""
    text = "\n".join(json.dumps(dict(zip(("id", "n", "day"), row, strict=True))) for row in rows)
    lake.put(f"{len(list(lake.source.iterdir()))}.json", text)
    lake.ingest("t")


def look(lake: FolderLake) -> tuple[str, str, bool]:
    """How writes find keys, by whose choice, and whether the record index is built."""
    found = indexes.list_indexes(TableAddress("t", table_path(lake.lake, "t")), lake.settings.tables["t"])
    return found.write_index.type, found.write_index.told_by, "record_index" in found.built


def test_small_table_has_hudis_default(build: Callable[..., FolderLake]) -> None:
    lake = build(t=MERGED)
    put(lake, ("a", 1, "mo"))
    put(lake, ("a", 2, "mo"))
    assert look(lake) == ("simple", "default", False)


@pytest.mark.parametrize(
    ("partition", "table_type"),
    [
        ("", "copy_on_write"),
        pytest.param("", "merge_on_read", marks=pytest.mark.slow),
        pytest.param("day", "copy_on_write", marks=pytest.mark.slow),
        pytest.param("day", "merge_on_read", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_large_table_gets_a_record_index_and_keeps_it(
    build: Callable[..., FolderLake], monkeypatch: pytest.MonkeyPatch, partition: str, table_type: str
) -> None:
    lake = build(t={**MERGED, "partition": partition or None, "table_type": table_type})
    put(lake, ("a", 1, "mo"), ("b", 1, "tu"))
    with monkeypatch.context() as patch:
        patch.setattr(auto_index, "LEAST_BYTES", 1)
        put(lake, ("a", 2, "mo"), ("c", 1, "mo"))
    assert look(lake) == (KINDS[partition], "size", True)
    # Whatever it measures from then on.
    put(lake, ("a", 3, "mo"), ("b", 2, "tu"))
    assert look(lake) == (KINDS[partition], "size", True)
    assert lake.rows("t", "id", "n") == [("a", 3), ("b", 2), ("c", 1)]

    lake.change("t", index={"type": "simple"})
    put(lake, ("a", 4, "mo"))
    assert look(lake) == ("simple", "configuration", False)
    assert lake.rows("t", "id", "n") == [("a", 4), ("b", 2), ("c", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["", "day"])
def test_services_and_other_writes_keep_the_index(
    build: Callable[..., FolderLake], spark: SparkSession, monkeypatch: pytest.MonkeyPatch, partition: str
) -> None:
    lake = build(t={**MERGED, "partition": partition or None, "file_sizes": {"small": 0}})
    put(lake, ("a", 1, "mo"))
    with monkeypatch.context() as patch:
        patch.setattr(auto_index, "LEAST_BYTES", 1)
        put(lake, ("b", 1, "mo"))
    kept = (KINDS[partition], "size", True)
    assert look(lake) == kept
    config, address = lake.settings.tables["t"], TableAddress("t", table_path(lake.lake, "t"))

    assert cluster(ServiceTable.of(spark, address, config), ClusterOptions()).files == 1
    assert look(lake) == kept
    put(lake, ("a", 2, "mo"))

    rows = spark.createDataFrame([("b", 5, "mo"), ("c", 5, "tu")], "id string, n bigint, day string")
    write(lake.settings, "t", rows, "upsert")
    assert look(lake) == kept

    assert "record_index" in rebuild_metadata(ServiceTable.of(spark, address, config)).after
    assert look(lake) == kept
    put(lake, ("c", 6, "tu"))
    assert look(lake) == kept
    assert lake.rows("t", "id", "n") == [("a", 2), ("b", 5), ("c", 6)]


@pytest.mark.slow
@pytest.mark.usefixtures("grown")
def test_mirror_that_has_grown_replaces_rows_by_the_index(build: Callable[..., FolderLake]) -> None:
    lake = build(t={"path": "*.json", "mode": "mirror"})
    for text in ('{"id": 1}\n{"id": 2}', '{"id": 3}', ""):
        lake.put("a.json", text)
        lake.put("b.json", '{"id": 9}')
        lake.ingest("t")
    assert look(lake) == ("global_record_level", "size", True)
    assert lake.rows("t", "id") == [(9,)]


@pytest.mark.slow
@pytest.mark.usefixtures("grown")
def test_index_is_not_built_where_other_processes_may_write(
    build: Callable[..., FolderLake], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = to_session_settings(LockConfig(provider="in_process"))
    monkeypatch.setattr("headwater.lake.table.read_session_settings", lambda _spark: lock)
    lake = build(t=MERGED)
    put(lake, ("a", 1, "mo"))
    put(lake, ("a", 2, "mo"))
    assert look(lake) == ("simple", "default", False)


@pytest.mark.slow
def test_index_is_not_built_while_a_plan_is_pending(
    build: Callable[..., FolderLake], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = build(t={**MERGED, "file_sizes": {"small": 0}})
    put(lake, ("a", 1, "mo"))
    put(lake, ("b", 1, "mo"))
    config, address = lake.settings.tables["t"], TableAddress("t", table_path(lake.lake, "t"))
    with ServiceTable.of(spark, address, config).open_client(
        clustering_options((), "linear", 1_000_000, 10**8, ())
    ) as client:
        assert client.scheduleClustering(connect(spark).build_none()).isPresent()
    monkeypatch.setattr(auto_index, "LEAST_BYTES", 1)
    put(lake, ("c", 1, "mo"))
    assert look(lake) == ("simple", "default", False)
    cluster(ServiceTable.of(spark, address, config), ClusterOptions())
    put(lake, ("a", 2, "mo"))
    assert look(lake) == ("global_record_level", "size", True)
    assert lake.rows("t", "id", "n") == [("a", 2), ("b", 1), ("c", 1)]
