"""`explain` tells every event and decision of one object, and why nothing is known of another."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.explain import Explain, Explanation
from headwater.errors import UsageError
from tests.fixtures.folder_lake import FolderLake


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(
        spark,
        tmp_path,
        things={"path": "things/*.json", "mode": "mirror"},
        more={"path": "**/*.json", "ignore_prefix": "private/", "record_key": "id"},
    )


def explain(lake: FolderLake, spark: SparkSession, uri: str) -> Explanation:
    return Explain(App(lake.settings, spark=spark)).explain(uri)


def test_events_of_an_object_are_in_order(lake: FolderLake, spark: SparkSession) -> None:
    key = "things/a.json"
    lake.put(key, '{"id": 1}\n{"id": 2}\n')
    lake.ingest("things")
    lake.ingest("more")
    lake.put(key, '{"id": 3}\n')
    lake.announce(key, kind="removed")
    lake.ingest("things")
    found = explain(lake, spark, str(lake.source / key))
    assert [row["event_name"] for row in found.events] == [
        "ObjectCreated:Put",
        "ObjectCreated:Put",
        "ObjectRemoved:Delete",
    ]
    things = [(made.outcome, made.reason, made.rows) for made in found.decisions if made.table == "things"]
    assert sorted(things[1:]) == [("removed", "", 0), ("superseded", "superseded", 0)]
    assert things[0] == ("ingested", "", 2)
    assert {made.commit for made in found.decisions[2:]} == {found.decisions[-1].commit}
    assert found.tables["things"].rows == {}
    more = found.tables["more"]
    assert more.rows is not None
    assert (more.pending, sum(more.rows.values())) == (2, 2)
    assert found.status == "pending"
    lake.ingest("more")
    found = explain(lake, spark, key)
    # The other table ignores removals, and still has the rows.
    assert found.status == "ingested"
    states = {name: view.state.status for name, view in found.tables.items() if view.state}
    assert states == {"things": "removed", "more": "ingested"}


@pytest.mark.slow
def test_object_in_quarantine_is_reported_with_its_reason(lake: FolderLake, spark: SparkSession) -> None:
    lake.put_many([("things/bad.json", "{no\n"), ("things/good.json", '{"id": 1}\n')])
    for name in ("things", "more"):
        lake.ingest(name)
    found = explain(lake, spark, "things/bad.json")
    assert found.status == "quarantined"
    assert {row["reason"] for row in found.quarantine} == {"unparsable"}


@pytest.mark.parametrize(
    ("key", "status", "reason"),
    [
        ("things/never.json", "unknown", "no event names it"),
        ("private/x.json", "filtered", "things: path, more: ignore_prefix"),
    ],
)
def test_why_nothing_is_known(
    lake: FolderLake, spark: SparkSession, key: str, status: str, reason: str
) -> None:
    found = explain(lake, spark, key)
    assert found.status == status
    assert reason in found.reason


def test_address_outside_the_source_is_rejected(lake: FolderLake, spark: SparkSession) -> None:
    with pytest.raises(UsageError, match="not in the source folder"):
        explain(lake, spark, "/elsewhere/a.json")
