"""Tables built from Delta and Iceberg tables of another program."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.lineage.graph import build_lineage
from headwater.app.objects.verify import Verify
from headwater.app.status import StatusReader
from headwater.errors import LakeError, TransformError
from tests.fixtures.medallion.medallion_lake import MedallionLake
from tests.fixtures.medallion.other_tables import OtherDelta, OtherIceberg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FIRST = [(1, "a", 1), (2, "a", 2), (3, "b", 3)]
BUILT: dict[str, Any] = {"delta": OtherDelta, "iceberg": OtherIceberg}
GROUPED = {
    "refresh": "changed_keys",
    "record_key": "shop",
    "transform": [{"sql": "select shop, count(*) as orders, sum(at) as total from input group by shop"}],
}


def build_lake(spark: SparkSession, folder: Path, source: dict[str, str]) -> MedallionLake:
    # Groups need no key.
    without_key = {name: value for name, value in source.items() if name != "key"}
    return MedallionLake(
        spark,
        folder,
        copied={"from": source, "transform": [{"sql": "select *, at * 2 as twice from input where at < 9"}]},
        shops={"from": without_key, **GROUPED},
    )


def read_lag(lake: MedallionLake, name: str = "copied") -> tuple[str | None, int, float]:
    found = StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read().tables[name]
    return found.follows, found.lag_commits, found.lag_seconds


def check_shops(lake: MedallionLake, other: Any) -> None:
    shops: dict[str, list[int]] = {}
    for _, shop, at in other.rows.values():
        shops.setdefault(shop, []).append(at)
    expected = [(shop, len(found), sum(found)) for shop, found in sorted(shops.items())]
    assert lake.rows("shops", "shop", "orders", "total") == expected


@pytest.mark.parametrize("kind", BUILT)
def test_rows_and_groups_follow_with_their_lag(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    other: Any = BUILT[kind](spark, tmp_path / "other")
    other.upsert(FIRST)
    lake = build_lake(spark, tmp_path, other.source)
    assert read_lag(lake)[:2] == (other.path, 1)
    lake.flow()
    assert lake.rows("copied", "id", "shop", "twice") == [(1, "a", 2), (2, "a", 4), (3, "b", 6)]
    check_shops(lake, other)
    other.upsert([(2, "c", 5), (4, "c", 4)])
    other.delete(3)
    found = Verify(App(lake.settings, spark=spark)).run().derived["copied"]
    assert (found.behind, found.waits_for) == (2, ())
    follows, behind, seconds = read_lag(lake)
    assert (follows, behind) == (other.path, 2)
    assert 0 < seconds < 300
    done = lake.flow()["copied"]
    assert done is not None
    assert (done.rows, done.deleted) == (2, 1)
    assert lake.rows("copied", "id", "shop", "twice") == [(1, "a", 2), (2, "c", 10), (4, "c", 8)]
    check_shops(lake, other)
    assert read_lag(lake) == (other.path, 0, 0.0)
    edges = {(edge.source, edge.target) for edge in build_lineage(lake.settings).edges}
    assert {(other.path, "copied"), (other.path, "shops")} <= edges


@pytest.mark.parametrize("kind", BUILT)
def test_what_is_compared_as_a_whole_says_why(
    spark: SparkSession, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    other: Any = BUILT[kind](spark, tmp_path / "other")
    other.upsert(FIRST)
    lake = build_lake(spark, tmp_path, other.source)
    lake.flow()
    other.upsert([(2, "c", 5)])
    other.lose_history()
    with caplog.at_level("INFO"):
        lake.flow()
    assert "reading all of" in caplog.text
    check_shops(lake, other)
    other.add_column((5, "a", 3))
    other.delete(1)
    with caplog.at_level("INFO"):
        lake.flow()
    assert "its columns have changed" in caplog.text
    assert lake.rows("copied", "id", "note") == [(2, None), (3, None), (5, "new")]
    other.recreate([(1, "b", 1)])
    with caplog.at_level("INFO"):
        lake.flow()
    assert "another table exists at its address now" in caplog.text
    assert lake.rows("copied", "id", "shop") == [(1, "b")]
    check_shops(lake, other)


def test_a_join_may_mix_formats(spark: SparkSession, tmp_path: Path) -> None:
    orders, returns = OtherDelta(spark, tmp_path / "orders"), OtherIceberg(spark, tmp_path / "returns")
    joined = {
        "from": [{"delta": orders.path, "as": "orders"}, {"iceberg": returns.path, "as": "returns"}],
        "refresh": "changed_keys",
        "record_key": "id",
        "transform": [
            {"sql": "select o.id, o.at, r.at as back from orders o left join returns r on r.id = o.id"}
        ],
    }
    lake = MedallionLake(spark, tmp_path, joined=joined)
    orders.upsert(FIRST)
    returns.upsert([(3, "b", 8)])
    lake.flow()
    assert lake.rows("joined", "id", "at", "back") == [(1, 1, None), (2, 2, None), (3, 3, 8)]
    returns.upsert([(1, "a", 7)])
    returns.delete(3)
    orders.upsert([(2, "a", 6)])
    lake.flow()
    assert lake.rows("joined", "id", "at", "back") == [(1, 1, 7), (2, 6, None), (3, 3, None)]


@pytest.mark.parametrize("kind", BUILT)
def test_values_of_all_types_are_compared(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Maps, which Spark cannot compare, and nulls, in a file that is rewritten."""
    frame = spark.sql(
        "select id, map('a', id) as counts, array(struct(id as x)) as parts, cast(null as string) as empty, "
        "cast(id as decimal(20, 4)) as price, timestamp_seconds(id) as moment from range(4)"
    ).coalesce(1)
    path = str(tmp_path / "other")
    if kind == "delta":
        frame.write.format("delta").save(path)
    else:
        other = OtherIceberg(spark, tmp_path / "other")
        frame.writeTo(other.name).using("iceberg").create()
    lake = MedallionLake(spark, tmp_path, copied={"from": {kind: path, "key": ["id", "price"]}})
    lake.flow()
    if kind == "delta":
        OtherDelta(spark, tmp_path / "other").java.delete("id = 2")
    else:
        spark.sql(f"delete from {other.name} where id = 2")
    done = lake.flow()["copied"]
    assert done is not None
    assert (done.rows, done.deleted) == (0, 1)
    assert lake.rows("copied", "id") == [(0,), (1,), (3,)]


def test_a_feature_that_cannot_be_read_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    other = OtherDelta(spark, tmp_path / "other")
    other.upsert(FIRST)
    lake = build_lake(spark, tmp_path, other.source)
    lake.flow()
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["later"]}
    action = {"protocol": {**protocol, "writerFeatures": ["later"]}}
    (Path(other.path) / f"_delta_log/{1:020}.json").write_text(json.dumps(action))
    with pytest.raises(LakeError, match=r"has features that Delta 3.* cannot read: .*later"):
        lake.follow("copied")


def test_faults_of_a_source_leave_the_table_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    other = OtherDelta(spark, tmp_path / "other")
    other.upsert(FIRST)
    lake = build_lake(spark, tmp_path, other.source)
    lake.flow()
    other.append(other.frame([(8, "a", 1), (8, "b", 1)]))
    with pytest.raises(TransformError, match="2 rows have id = 8"):
        lake.follow("copied")
    assert lake.rows("copied", "id") == [(1,), (2,), (3,)]
    other.java.delete("id = 8")
    (log,) = (Path(other.path) / "_delta_log").glob("*1.json")
    log.write_text("{")
    with pytest.raises(LakeError):
        lake.follow("copied")
