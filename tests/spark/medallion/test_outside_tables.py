"""Tables built from Hudi tables that another program writes."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.lineage.graph import build_lineage
from headwater.app.status import StatusReader
from headwater.config.settings import Settings
from headwater.errors import LakeError
from tests.fixtures.medallion.medallion_lake import MedallionLake
from tests.fixtures.medallion.other_pipeline import OtherPipeline


def build_lake(spark: SparkSession, folder: Path, other: str) -> MedallionLake:
    return MedallionLake(
        spark,
        folder,
        copied={"from": {"hudi": other}, "transform": [{"sql": "select *, at * 2 as twice from input"}]},
        shops={
            "from": {"hudi": other},
            "refresh": "changed_keys",
            "record_key": "shop",
            "transform": [{"sql": "select shop, count(*) as orders from input group by shop"}],
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"hoodie.datasource.write.table.type": "MERGE_ON_READ"}, marks=pytest.mark.slow),
        pytest.param({"hoodie.write.table.version": "6"}, marks=pytest.mark.slow),
        pytest.param({"hoodie.datasource.write.partitionpath.field": "shop"}, marks=pytest.mark.slow),
    ],
    ids=["copy_on_write", "merge_on_read", "version_6", "partitioned"],
)
def test_rows_groups_and_deletes_of_another_table_are_followed(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    other = OtherPipeline(spark, tmp_path / "other", **options)
    other.write([(1, "a", 1), (2, "a", 2), (3, "b", 3)])
    lake = build_lake(spark, tmp_path, other.path)
    lake.flow()
    assert lake.rows("copied", "id", "shop", "twice") == [(1, "a", 2), (2, "a", 4), (3, "b", 6)]
    assert lake.rows("shops", "shop", "orders") == [("a", 2), ("b", 1)]
    other.write([(2, "a", 5), (4, "c", 4)])
    other.write([(3, "b", 9)], "delete")
    done = lake.flow()
    assert lake.rows("copied", "id", "shop", "twice") == [(1, "a", 2), (2, "a", 10), (4, "c", 8)]
    assert lake.rows("shops", "shop", "orders") == [("a", 2), ("c", 1)]
    assert done["copied"] is not None
    assert (done["copied"].rows, done["copied"].deleted) == (2, 1)
    assert lake.flow() == {"copied": None, "shops": None}
    other.write([(7, "z", 1)], "insert_overwrite_table")
    lake.flow()
    assert lake.rows("copied", "id") == [(7,)]


@pytest.mark.slow
def test_status_and_lineage_name_the_other_table(spark: SparkSession, tmp_path: Path) -> None:
    other = OtherPipeline(spark, tmp_path / "other")
    other.write([(1, "a", 1)])
    lake = build_lake(spark, tmp_path, other.path)
    lake.flow()
    other.write([(2, "b", 1)])
    found = StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read().tables["copied"]
    assert (found.follows, found.lag_commits) == (other.path, 1)
    edges = build_lineage(lake.settings).edges
    assert (other.path, "copied") in {(edge.source, edge.target) for edge in edges}


def test_an_address_without_a_table_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_lake(spark, tmp_path, str(tmp_path / "nowhere"))
    with pytest.raises(LakeError, match=r"there is no Hudi table at .*nowhere"):
        lake.follow("copied")


def test_the_address_may_be_relative_to_the_configuration(tmp_path: Path) -> None:
    def build(address: str) -> str:
        given: dict[str, Any] = {
            "source": {"type": "local", "path": str(tmp_path / "in")},
            "lake": str(tmp_path / "lake"),
            "tables": {"copied": {"from": {"hudi": address}}},
        }
        return Settings.model_validate(given, context={"folder": tmp_path}).tables["copied"].sources[0]

    assert build("other/orders/") == str(tmp_path / "other/orders")
    assert build("s3://warehouse/orders") == "s3a://warehouse/orders"
    assert build("s3a://warehouse/orders/") == "s3a://warehouse/orders"
