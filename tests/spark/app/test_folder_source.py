"""A folder as source, from files to rows: moved, swapped, rewritten, between runs and during one."""

import json
import os
import shutil
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.lake_identity import ensure_usable_lake
from headwater.app.objects.explain import Explain
from headwater.app.objects.verify import Verify
from headwater.app.reconcile import Reconcile, passes
from headwater.app.run import Run
from headwater.capture import events_table
from headwater.capture.reconcile import stored_groups
from headwater.config.settings import Settings
from headwater.config.source import ReconcileConfig
from headwater.errors import UsageError
from headwater.lake.layout import event_groups_path, table_path
from headwater.lake.table import Table
from headwater.sources.local.lister import LocalLister
from tests.fixtures.waiting import wait_until

OLD = 1_767_225_600_000_000_000
BAD_NAME = os.fsdecode(b"bad-\xff.json")


class Folder:
    """Files of equal size and time: only inode and content tell them apart."""

    def __init__(self, spark: SparkSession, path: Path, *names: str) -> None:
        self.root = path / "landing"
        self._spark = spark
        self.lake = str(path / "lake")
        table = {"path": "**/*.json", "schema": "id bigint, v string"}
        tables = {
            "mirrored": {**table, "mode": "mirror"},
            "added": {**table, "mode": "append"},
        }
        self.settings = Settings.model_validate(
            {
                "source": {"type": "local", "path": str(self.root), "settle_seconds": 0.1},
                "lake": self.lake,
                "tables": {name: tables[name] for name in names},
            }
        )
        self._numbers: dict[str, int] = {}

    def write(self, key: str, value: str) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        number = self._numbers.setdefault(key, 100 + len(self._numbers))
        path.write_text(json.dumps({"id": number, "v": value}))
        os.utime(path, ns=(OLD, OLD))

    def begin(self) -> None:
        for key in ("moved/deep/f.json", "one/f.json", "two/f.json", "r1/f.json", "r2/f.json"):
            self.write(key, f"{len(self._numbers):03}")
        for key in ("rewritten.json", "becomes.json", "Case.json", "plain.json", BAD_NAME):
            self.write(key, f"{len(self._numbers):03}")
        (self.root / "current").symlink_to("r1")

    def change(self) -> None:
        (self.root / "moved").rename(self.root.parent / "moved")
        self.swap("one", "two")
        self.relink("r2")
        self.write("rewritten.json", "new")
        (self.root / "becomes.json").unlink()
        self.write("becomes.json/inner.json", "new")
        (self.root / "Case.json").rename(self.root / "case.json")
        (self.root / "plain.json").chmod(0o640)
        os.link(self.root / "plain.json", self.root / "second.json")

    def change_back(self) -> None:
        (self.root.parent / "moved").rename(self.root / "moved")
        self.swap("one", "two")
        self.relink("r1")
        self.write("rewritten.json", "old")
        shutil.rmtree(self.root / "becomes.json")
        self.write("becomes.json", "old")
        (self.root / "case.json").rename(self.root / "Case.json")
        (self.root / "second.json").unlink()

    def swap(self, one: str, other: str) -> None:
        (self.root / one).rename(self.root / ".aside")
        (self.root / other).rename(self.root / one)
        (self.root / ".aside").rename(self.root / other)

    def relink(self, release: str) -> None:
        (self.root / ".new").symlink_to(release)
        (self.root / ".new").rename(self.root / "current")

    def change_source(self, **keys: object) -> None:
        source = self.settings.sources[0].model_copy(update=keys)
        self.settings = self.settings.model_copy(update={"source": source})

    def app(self) -> App:
        return App(self.settings, spark=self._spark)

    def run_once(self) -> None:
        report = Run(self.app()).once(threading.Event())
        assert not report.failures

    def show(self) -> list[tuple[str, str]]:
        """Key and value of each file."""
        found = [found.key for found in LocalLister(self.root).iter_objects()]
        return [(key, json.loads((self.root / key).read_text())["v"]) for key in found]

    def rows(self, table: str) -> list[tuple[str, str]]:
        frame = Table(self._spark, table_path(self.lake, table)).read()
        rows = frame.select("_headwater_object", "v").collect()
        return sorted((os.path.relpath(row[0], self.root), row[1]) for row in rows)


