"""When a set of files is complete, and what it lacks otherwise."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import build_selector
from headwater.ingest.sets.completeness import CompleteSet, Contents, OpenSet, gather, judge_set
from headwater.ingest.sets.manifest import ManifestError, parse_manifest
from headwater.ingest.sets.names import build_set_names
from headwater.sources.lister import ListedObject

NOW = datetime(2026, 11, 27, 12, tzinfo=timezone.utc)
NAME = "dumps/1/"


def judge(
    rule: dict[str, Any], files: dict[str, int], contents: Contents | None = None
) -> CompleteSet | OpenSet:
    """`files` are names with the minutes since their last change; each has ten bytes."""
    config = TableConfig.model_validate({"path": "dumps/*/*.json", "record_key": "id", "complete_when": rule})
    assert config.complete_when is not None
    names = build_set_names(
        config.path, config.complete_when, Scope((Location("s3", "landing"),), build_selector(config))
    )
    listed = [
        ListedObject(NAME + name, 10, "etag", None, NOW - timedelta(minutes=ago))
        for name, ago in sorted(files.items())
    ]
    return judge_set(gather(NAME, listed, names), config.complete_when, contents, NOW)


def list_names(found: CompleteSet | OpenSet) -> list[str]:
    assert isinstance(found, CompleteSet), found
    return [one.key.removeprefix(NAME) for one in found.files]


@pytest.mark.parametrize(
    ("rule", "files", "missing"),
    [
        ({"marker": "_SUCCESS"}, {"a.json": 3}, "no file '_SUCCESS'"),
        ({"marker": "_SUCCESS"}, {"_SUCCESS": 3}, "no files"),
        ({"marker": "_SUCCESS"}, {"_SUCCESS": 3, "a.csv": 5}, "no files"),
        ({"marker": "_SUCCESS"}, {"_SUCCESS": 3, "a.json": 5, "b.json": 2}, "1 files are newer than"),
        ({"files": 2}, {"a.json": 3}, "1 of 2 files"),
        ({"files": 2}, {"a.json": 3, "b.json": 3, "c.json": 3}, "3 of 2 files"),
        ({"quiet_for": "5m"}, {"a.json": 9, "b.json": 4}, "its last change was at 2026-11-27 11:56:00 UTC"),
        ({"files": 1, "quiet_for": "5m"}, {"a.json": 4}, "its last change was at"),
        ({"marker": "*.ok", "quiet_for": "5m"}, {"a.json": 9, "x.ok": 4}, "its last change was at"),
        ({"manifest": "m.json"}, {"a.json": 4}, "no file 'm.json'"),
    ],
)
def test_an_open_set_says_what_it_lacks(rule: dict[str, Any], files: dict[str, int], missing: str) -> None:
    found = judge(rule, files)
    assert isinstance(found, OpenSet)
    assert missing in found.missing
    assert (found.due is not None) == missing.startswith("its last change")


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ({"marker": "_SUCCESS"}, {"a.json": 3, "b.json": 2, "_SUCCESS": 2}),
        ({"marker": "*.done"}, {"a.json": 3, "b.json": 3, "old.done": 5, "new.done": 1}),
        ({"files": 2}, {"a.json": 3, "b.json": 0}),
        ({"quiet_for": "5m"}, {"a.json": 5, "b.json": 9}),
        ({"files": 2, "marker": "_SUCCESS"}, {"a.json": 5, "b.json": 9, "_SUCCESS": 2}),
    ],
)
def test_a_set_is_complete_when_all_conditions_hold(rule: dict[str, Any], files: dict[str, int]) -> None:
    assert list_names(judge(rule, files)) == ["a.json", "b.json"]


def test_only_files_of_the_manifest_belong_to_the_set() -> None:
    rule, files = {"manifest": "m.json"}, {"a.json": 3, "b.json": 3, "c.json": 1, "m.json": 2}
    assert list_names(judge(rule, files, {f"{NAME}a.json": 10, f"{NAME}b.json": None})) == [
        "a.json",
        "b.json",
    ]
    lacking = judge(rule, files, {f"{NAME}a.json": 10, f"{NAME}x.json": None})
    assert isinstance(lacking, OpenSet)
    assert lacking.missing == "1 of 2 files of its manifest, such as 'dumps/1/x.json'"
    other = judge(rule, files, {f"{NAME}a.json": 11})
    assert isinstance(other, OpenSet)
    assert other.missing == "'dumps/1/a.json' has 10 bytes, but 11 in the manifest"


def test_the_time_of_a_set_without_a_date_is_its_last_change() -> None:
    found = judge({"marker": "_SUCCESS"}, {"a.json": 3, "_SUCCESS": 2})
    assert isinstance(found, CompleteSet)
    assert found.time == NOW - timedelta(minutes=2)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.json\nb.json\r\n\n", {"a.json": None, "b.json": None}),
        ('\ufeff["a.json"]', {"a.json": None}),
        ('{"files": [{"name": "a.json", "size": 3}, {"path": "./b.json"}]}', {"a.json": 3, "b.json": None}),
        (
            '{"entries": [{"url": "s3://landing/dumps/1/a.json", "mandatory": true, "meta": '
            '{"content_length": 7}}]}',
            {"a.json": 7},
        ),
        ('["s3a://landing/dumps/1/x y.json"]', {"x y.json": None}),
        ('["https://landing.s3.amazonaws.com/dumps/1/x%20y.json?versionId=1"]', {"x y.json": None}),
        ('["https://s3.amazonaws.com/landing/dumps/1/a.json"]', {"a.json": None}),
        ('["abfss://landing@account.dfs.core.windows.net/dumps/1/a.json"]', {"a.json": None}),
        ('["dumps/1/a.json"]', {"a.json": None}),
        ('["deep/a.json"]', {"deep/a.json": None}),
    ],
)
def test_manifests(text: str, found: dict[str, int | None]) -> None:
    assert parse_manifest(text.encode(), NAME, "landing") == {NAME + key: size for key, size in found.items()}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it lists no file"),
        (b"[]", "it lists no file"),
        (b"[1]", "'1' is not a file"),
        (b"[{}]", "an entry has no name. Allowed: url, path"),
        (b"{}", "it has no list of files. Allowed"),
        (b'{"files": 3}', "it has no list of files. Allowed"),
        (b"[", "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b"../2/a.json", "'../2/a.json' is outside the folder of the set"),
        (b'["s3://landing/dumps/2/a.json"]', "is outside the folder of the set"),
    ],
)
def test_a_bad_manifest_says_why(data: bytes, text: str) -> None:
    with pytest.raises(ManifestError) as error:
        parse_manifest(data, NAME, "landing")
    assert text in str(error.value)
