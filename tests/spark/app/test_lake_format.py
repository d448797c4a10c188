"""Each commit of the events table carries the lake's format, and a run refuses one that it does not know."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.lake_identity import (
    FORMAT_KEY,
    SOURCE_KEY,
    check_usable_lake,
    ensure_usable_lake,
    name_sources,
)
from headwater.capture.events_table import EventsTable
from headwater.errors import UsageError
from tests.fixtures.folder_lake import FolderLake


def test_an_older_release_does_not_touch_a_lake_of_a_newer_one(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, t={"path": "*.json"})
    lake.put("a.json", '{"id": 1}')
    found = lake.app.events.find_metadata(FORMAT_KEY)
    assert found is not None
    assert found[FORMAT_KEY] == "1"
    ensure_usable_lake(lake.settings)
    check_usable_lake(lake.settings, lake.app.events)

    newer = {SOURCE_KEY: name_sources(lake.settings), FORMAT_KEY: "2"}
    lake.write("b.json", '{"id": 2}')
    EventsTable(spark, lake.app.events.path, newer).append([lake.capture("b.json")])
    for check in (
        lambda: ensure_usable_lake(lake.settings),
        lambda: check_usable_lake(lake.settings, EventsTable(spark, lake.app.events.path)),
    ):
        with pytest.raises(UsageError, match="has format 2, written by a newer headwater"):
            check()


def test_a_lake_whose_first_capture_was_killed_before_any_event_takes_any_source(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = FolderLake(spark, tmp_path, t={"path": "*.json"})
    # Like the commit that begins a timeline with several writers: without events and without a source.
    EventsTable(spark, lake.app.events.path).create()
    ensure_usable_lake(lake.settings)
    check_usable_lake(lake.settings, lake.app.events)
