"""Which set a key belongs to, the order of sets, and the time in their names."""

from datetime import datetime, timezone
from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import build_selector, find_beginnings
from headwater.ingest.sets.names import SetNames, build_set_names, order_name, parse_time


def build(prefix: str = "", **table: Any) -> SetNames:
    given = {"path": "dumps/day=*/*.json", "record_key": "id", "complete_when": {"marker": "_SUCCESS"}}
    config = TableConfig.model_validate(given | table)
    scope = Scope((Location("s3", "landing", prefix),), build_selector(config), find_beginnings(config.path))
    assert config.complete_when is not None
    return build_set_names(config.path, config.complete_when, scope)


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("dumps/day=1/a.json", ("dumps/day=1/", "file")),
        ("dumps/day=1/_SUCCESS", ("dumps/day=1/", "marker")),
        ("dumps/day=1/a.csv", None),
        ("dumps/day=1/deeper/a.json", None),
        ("dumps/other/a.json", None),
        ("dumps/a.json", None),
        ("other/day=1/a.json", None),
    ],
)
def test_the_folder_of_a_key_is_its_set(key: str, found: tuple[str, str] | None) -> None:
    assert build().find(key) == found


def test_a_set_is_below_the_prefix_of_the_source() -> None:
    names = build("landing/eu/")
    assert names.find("landing/eu/dumps/day=1/a.json") == ("landing/eu/dumps/day=1/", "file")
    assert names.find("dumps/day=1/a.json") is None
    assert names.show("landing/eu/dumps/day=1/") == "dumps/day=1"


def test_files_in_one_folder_can_be_a_set() -> None:
    names = build(path="orders.json", complete_when={"marker": "*.done"})
    assert names.find("orders.json") == ("", "file")
    assert names.find("today.done") == ("", "marker")
    assert names.find("other.json") is None
    assert names.show("") == "."


def test_a_deeper_path_belongs_to_the_set_of_its_folder() -> None:
    rule = {"folder": "dumps/*", "manifest": "meta/manifest-*.json"}
    names = build(path="dumps/*/region=*/*.json", complete_when=rule)
    assert names.find("dumps/1/region=eu/a.json") == ("dumps/1/", "file")
    assert names.find("dumps/1/meta/manifest-2.json") == ("dumps/1/", "manifest")
    assert names.find("dumps/1/a.json") is None


def test_the_events_of_markers_are_read_too() -> None:
    names = build(path="dumps/part.json")
    scope = names.widen(names.scope)
    assert scope.includes("landing", "dumps/_SUCCESS")
    assert "dumps/_SUCCESS".startswith(scope.full_beginnings)
    assert scope.selector("dumps/other.json") == "path"
    assert scope.selector("_SUCCESS") == "path"
    assert scope.relative_key("landing", "dumps/_SUCCESS") == "dumps/_SUCCESS"


def test_a_file_outside_the_folder_of_sets_is_no_file_of_the_table() -> None:
    names = build(path="**/*.json", complete_when={"folder": "dumps/day=*", "files": 1})
    scope = names.widen(names.scope)
    assert scope.selector("dumps/day=1/deep/a.json") is None
    assert scope.selector("other/a.json") == "complete_when.folder"


def test_numbers_in_names_count_as_numbers() -> None:
    names = ["b/2/", "b/10/", "b/09/", "b/9/", "b/1-2/", "b/1-10/", "b/x/", "b/"]
    assert sorted(names, key=order_name) == [
        "b/",
        "b/1-2/",
        "b/1-10/",
        "b/2/",
        "b/09/",
        "b/9/",
        "b/10/",
        "b/x/",
    ]


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("dumps/day=2026-11-05/", (2026, 11, 5)),
        ("dumps/20261105/", (2026, 11, 5)),
        ("dumps/20261105T0630/", (2026, 11, 5, 6, 30)),
        ("dumps/2026-11-05T06:30:15Z/", (2026, 11, 5, 6, 30, 15)),
        ("dumps/2026-11-05 23/", (2026, 11, 5, 23)),
        ("dumps/year=2026/month=11/day=5/", (2026, 11, 5)),
        ("dumps/2026/11/05/", (2026, 11, 5)),
        ("v2/dumps/2026_11_05/", (2026, 11, 5)),
        ("dumps/99999999/day=2026-11-05/", (2026, 11, 5)),
        ("dumps/2026-13-05/", None),
        ("dumps/120261105/", None),
        ("dumps/17/", None),
    ],
)
def test_a_name_may_say_its_time(name: str, time: tuple[int, ...] | None) -> None:
    assert parse_time(name) == (datetime(*time, tzinfo=timezone.utc) if time else None)  # type: ignore[arg-type,misc]  # of ints
