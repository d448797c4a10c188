"""How a table's columns came to be so, and what given objects would change."""

import pytest

from headwater.app.schema import preview_schema, read_schema_report
from headwater.errors import UsageError


def test_history_reports_versions_commits_and_objects(build):
    lake = build(t={"path": "*.json"})
    lake.put("1.json", '{"a": 1}')
    lake.ingest("t")
    lake.put_many([("2.json", '{"a": 2}'), ("3.json", '{"a": 2, "b": {"x": 1}}'), ("4.json", '{"a": 2.5}')])
    lake.ingest("t")
    newest = lake.state("t").history
    lake.put("5.json", '{"a": 2.5}')
    lake.ingest("t")
    history = lake.state("t").history
    commits = [commit.requested for commit in lake.table("t").load_timeline().commits]

    assert newest[-1].commit is None
    assert [version.commit for version in history] == commits[:2]
    changes = [(c.kind, c.column, c.before, c.after, c.object) for c in history[1].changes]
    assert changes == [
        ("widened", "a", "bigint", "double", str(lake.source / "4.json")),
        ("added", "b", None, "struct<x:bigint>", str(lake.source / "3.json")),
    ]


@pytest.mark.slow
def test_report_has_columns_versions_commits_and_objects(build):
    lake = build(t={"path": "*.json"})
    lake.put("1.json", '{"id": 1}')
    lake.ingest("t")
    lake.put("2.json", '{"id": 2, "new": {"a": 1}}')
    lake.ingest("t")
    report = read_schema_report(lake.settings, {}, "t")
    assert [column.name for column in report.columns] == ["id", "new"]
    assert [(v.version, v.commit is not None, len(v.changes)) for v in report.versions] == [
        (1, True, 0),
        (2, True, 1),
    ]
    assert report.versions[1].changes[0].object == str(lake.source / "2.json")


def test_preview_shows_changes_and_writes_nothing(build, tmp_path):
    given = {"path": "*.json", "schema": "id bigint, Price bigint"}
    lake = build(
        t={"path": "*.json", "record_key": "id"},
        r={**given, "schema_evolution_mode": "rescue"},
        strict={**given, "schema_evolution_mode": "fail_on_new_columns"},
        c={"path": "*.csv", "options": {"header": True}},
    )
    lake.put("1.json", '{"id": 1, "price": 1, "new": {"a": 1}}')
    lake.ingest("t")
    before = read_schema_report(lake.settings, {}, "t")
    lake.write("2.json", '{"id": 2.5, "price": 2.5, "new": {"b": true}, "more": [1]}')
    lake.write("3.json", '{"id": 3}')
    outside = tmp_path / "outside.csv"
    outside.write_text("id,name\n1,x\n")

    def preview(name: str, *objects: str) -> list[tuple[str, str, str | None, str]]:
        found = preview_schema(lake.app, {}, name, objects)
        return sorted((c.effect, c.column, c.before or "", c.after) for e in found for c in e.columns)

    assert preview("t", "2.json") == [
        ("added", "more", "", "array<bigint>"),
        ("added", "new.b", "", "boolean"),
        ("refused", "id", "bigint", "double"),
        ("widened", "price", "bigint", "double"),
    ]
    assert ("rescued", "Price", "bigint", "double") in preview("r", "2.json")
    assert ("stops", "more", "", "array<bigint>") in preview("strict", "2.json")
    assert preview("c", str(outside)) == [("added", "id", "", "int"), ("added", "name", "", "string")]
    assert preview_schema(lake.app, {}, "t", ["3.json"])[0].missing == ("new", "price")
    with pytest.raises(UsageError, match=r"absent\.json: no such file"):
        preview_schema(lake.app, {}, "t", ["absent.json"])
    assert read_schema_report(lake.settings, {}, "t") == before
