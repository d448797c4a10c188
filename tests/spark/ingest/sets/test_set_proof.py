"""What `verify`, `explain` and `status` say of sets of files."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.application import read_clock
from headwater.app.objects.explain import Explain
from headwater.app.objects.verify import TableReport, Verify
from headwater.app.status import SetStatus, StatusReader
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.options import DELETED
from tests.fixtures.dump_lake import build_dump_lake, list_files, put_dump
from tests.fixtures.folder_lake import FolderLake

FIRST = {1: "one", 2: "two", 3: "three", 4: "four"}
SECOND = {1: "one", 2: "TWO", 4: "four", 5: "five"}


pytestmark = pytest.mark.slow


@pytest.fixture(params=[None, pytest.param("scd2", marks=pytest.mark.long)])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    """Two dumps in the table, and a third one without its marker."""
    lake = build_dump_lake(spark, tmp_path, history=request.param)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    put_dump(lake, "2026-11-02", SECOND)
    lake.put_many(list_files("2026-11-03", FIRST))
    lake.ingest("rows")
    return lake


def verify(lake: FolderLake, deep: int = 0) -> TableReport:
    return Verify(lake.app, deep=deep).run().tables["rows"]


def test_files_wait_for_their_set_and_older_sets_are_not_needed(lake: FolderLake) -> None:
    found = verify(lake)
    assert found.is_complete
    assert (found.counts.ingested, found.counts.pending, found.counts.skipped) == (2, 2, 4)
    assert found.counts.reasons == {"set_superseded": 2, "set_end": 2}


def test_a_file_without_an_event_is_missing(lake: FolderLake) -> None:
    lake.write("dumps/day=2026-11-02/9.json", '{"id": 9, "name": "nine"}\n')
    found = verify(lake)
    assert not found.is_complete
    assert [problem.detail for problem in found.problems] == ["no event reports it"]


def test_a_whole_set_is_compared_row_by_row(lake: FolderLake) -> None:
    found = verify(lake, deep=1)
    assert found.is_complete
    assert found.deep is not None
    assert (found.deep.objects, found.deep.rows, found.deep.differing) == (2, 4, 0)
    damage(lake)
    found = verify(lake, deep=1)
    assert not found.is_complete
    details = {problem.key.rsplit("/", 1)[-1]: problem.detail for problem in found.problems}
    assert details == {
        "0.json": "re-read: 1 rows of the table are not in the object",
        "1.json": "re-read: 1 of its 2 rows are missing from the table",
    }
    Verify(lake.app, deep=1).repair()
    assert verify(lake, deep=1).is_complete


def damage(lake: FolderLake) -> None:
    """Replace row 2 by row 7, as another writer could."""
    writer = TableWriter("rows", lake.settings.tables["rows"], lake.table("rows"))
    stored = lake.table("rows").read().where("id = 2")
    if "is_current" in stored.columns:
        stored = stored.where("is_current")
    found = stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_")))
    other = found.withColumn("id", F.lit(7).cast("bigint")).withColumn(DELETED, F.lit(None).cast("boolean"))
    writer.write_frame(
        found.withColumn(DELETED, F.lit(True)).unionByName(other), lake.state("rows").to_metadata()
    )


def test_explain_names_what_a_set_lacks(lake: FolderLake) -> None:
    def explain(key: str) -> tuple[str, str]:
        found = Explain(App(lake.settings, spark=lake.app.spark)).explain(key)
        return found.status, found.reason

    assert explain("dumps/day=2026-11-03/0.json") == (
        "pending",
        "rows: its set is not complete: no file '_SUCCESS'",
    )
    assert explain("dumps/day=2026-11-01/0.json") == ("skipped", "rows: set_superseded")
    assert explain("dumps/day=2026-11-02/_SUCCESS") == ("skipped", "rows: set_end")
    assert explain("dumps/day=2026-11-02/0.json")[0] == "ingested"


def test_status_shows_sets(lake: FolderLake) -> None:
    found = StatusReader(lake.settings, {}, read_clock()).read().tables["rows"]
    assert found.sets == SetStatus("dumps/day=2026-11-02", {"dumps/day=2026-11-03": "no file '_SUCCESS'"})
    assert found.lag_events == 0
