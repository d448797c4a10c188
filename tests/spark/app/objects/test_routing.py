"""Which objects no table or several take; changed rules load and retract the difference; replay."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.routing import Routing
from headwater.app.objects.verify import Verify
from headwater.config.settings import Settings
from headwater.errors import UsageError
from tests.fixtures.folder_lake import FolderLake

MODES: dict[str, dict[str, Any]] = {
    "mirror": {"mode": "mirror"},
    "append": {"mode": "append"},
    "merge": {"record_key": "id"},
}
FILES = [(f"{folder}/{n}.json", f'{{"id": "{folder}{n}"}}\n') for folder in ("a", "b") for n in range(2)]


@pytest.fixture(params=["mirror", *(pytest.param(m, marks=pytest.mark.long) for m in ("append", "merge"))])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(spark, tmp_path, things={"path": "a/*.json", **MODES[request.param]})


def with_path(lake: FolderLake, spark: SparkSession, path: str) -> Routing:
    """The same lake after somebody has edited the table's path."""
    data = lake.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["tables"]["things"]["path"] = path
    lake.settings = Settings.model_validate(data)
    return Routing(App(lake.settings, spark=spark))


def ids(lake: FolderLake) -> set[str]:
    return {row[0] for row in lake.rows("things", "id")}


def test_unclaimed_and_shared_objects_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, all={"path": "**/*.json"}, some={"path": "a/*.json"})
    lake.put_many([*FILES, ("c/x.csv", "1")])
    report = Routing(App(lake.settings, spark=spark)).read()
    assert (report.keys, report.unclaimed, report.unclaimed_examples) == (5, 1, ["c/x.csv"])
    assert report.shared == {"all + some": 2}
    assert {name: table.claimed for name, table in report.tables.items()} == {"all": 4, "some": 2}


@pytest.mark.slow
def test_changed_path_loads_and_retracts_the_difference(lake: FolderLake, spark: SparkSession) -> None:
    lake.put_many(FILES)
    lake.ingest("things")
    assert ids(lake) == {"a0", "a1"}
    changed = with_path(lake, spark, "*/1.json")
    table = changed.read().tables["things"]
    assert (table.rules_changed, table.to_load, table.to_retract) == (True, 1, 1)
    assert (table.load_examples, table.retract_examples) == (["b/1.json"], ["a/0.json"])
    assert ids(lake) == {"a0", "a1"}
    changed.apply()
    assert ids(lake) == {"a1", "b1"}
    again = Routing(App(lake.settings, spark=spark)).read().tables["things"]
    assert (again.rules_changed, again.to_load, again.to_retract) == (False, 0, 0)


@pytest.mark.slow
def test_rules_that_would_empty_a_table_need_a_yes(lake: FolderLake, spark: SparkSession) -> None:
    lake.put_many(FILES)
    lake.ingest("things")
    changed = with_path(lake, spark, "nothing/*.json")
    with pytest.raises(UsageError, match="would retract all of its 2 objects"):
        changed.apply()
    assert ids(lake) == {"a0", "a1"}
    changed.apply(yes=True)
    assert ids(lake) == set()


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["merge"], indirect=True)
def test_replay_re_ingests_objects_with_events_since_then(lake: FolderLake, spark: SparkSession) -> None:
    lake.put_many(FILES)
    lake.ingest("things")
    lake.write("a/0.json", '{"id": "edited behind our back"}\n')
    found = Routing(App(lake.settings, spark=spark))
    hour = timedelta(hours=1)
    assert found.replay("things", datetime.now(timezone.utc) + hour, dry_run=True) == 0
    assert found.replay("things", datetime.now(timezone.utc) - hour, dry_run=True) == 2
    assert "edited behind our back" not in ids(lake)
    assert found.replay("things", datetime.now(timezone.utc) - hour) == 2
    assert "edited behind our back" in ids(lake)


@pytest.mark.slow
def test_new_table_may_begin_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, old={"path": "**/*.json"})
    lake.put_many(FILES[:2])
    start = (datetime.now(timezone.utc) + timedelta(seconds=2)).replace(microsecond=0)
    while datetime.now(timezone.utc) < start + timedelta(seconds=1):
        pass
    lake.put_many(FILES[2:])
    data = lake.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["tables"]["new"] = {"path": "**/*.json", "start_from": start.isoformat()}
    lake.settings = Settings.model_validate(data)
    verify = Verify(App(lake.settings, spark=spark))
    counts = verify.run(["new"]).tables["new"].counts
    assert (counts.skipped, counts.pending, counts.missing) == (2, len(FILES) - 2, 0)
    lake.ingest("new")
    assert {row[0] for row in lake.rows("new", "id")} == {"b0", "b1"}
    # What the table is not to have is neither missing nor ingested by a repair.
    counts = verify.run(["new"]).tables["new"].counts
    assert (counts.skipped, counts.ingested, counts.is_complete) == (2, len(FILES) - 2, True)
    assert verify.repair(["new"]) == 0
