"""The report of a rehearsal: its lines, its JSON, and what counts as a difference."""

import json
from dataclasses import replace
from typing import Any

import pytest

from headwater.app.rehearsal import RehearsalReport, TableRehearsal
from headwater.app.rehearsal.applying import check_applicable
from headwater.app.rehearsal.changes import KeyChange
from headwater.app.rehearsal.report import iter_lines, list_commands, to_document
from headwater.app.rehearsal.steps import Application
from headwater.cli.rendering import format_json
from headwater.errors import UsageError
from headwater.ingest.rehearsal.differences import (
    ColumnChange,
    QuarantineDifferences,
    RejectedCount,
    RejectedExample,
    RowDifferences,
    SchemaDifferences,
    TypeChange,
    ValueExample,
)

SAME = TableRehearsal(
    state="same",
    keys=(),
    objects=2,
    failure_now="",
    failure_new="",
    schema=SchemaDifferences(),
    rows=RowDifferences(equal=3),
    quarantine=QuarantineDifferences(),
    application=Application("nothing"),
)
CHANGED = TableRehearsal(
    state="changed",
    keys=(KeyChange("schema_hints", None, "id string", "rows"),),
    objects=1_398,
    failure_now="",
    failure_new="",
    schema=SchemaDifferences(("twice bigint",), ("name string",), (TypeChange("at", "bigint", "string"),)),
    rows=RowDifferences(
        matched_by="key",
        key=("id",),
        equal=11_204,
        only_now=1,
        only_new=1,
        changed=2,
        columns=(ColumnChange("name", 2, (ValueExample('{"id":"1"}', "ann", None),)),),
        only_now_examples=('{"id":"7"}',),
        only_new_examples=('{"id":"8"}',),
        undecided=12,
        unstable=1,
    ),
    quarantine=QuarantineDifferences(
        only_new=(RejectedCount("record", "failed_check", 3, (RejectedExample("s3://b/a", 4, "at > 1"),)),)
    ),
    application=Application("replay", ("because",), ("headwater replay --table orders",)),
)


def build(**tables: TableRehearsal) -> RehearsalReport:
    return RehearsalReport("the newest objects", 5, tables, ("clicks",), ("old",), ("stop_timeout",))


def test_lines_name_every_difference() -> None:
    assert list(iter_lines(build(orders=CHANGED))) == [
        "the newest objects: 5 events",
        "",
        "table orders: 1,398 objects",
        "  schema_hints: not set -> id string",
        "  column + twice bigint",
        "  column - name string",
        "  column at: bigint -> string",
        "  rows by id: 11,204 equal, 2 changed, 1 only with the current file, 1 only with the new file",
        "    name: 2 rows",
        '      {"id":"1"}: ann -> null',
        '    - {"id":"7"}',
        '    + {"id":"8"}',
        "    12 more are not compared: objects outside the window decide them",
        "    rows of 1 objects are not compared: overwritten during the rehearsal",
        "  quarantine + 3 records: failed_check",
        "      s3://b/a, line 4: at > 1",
        "  costs: replay",
        "    because",
        "",
        "unchanged, not compared: clicks",
        "table old is not in the new file; its folder stays",
        "changed outside of tables, not rehearsed: stop_timeout",
        "there are differences",
    ]
    assert list(iter_lines(build(orders=SAME)))[-1] == "no difference"
    assert list_commands(build(orders=CHANGED, others=CHANGED)) == ["headwater replay --table orders"]


def test_json_has_every_field_of_a_table() -> None:
    found: dict[str, Any] = json.loads(format_json(to_document(build(orders=CHANGED, others=SAME))))
    assert found.keys() == {
        *("differences", "window", "events", "tables", "unchanged", "removed", "other_keys"),
    }
    orders = found["tables"]["orders"]
    assert orders.keys() == {
        *("differences", "state", "keys", "objects", "failure_now", "failure_new"),
        *("schema", "rows", "quarantine", "application"),
    }
    assert orders["rows"]["columns"][0]["examples"] == [{"row": '{"id":"1"}', "now": "ann", "new": None}]
    assert (found["differences"], found["tables"]["others"]["differences"]) == (True, False)


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": SchemaDifferences(added=("a string",))},
        {"rows": RowDifferences(only_new=1)},
        {"rows": RowDifferences(changed=1)},
        {"quarantine": CHANGED.quarantine},
        {"failure_new": "no column x"},
        {"failure_now": "no column x", "failure_new": "no column x"},
    ],
)
def test_whatever_differs_or_was_not_compared_is_a_difference(changed: dict[str, Any]) -> None:
    assert build(orders=replace(SAME, **changed)).has_differences
    assert not build(orders=replace(SAME, rows=RowDifferences(equal=3, undecided=4, lost=2))).has_differences


def test_failed_table_has_no_steps_and_is_not_applied() -> None:
    report = build(orders=replace(CHANGED, failure_new="no column x"))
    lines = list(iter_lines(report))
    assert "  with the new file, a run stops: no column x" in lines
    assert "  not compared" in lines
    assert list_commands(report) == []
    with pytest.raises(UsageError, match="table orders stops"):
        check_applicable(report)
    with pytest.raises(UsageError, match="has to be rebuilt"):
        check_applicable(build(orders=replace(CHANGED, application=Application("rebuild"))))
    check_applicable(build(orders=CHANGED))
