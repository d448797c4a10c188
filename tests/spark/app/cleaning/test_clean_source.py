"""Objects that are in all of their tables leave the folder; the tables stay, and verify agrees."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.cleaning import CleanReport, CleanSource
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.verify import Verify, VerifyReport
from headwater.capture.control_events import CLEANED_EVENT
from headwater.config.settings import Settings
from headwater.errors import SourceUnavailableError
from headwater.sources.cleaner import CleanResult, SourceCleaner
from headwater.sources.lister import ListedObject
from headwater.sources.registry import build_cleaner
from tests.fixtures.folder_lake import FolderLake

TABLES: dict[str, dict[str, Any]] = {
    "mirrored": {"path": "**/*.json", "mode": "mirror"},
    "appended": {"path": "in/*.json", "mode": "append"},
}
FIRST = ("in/a.json", "in/b.json", "other/c.json")


def lines(*values: object) -> str:
    return "".join(json.dumps({"id": value}) + "\n" for value in values)


def in_two_hours() -> datetime:
    return datetime.now(timezone.utc) + timedelta(hours=2)


class CleanLake:
    """A folder that is cleaned after an hour, and two tables that take the same files."""

    def __init__(self, spark: SparkSession, folder: Path, **source: object) -> None:
        self.lake = FolderLake(spark, folder, **TABLES)
        self._spark = spark
        plain = self.lake.settings.model_dump(by_alias=True, exclude_unset=True)
        plain["source"] |= {"clean_source": "delete", "clean_source_delay": 3600, **source}
        self.lake.settings = Settings.model_validate(plain)

    def ingest(self) -> None:
        for name in TABLES:
            self.lake.ingest(name)

    def clean(
        self,
        *,
        dry_run: bool = False,
        now: Callable[[], datetime] = in_two_hours,
        wrap: Callable[[SourceCleaner], SourceCleaner] = lambda cleaner: cleaner,
    ) -> CleanReport:
        app = App(self.lake.settings, spark=self._spark)
        clean = CleanSource(
            app,
            app.settings.sources[0],
            now=now,
            build=lambda: wrap(build_cleaner(self.lake.settings.sources[0])),
        )
        return clean.run_pass(threading.Event(), dry_run=dry_run)

    def verify(self) -> VerifyReport:
        return Verify(App(self.lake.settings, spark=self._spark)).run()

    def repair(self) -> int:
        return Verify(App(self.lake.settings, spark=self._spark)).repair()

    def ids(self, name: str) -> list[Any]:
        return [row[0] for row in self.lake.rows(name, "id")]

    def files(self) -> set[str]:
        source = self.lake.source
        return {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}

    def marks(self) -> Counter[str]:
        rows = self.lake.app.events.read_snapshot()
        assert rows is not None
        return Counter(row["key"] for row in rows.where(f"event_name = '{CLEANED_EVENT}'").collect())

    def states(self) -> dict[tuple[str, str], tuple[str, str]]:
        return {row[:2]: row[2:] for row in self.lake.ledger("table", "key", "status", "reason")}


@pytest.fixture
def cleaned(spark: SparkSession, tmp_path: Path) -> CleanLake:
    """Three files, in their tables and not in the folder any more; nobody has heard of the removals."""
    found = CleanLake(spark, tmp_path)
    found.lake.put_many([(key, lines(at, at + 10)) for at, key in enumerate(FIRST)])
    found.ingest()
    report = found.clean()
    assert (report.objects, report.results) == ({"due": 3}, {"cleaned": 3})
    assert report.finished_at is not None
    assert found.files() == set()
    return found


def test_rows_stay_whatever_is_heard_of_the_removal(cleaned: CleanLake) -> None:
    # Of a table that ignores removals, nothing waits for an object that is gone.
    assert {report.counts.pending for report in cleaned.verify().tables.values()} == {0, 3}
    cleaned.lake.announce(*FIRST, kind="removed")
    cleaned.ingest()
    assert cleaned.ids("mirrored") == [0, 1, 2, 10, 11, 12]
    assert cleaned.ids("appended") == [0, 1, 10, 11]
    assert set(cleaned.states().values()) == {("ingested", "cleaned")}
    report = cleaned.verify()
    assert report.is_complete
    assert report.tables["mirrored"].counts.reasons == {"cleaned": 3}
    assert (report.tables["mirrored"].counts.ingested, report.tables["appended"].counts.ingested) == (3, 2)
    assert cleaned.marks() == Counter(FIRST)


@pytest.mark.slow
def test_rows_stay_when_all_cleaned_objects_are_requested(cleaned: CleanLake) -> None:
    cleaned.lake.announce(*FIRST, kind="removed")
    cleaned.ingest()
    app = App(cleaned.lake.settings, spark=cleaned.lake.app.spark)
    redrive = Redrive(app)
    redrive.append(redrive.ask_again(str(cleaned.lake.source), key, in_two_hours()) for key in FIRST)
    cleaned.ingest()
    assert cleaned.ids("mirrored") == [0, 1, 2, 10, 11, 12]
    assert cleaned.verify().is_complete


@pytest.mark.long
def test_a_new_file_of_the_same_name_is_a_new_object(cleaned: CleanLake) -> None:
    cleaned.lake.announce(*FIRST, kind="removed")
    cleaned.lake.put("in/a.json", lines(7))
    cleaned.ingest()
    assert cleaned.ids("mirrored") == [1, 2, 7, 11, 12]
    assert cleaned.ids("appended") == [0, 1, 7, 10, 11]
    assert cleaned.states()["mirrored", "in/a.json"] == ("ingested", "")
    assert cleaned.clean().results == {"cleaned": 1}
    cleaned.lake.put("in/a.json", lines(8))
    cleaned.ingest()
    (cleaned.lake.source / "in/a.json").unlink()
    cleaned.lake.announce("in/a.json", kind="removed")
    cleaned.ingest()
    assert cleaned.ids("mirrored") == [1, 2, 11, 12]
    assert cleaned.ids("appended") == [0, 1, 7, 8, 10, 11]
    assert cleaned.verify().is_complete


class BreakingCleaner:
    """Cleans one object, then the source is gone."""

    def __init__(self, inner: SourceCleaner) -> None:
        self._inner = inner
        self._left = 1

    def clean(self, listed: ListedObject) -> CleanResult:
        if not self._left:
            raise SourceUnavailableError("the source does not answer")
        self._left -= 1
        return self._inner.clean(listed)

    def close(self) -> None:
        self._inner.close()


@pytest.mark.long
def test_interrupted_pass_is_completed_by_the_next(spark: SparkSession, tmp_path: Path) -> None:
    found = CleanLake(spark, tmp_path, clean_source="move", clean_source_move_to=str(tmp_path / "archive"))
    found.lake.put_many([(key, lines(at)) for at, key in enumerate(FIRST)])
    found.ingest()
    dry = found.clean(dry_run=True)
    assert (dry.objects, dry.results) == ({"due": 3}, {})
    assert found.files() == set(FIRST)
    assert found.clean(now=lambda: datetime.now(timezone.utc)).objects == {"too_young": 3}
    with pytest.raises(SourceUnavailableError):
        found.clean(wrap=BreakingCleaner)
    assert found.files() == {"in/b.json", "other/c.json"}
    assert found.marks() == Counter(FIRST)
    assert found.clean().objects == {"pending": 2}
    found.ingest()
    assert found.verify().is_complete
    assert found.clean().results == {"cleaned": 2}
    assert found.marks() == Counter(FIRST)
    assert found.files() == set()
    assert {path.name for path in (tmp_path / "archive").rglob("*.json")} == {"a.json", "b.json", "c.json"}


@pytest.mark.long
def test_objects_missing_in_a_table_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    found = CleanLake(spark, tmp_path)
    found.lake.put_many(
        [
            ("in/good.json", lines(1)),
            ("in/bad.json", "{no\n"),
            ("in/half.json", lines(2) + "{no\n"),
            ("in/empty.json", ""),
            ("x.csv", "1"),
            ("other/ahead.json", lines(3)),
        ]
    )
    found.ingest()
    found.lake.put("in/later.json", lines(4))
    found.lake.write("unheard.json", lines(5))
    found.lake.ingest("mirrored")
    found.lake.write("other/ahead.json", lines(3, 3))
    report = found.clean()
    assert report.objects == {
        "due": 2,
        "quarantined": 1,
        "bad_records": 1,
        "unclaimed": 1,
        "other_version": 1,
        "pending": 1,
        "not_ingested": 1,
    }
    assert report.results == {"cleaned": 2}
    gone = {"in/good.json", "in/empty.json"}
    assert found.files() == {
        "in/bad.json",
        "in/half.json",
        "x.csv",
        "other/ahead.json",
        "in/later.json",
        "unheard.json",
    }
    assert set(found.marks()) == gone
