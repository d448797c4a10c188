"""What two files differ in, which tables a rehearsal builds for it, and what applies each difference."""

from typing import Any

import pytest

from headwater.app.rehearsal.changes import Cast, choose_cast, compare_files
from headwater.app.rehearsal.steps import Found, plan_application
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.ingest.rehearsal.differences import RowDifferences, SchemaDifferences, TypeChange

ORDERS = {"path": "orders/*.json", "record_key": "id"}
TOTALS = {
    "from": "orders",
    "refresh": "full",
    "record_key": "day",
    "transform": [{"sql": "select day, count(*) as n from input group by day"}],
}
TABLES: dict[str, dict[str, Any]] = {"orders": ORDERS, "clicks": {"path": "clicks/*.json"}, "totals": TOTALS}


def build(tables: dict[str, Any] | None = None, **sections: Any) -> Settings:
    base = {"source": {"type": "local", "path": "/landing"}, "lake": "/lake", "tables": tables or TABLES}
    return Settings.model_validate(base | sections)


def with_orders(**options: Any) -> Settings:
    return build(TABLES | {"orders": ORDERS | options})


def choose(new: Settings, *only: str) -> Cast:
    return choose_cast(compare_files(build(), new), build(), new, only)


@pytest.mark.parametrize(
    ("options", "key", "effect"),
    [
        ({"ordering": "at"}, "ordering", "rows"),
        ({"schema_hints": "id string"}, "schema_hints", "rows"),
        ({"transform": [{"drop": ["x"]}]}, "transform", "rows"),
        ({"path": "orders/2026/*.json"}, "path", "selection"),
        ({"keep_commits": 3}, "keep_commits", "none"),
        ({"iceberg": True}, "iceberg", "none"),
    ],
)
def test_each_changed_key_has_its_values_and_effect(options: dict[str, Any], key: str, effect: str) -> None:
    orders, clicks, totals = compare_files(build(), with_orders(**options)).tables
    assert (orders.state, clicks.state, totals.state) == ("changed", "same", "same")
    (change,) = orders.keys
    assert (change.key, change.effect) == (key, effect)
    assert change.now != change.new


def test_tables_with_other_rows_are_compared_with_those_derived_from_them() -> None:
    assert choose(with_orders(ordering="at")) == Cast(("orders", "totals"), ("orders", "totals"))
    assert choose(with_orders(keep_commits=3)) == Cast((), ())
    assert choose(build()) == Cast((), ())
    changed = build(TABLES | {"totals": TOTALS | {"record_key": "day", "keep_commits": 2}})
    assert choose(changed, "totals") == Cast(("totals",), ("orders", "totals"))


def test_added_and_removed_tables_are_named() -> None:
    tables = {"orders": ORDERS, "users": {"path": "users/*.csv"}}
    changes = compare_files(build(), build(tables, stop_timeout=40))
    assert {one.table: one.state for one in changes.tables} == {
        "orders": "same",
        "clicks": "removed",
        "totals": "removed",
        "users": "added",
    }
    assert changes.other_keys == ("stop_timeout",)
    assert choose(build(tables)).compared == ("users",)


def test_files_of_two_lakes_and_tables_that_cannot_be_built_in_part_are_rejected() -> None:
    with pytest.raises(UsageError, match="different lakes: /lake and /other"):
        compare_files(build(), build(lake="/other"))
    with pytest.raises(UsageError, match="no table order in the new file") as found:
        choose(build(), "order")
    assert "did you mean orders?" in str(found.value.hint)
    dump = {"path": "dumps/*/*.csv", "record_key": "id", "complete_when": {"marker": "_SUCCESS"}}
    with pytest.raises(UsageError, match="complete_when"):
        choose(build({"clicks": dump}), "clicks")
    outside = {"from": {"hudi": "/other/orders"}, "transform": [{"sql": "select * from input"}]}
    with pytest.raises(UsageError, match="another program"):
        choose(build({"copies": outside}))


def plan(
    new: Settings, refusals: tuple[str, ...] = (), rows: RowDifferences | None = None, *types: TypeChange
) -> tuple[str, tuple[str, ...], str]:
    change = compare_files(build(), new).tables[0]
    found = Found(refusals, SchemaDifferences(changed=types), rows or RowDifferences())
    planned = plan_application(change, new, found)
    return planned.cost, planned.commands, "; ".join(planned.reasons)


def test_each_difference_has_the_commands_that_apply_it() -> None:
    replay = "headwater replay --table orders --since 1970-01-01"
    cost, commands, reasons = plan(with_orders(schema_hints="id string"), (), RowDifferences(only_now=2))
    assert (cost, commands) == ("replay", (replay,))
    assert "deletes no row of a merge" in reasons
    cost, commands, _ = plan(with_orders(path="*.json"))
    assert (cost, commands) == ("routing", ("headwater routing --apply",))
    cost, commands, _ = plan(with_orders(path="*.json", schema_hints="id string"))
    assert (cost, commands) == ("replay", ("headwater routing --apply", replay))
    assert plan(with_orders(keep_commits=3))[:2] == ("next_run", ())
    assert plan(build())[:2] == ("nothing", ())


def test_what_a_run_would_reject_needs_a_rebuild() -> None:
    refused = plan(with_orders(record_key="at"), ("record_key is id",), RowDifferences(lost=3))
    assert refused[:2] == ("rebuild", ("delete the folder /lake/orders", "headwater run --once"))
    assert "record_key is id" in refused[2]
    assert "loses 3 rows" in refused[2]
    retyped = plan(with_orders(schema_hints="a string"), (), None, TypeChange("a", "bigint", "string"))
    assert (retyped[0], retyped[2]) == ("rebuild", "column a is bigint now and string with the new file")


def test_a_column_that_a_run_widens_needs_no_rebuild() -> None:
    widened = TypeChange("a", "bigint", "double", widens=True)
    replay = "headwater replay --table orders --since 1970-01-01"
    assert plan(with_orders(schema_hints="a double"), (), None, widened)[:2] == ("replay", (replay,))
    typed = with_orders(transform=[{"sql": "select *, _headwater_source from input"}])
    assert plan(typed, (), None, widened)[0] == "rebuild"
    narrowed = TypeChange("b", "double", "bigint")
    _, _, reasons = plan(with_orders(schema_hints="a double, b bigint"), (), None, widened, narrowed)
    assert reasons == "column b is double now and bigint with the new file"