@pytest.mark.slow
def test_tables_follow_the_folder_between_runs(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "mirrored", "added")
    folder.begin()
    seen: Counter[tuple[str, str]] = Counter()
    before: dict[str, str] = {}
    for step in (lambda: None, folder.change, folder.change_back):
        step()
        folder.run_once()
        shown = dict(folder.show())
        seen.update(pair for pair in shown.items() if before.get(pair[0]) != pair[1])
        before = shown
        assert folder.rows("mirrored") == sorted(shown.items())
    # Each content that appeared under a key is added once; permissions and a hard link are no content.
    assert Counter(folder.rows("added")) == seen
    report = Verify(folder.app()).run()
    for table in report.tables.values():
        assert table.problems == []
        assert table.counts.reasons["bad_name: the name is not UTF-8"] == 1
    with pytest.raises(UsageError, match=r"bad-\\xff.json is not UTF-8"):
        Explain(folder.app()).explain(BAD_NAME)


@pytest.mark.slow
def test_tables_follow_the_folder_while_a_run_is_live(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "mirrored")
    folder.begin()
    stop = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            Run(folder.app()).until(stop)
        except BaseException as error:
            failures.append(error)

    def is_equal() -> bool:
        assert not failures
        try:
            return folder.rows("mirrored") == folder.show()
        except Exception:  # the table is not there yet
            return False

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for step in (lambda: None, folder.change, folder.change_back, folder.change):
            step()
            wait_until(is_equal, "the mirror equals the folder", 90)
    finally:
        stop.set()
        thread.join(60)
    assert not failures


@pytest.mark.slow
def test_a_source_that_moved_is_refused_then_followed(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "mirrored", "added")
    folder.begin()
    (folder.root / BAD_NAME).unlink()
    folder.run_once()
    before = folder.rows("mirrored"), folder.rows("added")
    old, new = folder.root, tmp_path / "moved here"
    # As `cp -a`: other inodes and change times, the same modification times.
    shutil.copytree(old, new, symlinks=True)
    shutil.rmtree(old)

    folder.change_source(path=new)
    with pytest.raises(UsageError, match="was filled from the folder"):
        ensure_usable_lake(folder.settings)
    with pytest.raises(UsageError, match="was filled from the folder"):
        Run(folder.app()).once(threading.Event())
    report = Verify(folder.app()).run()
    outside = report.tables["added"].outside
    assert (outside.objects, outside.rows) == (len(before[1]), len(before[1]))
    assert outside.example.startswith(f"{old}/")
    assert not report.is_complete

    folder.change_source(moved_from=old)
    ensure_usable_lake(folder.settings)
    folder.run_once()
    assert (folder.rows("mirrored"), folder.rows("added")) == before
    folder.root = new
    folder.write("plain.json", "new")
    folder.write("another.json", "add")
    (new / "Case.json").unlink()
    folder.run_once()
    folder.root = old  # by which the rows name their objects
    shown = {key: json.loads((new / key).read_text())["v"] for key, _ in folder.rows("mirrored")}
    assert folder.rows("mirrored") == sorted(shown.items())
    assert {"plain.json": "new", "another.json": "add"}.items() <= shown.items()
    assert "Case.json" not in shown
    assert len(folder.rows("added")) == len(before[1]) + 2
    report = Verify(folder.app(), deep=1).run()
    assert report.is_complete
    assert report.tables["mirrored"].counts.ingested == len(shown)
    assert Explain(folder.app()).explain(str(new / "plain.json")).status == "ingested"


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True])
def test_reconcile_finds_files_the_watcher_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    if is_large:
        # Each pass stores the groups of the events so far.
        monkeypatch.setattr(stored_groups, "LEAST_EVENTS", 1)
        monkeypatch.setattr(passes, "LEAST_EVENTS", 1)
        monkeypatch.setattr(events_table, "_SETTLE", timedelta(minutes=-1))
    folder = Folder(spark, tmp_path, "mirrored")
    folder.begin()
    (folder.root / BAD_NAME).unlink()
    folder.run_once()

    folder.settings = folder.settings.model_copy(update={"reconcile": ReconcileConfig(settle_seconds=0)})

    def build() -> Reconcile:
        return Reconcile(folder.app(), folder.settings.sources[0])

    def reconcile() -> tuple[int, int, int]:
        done = build().run_pass(threading.Event()).done
        return done.missing, done.changed, done.vanished

    groups = Path(event_groups_path(folder.lake))
    build().run_pass(threading.Event(), dry_run=True)
    assert not groups.exists()
    assert reconcile() == (0, 0, 0)
    assert groups.exists() == is_large
    (folder.root / "plain.json").unlink()
    folder.write("later.json", "new")
    (folder.root / "rewritten.json").write_text('{"id": 1, "v": "longer"}')
    assert reconcile() == (1, 1, 1)
    assert reconcile() == (0, 0, 0)
    folder.run_once()
    assert folder.rows("mirrored") == folder.show()
    (folder.root / "later.json").unlink()
    folder.run_once()
    assert folder.rows("mirrored") == folder.show()
    assert Verify(folder.app()).run().is_complete
