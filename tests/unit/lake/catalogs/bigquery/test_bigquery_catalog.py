"""Real Hudi tables told to BigQuery, by its own client, at a small server with the shape of its address."""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from headwater.config.catalogs import CatalogConfig
from headwater.errors import (
    CatalogConflictError,
    CatalogError,
    CatalogUnavailableError,
    CredentialsError,
    HeadwaterError,
    MissingExtraError,
)
from headwater.lake.catalogs import build_catalog
from headwater.lake.catalogs.bigquery.catalog import BigQueryCatalog
from headwater.lake.catalogs.entries import EntryRules
from headwater.lake.catalogs.syncing import TablePlan, apply_plan, plan_table
from headwater.lake.catalogs.table_state import TableState, read_table_state
from headwater.lake.layout import TableAddress
from tests.fixtures.catalogs.bigquery import MANIFEST, BigQueryServer, run_bigquery
from tests.fixtures.catalogs.no_google import no_google
from tests.fixtures.lakes import FIXTURE_LAKE

__all__ = ["no_google"]
pytestmark = pytest.mark.usefixtures("no_google")

SECOND = "20261122192558209"


@pytest.fixture
def server() -> Iterator[BigQueryServer]:
    with run_bigquery() as found:
        yield found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two days in two files; of the older one of the first day is another file."""
    return Path(shutil.copytree(FIXTURE_LAKE / "folder_days", tmp_path / "folder_days"))


def build_config(server: BigQueryServer, **changes: Any) -> CatalogConfig:
    given = {"type": "bigquery", "project": "acme-analytics", "database": "shop", "endpoint": server.address}
    return CatalogConfig.model_validate(given | changes)


def read_state(path: Path) -> TableState:
    state = read_table_state(TableAddress(path.name, str(path)))
    assert state is not None
    return state


@pytest.fixture
def sync(server: BigQueryServer) -> Iterator[Callable[..., TablePlan]]:
    catalog = BigQueryCatalog(build_config(server))

    def run(state: TableState) -> TablePlan:
        plan = plan_table(catalog, state, EntryRules())
        apply_plan(catalog, plan.changes)
        return plan

    yield run
    catalog.close()


def read_lines(table: Path) -> list[str]:
    manifest = table / ".hoodie/absolute-path-manifest/latest-snapshot.csv"
    return [line.removeprefix(f"{table}/") for line in manifest.read_text("utf-8").splitlines()]


def describe(plan: TablePlan) -> list[str]:
    return [line for change in plan.changes for line in change.describe()]


def test_a_table_is_external_over_its_manifest_of_the_newest_files(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path
) -> None:
    plan = sync(read_state(table))
    assert describe(plan) == ["create the table with 8 columns", "write the manifest of 2 files"]
    first, second = read_lines(table)
    assert first.startswith("day=2026-01-01/")
    assert first.endswith(f"_{SECOND}.parquet")
    assert second.startswith("day=2026-01-02/")
    made = server.tables["shop", "folder_days"]
    assert made["externalDataConfiguration"] == {
        "sourceFormat": "PARQUET",
        "sourceUris": [f"{table}/.hoodie/absolute-path-manifest/latest-snapshot.csv"],
        "fileSetSpecType": MANIFEST,
        "autodetect": False,
        "parquetOptions": {"enableListInference": True},
        "hivePartitioningOptions": {"mode": "AUTO", "sourceUriPrefix": f"{table}/", "fields": ["day"]},
    }
    types = {field["name"]: (field["type"], field["mode"]) for field in made["schema"]["fields"][5:]}
    assert types == {
        "id": ("INTEGER", "NULLABLE"),
        "amount": ("NUMERIC", "NULLABLE"),
        "tags": ("STRING", "REPEATED"),
        "day": ("DATE", "NULLABLE"),
    }


def test_rows_in_files_that_a_table_was_bootstrapped_from_are_not_in_its_own(table: Path) -> None:
    with (table / ".hoodie/hoodie.properties").open("a") as properties:
        properties.write("hoodie.bootstrap.base.path=/elsewhere\n")
    assert len(read_state(table).files or ()) == 2
    index = table / ".hoodie/.aux/.bootstrap/.fileids/a.hfile"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_bytes(b"index")
    assert read_state(table).files is None


def test_nothing_is_sent_or_written_when_no_file_changed(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path
) -> None:
    sync(read_state(table))
    manifest = table / ".hoodie/absolute-path-manifest/latest-snapshot.csv"
    sent, written = list(server.sent), manifest.stat().st_mtime_ns
    plan = sync(replace(read_state(table), requested="20270101000000000"))
    assert (plan.is_empty, describe(plan)) == (True, [])
    assert (server.sent, manifest.stat().st_mtime_ns) == (sent, written)


def test_a_commit_that_replaces_a_file_writes_the_manifest_only(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path, tmp_path: Path
) -> None:
    newer = [path for path in table.rglob("*") if path.name.startswith(SECOND) or SECOND in path.name]
    for path in newer:
        (tmp_path / path.name).write_bytes(path.read_bytes())
        path.unlink()
    sync(read_state(table))
    before, sent = read_lines(table), len(server.sent)
    for path in newer:
        path.write_bytes((tmp_path / path.name).read_bytes())
    assert describe(sync(read_state(table))) == ["write the manifest of 2 files"]
    after = read_lines(table)
    assert [line.partition("/")[0] for line in after] == ["day=2026-01-01", "day=2026-01-02"]
    assert (after[0] != before[0], after[1] == before[1], len(server.sent)) == (True, True, sent)


def test_a_table_that_has_no_row_left_has_an_empty_manifest(
    sync: Callable[..., TablePlan], table: Path
) -> None:
    state = read_state(table)
    sync(state)
    assert describe(sync(replace(state, files=(), partitions=()))) == ["write the manifest of 0 files"]
    assert read_lines(table) == []


def test_a_table_without_partitions_has_no_partitioning(
    sync: Callable[..., TablePlan], server: BigQueryServer, tmp_path: Path
) -> None:
    table = Path(shutil.copytree(FIXTURE_LAKE / "archived", tmp_path / "archived"))
    sync(read_state(table))
    assert len(read_lines(table)) == 7
    assert "hivePartitioningOptions" not in server.tables["shop", "archived"]["externalDataConfiguration"]
    assert sync(read_state(table)).is_empty


def test_columns_keep_the_names_that_the_files_have(sync: Callable[..., TablePlan], table: Path) -> None:
    state = read_state(table)
    columns = StructType([*state.columns, StructField("orderId", StringType())])
    sync(state)
    assert describe(sync(replace(state, columns=columns))) == ["add column orderId STRING"]
    assert sync(replace(state, columns=columns)).is_empty


def test_the_schema_of_a_table_over_a_connection_is_the_tables_alone(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path
) -> None:
    state = read_state(table)
    sync(state)
    external = server.tables["shop", "folder_days"]["externalDataConfiguration"]
    external["connectionId"] = "acme-analytics.eu.lake"
    columns = StructType([*state.columns, StructField("note", StringType())])
    sync(replace(state, columns=columns))
    assert server.tables["shop", "folder_days"]["externalDataConfiguration"] == external
    assert server.tables["shop", "folder_days"]["schema"]["fields"][-2]["name"] == "note"


def test_a_table_that_hudis_own_tool_has_made_is_taken_as_it_is(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path
) -> None:
    sync(read_state(table))
    external = server.tables["shop", "folder_days"]["externalDataConfiguration"]
    external["sourceUris"] = [f"{table}/.hoodie/absolute-path-manifest/*"]
    assert sync(read_state(table)).is_empty


@pytest.mark.parametrize(
    ("name", "changes", "said", "hint"),
    [
        ("orders_mor", {}, "only Parquet files of copy-on-write tables", "table_type: copy_on_write"),
        ("folder_days", {"base_file_format": "orc"}, "Parquet files", "base_file_format: parquet"),
        ("archived", {"files": None}, "its bootstrap source files", "--mode full-record"),
        ("orders_cow", {}, "its files contain the partition columns region", "drop_partition_columns: true"),
        (
            "folder_days",
            {"partitions": ("2026-01-01",)},
            "2026-01-01 lacks the column names (day)",
            "partition_style: hive",
        ),
        (
            "folder_days",
            {"partitions": ("day=2026/01",)},
            "day=2026/01 lacks the column names (day)",
            "partition_style",
        ),
    ],
)
def test_unsupported_tables_are_rejected_before_any_request(
    name: str, changes: dict[str, Any], said: str, hint: str, server: BigQueryServer
) -> None:
    server.failures = [503]
    state = replace(read_state(FIXTURE_LAKE / name), **changes)
    catalog = BigQueryCatalog(build_config(server))
    with pytest.raises(CatalogError) as caught:
        plan_table(catalog, state, EntryRules())
    catalog.close()
    assert said in caught.value.message
    assert hint in caught.value.hint
    assert server.failures == [503]


def test_a_table_of_bigquerys_own_is_in_the_way(
    sync: Callable[..., TablePlan], server: BigQueryServer, table: Path
) -> None:
    reference = {"projectId": "acme-analytics", "datasetId": "shop", "tableId": "folder_days"}
    server.tables["shop", "folder_days"] = {"type": "TABLE", "tableReference": reference, "etag": "1"}
    with pytest.raises(CatalogConflictError, match=r"acme-analytics\.shop\.folder_days exists as a table"):
        sync(read_state(table))


def test_a_dataset_is_made_where_it_is_wanted_or_asked_for(server: BigQueryServer, table: Path) -> None:
    catalog = BigQueryCatalog(build_config(server, create_database=False))
    plan = plan_table(catalog, read_state(table), EntryRules())
    with pytest.raises(CatalogError) as caught:
        apply_plan(catalog, plan.changes)
    catalog.close()
    assert "create_database: true" in caught.value.hint
    catalog = BigQueryCatalog(build_config(server, region="europe-west3"))
    apply_plan(catalog, plan.changes)
    catalog.close()
    assert server.datasets["shop"]["location"] == "europe-west3"


def test_one_503_is_asked_again(sync: Callable[..., TablePlan], server: BigQueryServer, table: Path) -> None:
    server.failures = [503]
    sync(read_state(table))
    assert ("shop", "folder_days") in server.tables


@pytest.mark.parametrize(
    ("failures", "kind", "hint"),
    [
        ([403], CredentialsError, "allow bigquery.datasets.get"),
        ([503] * 50, CatalogUnavailableError, "the next sync retries it"),
        ([400], CatalogError, "names the reason"),
    ],
)
def test_rejection_error_has_next_step(
    failures: list[int],
    kind: type[HeadwaterError],
    hint: str,
    sync: Callable[..., TablePlan],
    server: BigQueryServer,
    table: Path,
) -> None:
    server.failures = failures
    with pytest.raises(kind) as caught:
        sync(read_state(table))
    assert "read folder_days in acme-analytics.shop" in caught.value.message
    assert hint in caught.value.hint


def test_concurrent_external_change_is_not_overwritten(
    server: BigQueryServer, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = read_state(table)
    catalog = BigQueryCatalog(build_config(server))
    apply_plan(catalog, plan_table(catalog, state, EntryRules()).changes)
    columns = StructType([*state.columns, StructField("note", StringType())])
    plan = plan_table(catalog, replace(state, columns=columns), EntryRules())
    answer = server.answer

    def write_before(method: str, path: str, body: dict[str, Any], etag: str | None) -> dict[str, Any]:
        if method == "PATCH":
            server.tables["shop", "folder_days"]["etag"] = "7"
        return answer(method, path, body, etag)

    monkeypatch.setattr(server, "answer", write_before)
    with pytest.raises(CatalogUnavailableError, match="Precondition"):
        apply_plan(catalog, plan.changes)
    catalog.close()
    assert server.tables["shop", "folder_days"]["etag"] == "7"


def test_no_credentials_are_an_error_unless_the_address_is_another(server: BigQueryServer) -> None:
    with pytest.raises(CredentialsError) as caught:
        BigQueryCatalog(build_config(server, endpoint=None))
    assert "gcloud auth application-default login" in caught.value.hint


def test_a_package_that_is_missing_is_named(server: BigQueryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headwater.lake.catalogs.bigquery.catalog")
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    with pytest.raises(MissingExtraError) as caught:
        build_catalog(build_config(server))
    assert caught.value.hint == "pip install 'headwater[bigquery]'"
