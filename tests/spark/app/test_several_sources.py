"""Several folders as sources of one lake: the same key in two of them is two objects."""

import json
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.lake_identity import check_usable_lake, ensure_usable_lake
from headwater.app.objects.explain import Explain
from headwater.app.objects.routing import Routing
from headwater.app.objects.verify import Verify
from headwater.app.run import Run
from headwater.app.status import StatusReader
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.layout import table_path
from headwater.lake.table import Table

TABLE = {"path": "**/*.json", "schema": "id bigint, v string"}
TABLES = {
    "mirrored": {**TABLE, "mode": "mirror"},
    "added": {**TABLE, "mode": "append"},
    "merged": {**TABLE, "record_key": "id"},
    "east_only": {**TABLE, "mode": "mirror", "source": "east"},
}


class Folders:
    """Two folders, a lake, and tables of both and of one of them."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark = spark
        self.path = path
        self.lake = str(path / "lake")
        for name in ("east", "west"):
            (path / name).mkdir()
        self.settings = self.configure(["east", "west"])

    def configure(self, names: list[str], **tables: object) -> Settings:
        sources = [
            {"name": name, "type": "local", "path": str(self.path / name), "settle_seconds": 0.1}
            for name in names
        ]
        return Settings.model_validate({"source": sources, "lake": self.lake, "tables": tables or TABLES})

    def write(self, source: str, key: str, *rows: tuple[int, str]) -> None:
        file = self.path / source / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(json.dumps({"id": number, "v": value}) for number, value in rows))

    def app(self, settings: Settings | None = None) -> App:
        return App(settings or self.settings, spark=self._spark)

    def run(self) -> None:
        report = Run(self.app()).once(threading.Event())
        assert not report.failures
        assert not report.component_failures

    def rows(self, table: str) -> list[tuple[str, str]]:
        """The folder of each row's file, and its value."""
        frame = Table(self._spark, table_path(self.lake, table)).read()
        rows = frame.select("_headwater_object", "v").collect()
        return sorted((Path(row[0]).relative_to(self.path).parts[0], row[1]) for row in rows)


@pytest.fixture
def folders(spark: SparkSession, tmp_path: Path) -> Folders:
    return Folders(spark, tmp_path)


@pytest.mark.slow
def test_changes_of_a_key_leave_the_same_key_of_another_source_alone(folders: Folders) -> None:
    folders.write("east", "in/a.json", (1, "e1"), (2, "e2"))
    folders.write("west", "in/a.json", (3, "w1"))
    folders.run()
    assert folders.rows("mirrored") == [("east", "e1"), ("east", "e2"), ("west", "w1")]
    assert folders.rows("merged") == folders.rows("added") == folders.rows("mirrored")
    assert folders.rows("east_only") == [("east", "e1"), ("east", "e2")]

    folders.write("west", "in/a.json", (3, "changed"), (4, "more"))
    folders.run()
    assert folders.rows("mirrored") == [("east", "e1"), ("east", "e2"), ("west", "changed"), ("west", "more")]
    assert folders.rows("east_only") == [("east", "e1"), ("east", "e2")]

    (folders.path / "east/in/a.json").unlink()
    folders.run()
    assert folders.rows("mirrored") == [("west", "changed"), ("west", "more")]
    assert folders.rows("east_only") == []
    assert Verify(folders.app(), deep=1).run().is_complete


@pytest.mark.slow
def test_verify_compares_each_source_with_the_tables_that_take_its_objects(folders: Folders) -> None:
    folders.write("east", "a.json", (1, "e"))
    folders.write("west", "a.json", (2, "w"))
    folders.run()
    counts = {name: found.counts.ingested for name, found in Verify(folders.app()).run().tables.items()}
    assert counts == {"mirrored": 2, "added": 2, "merged": 2, "east_only": 1}

    folders.write("west", "a.json", (2, "lost"))
    report = Verify(folders.app()).run()
    assert not report.is_complete
    west = str(folders.path / "west")
    found = {name: [one.bucket for one in table.problems] for name, table in report.tables.items()}
    assert found == {"mirrored": [west], "added": [west], "merged": [west], "east_only": []}
    assert Verify(folders.app()).repair() == 1
    assert folders.rows("mirrored") == [("east", "e"), ("west", "lost")]
    assert Verify(folders.app(), deep=1).run().is_complete


@pytest.mark.slow
def test_explain_takes_an_address_and_names_a_table_that_leaves_the_source_out(folders: Folders) -> None:
    folders.write("east", "a.json", (1, "e"))
    folders.write("west", "a.json", (2, "w"), (3, "w"))
    folders.run()
    found = Explain(folders.app()).explain(str(folders.path / "west/a.json"))
    assert found.status == "ingested"
    assert found.tables["east_only"].filtered_by == "source"
    assert sum((found.tables["mirrored"].rows or {}).values()) == 2
    with pytest.raises(UsageError, match="not an address in one of the sources"):
        Explain(folders.app()).explain("a.json")


@pytest.mark.slow
def test_a_table_that_leaves_a_source_out_retracts_its_rows_by_routing(folders: Folders) -> None:
    folders.write("east", "a.json", (1, "e"))
    folders.write("west", "a.json", (2, "w"))
    folders.run()
    for names, expected in (("east", [("east", "e")]), (["east", "west"], [("east", "e"), ("west", "w")])):
        table = {**TABLES["mirrored"], "source": names}
        app = folders.app(folders.configure(["east", "west"], mirrored=table))
        Routing(app).apply()
        assert folders.rows("mirrored") == expected
        assert Verify(app).run().is_complete


@pytest.mark.slow
def test_a_source_can_be_added_and_not_be_taken_away(folders: Folders, spark: SparkSession) -> None:
    both = folders.settings
    folders.settings = folders.configure(["west"], mirrored=TABLES["mirrored"])
    folders.write("west", "a.json", (2, "w"))
    folders.run()
    folders.settings = both
    folders.write("east", "a.json", (1, "e"))
    ensure_usable_lake(both)
    folders.run()
    assert folders.rows("mirrored") == [("east", "e"), ("west", "w")]
    assert Verify(folders.app()).run().is_complete

    without = folders.configure(["west"], mirrored=TABLES["mirrored"])
    with pytest.raises(UsageError, match=r"was filled from the folder .*/east; source.path is now"):
        ensure_usable_lake(without)
    with pytest.raises(UsageError, match=r"was filled from the folder .*/east"):
        check_usable_lake(without, App(without, spark=spark).events)


def test_status_shows_each_source(folders: Folders) -> None:
    folders.write("east", "a.json", (1, "e"))
    folders.run()
    status = StatusReader(folders.settings, {}, datetime.now(timezone.utc)).read()
    assert [source.name for source in status.sources] == ["east", "west"]
    assert {name: table.rows for name, table in status.tables.items()}["east_only"] == 1
    assert status.queue is None
