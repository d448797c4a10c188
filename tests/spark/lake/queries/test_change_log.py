"""Tables that keep a log of their changes (CDC): every change with its images, in each mode and type."""

import pytest

from headwater.errors import InstantUnavailableError, LakeError
from headwater.lake import queries
from headwater.lake.options import CDC_ENABLED_PROPERTY, WriteOptions
from headwater.lake.queries import Query
from headwater.lake.queries.change_log import ChangeLogFeed
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark

pytestmark = pytest.mark.long

MODES = ["op_key_only", "data_before", "data_before_after"]


def log_options(mode):
    """What `cdc: MODE` makes of it."""
    typed = WriteOptions(table_name="t", operation="upsert", record_key=("id",), cdc=mode).typed_options()
    return {key: value for key, value in typed.items() if ".cdc." in key}


def read_log(table, since="earliest"):
    feed = ChangeLogFeed(table.spark, table.path, Query.cdc(since))
    steps = [
        [(change.op, change.key, change.before, change.after) for change in step] for step in feed.poll()
    ]
    assert feed.position == table.commits[-1].completed
    return steps


def row(key, name, version):
    return {"id": key, "name": name, "version": version}


@pytest.mark.parametrize("mode", MODES)
def test_inserts_updates_and_deletes_come_with_both_images(build, mode):
    table = build(**log_options(mode))
    first = table.write([("a", "one", 1), ("b", "one", 1)])
    table.write([("a", "two", 2), ("c", "two", 2)])
    table.delete("b")
    later = [
        [("i", "c", None, row("c", "two", 2)), ("u", "a", row("a", "one", 1), row("a", "two", 2))],
        [("d", "b", row("b", "one", 1), None)],
    ]
    begun = [("i", "a", None, row("a", "one", 1)), ("i", "b", None, row("b", "one", 1))]
    by_op = [sorted(step, key=lambda change: change[:2]) for step in read_log(table)]
    assert by_op == [begun, *later]
    assert [sorted(step, key=lambda c: c[:2]) for step in read_log(table, first.completed)] == later


def test_sql_sees_the_log_as_a_table(build):
    table = build(**log_options("data_before_after"))
    first = table.write([("a", "one", 1)])
    table.write([("a", "two", 2)])
    table.delete("a")

    def run_there(sql, tables):
        return run_on_spark(table.spark, sql, tables, query=asked)

    asked = Query.cdc(first.completed)
    sql = "select op, before is null as new, after is null as gone from t order by ts_ms"
    result = run_query(sql, {"t": table.path}, fallback=run_there, query=asked)
    assert result.engine == "spark"
    assert list(result.rows) == [
        {"op": "u", "new": False, "gone": False},
        {"op": "d", "new": False, "gone": True},
    ]


def test_log_that_does_not_reach_back_is_refused(build):
    short = {
        "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4",
        "hoodie.clean.commits.retained": "1",
        "hoodie.clean.trigger.max.commits": "1",
    }
    table = build(**log_options("data_before_after"), **short)
    commits = [table.write([("a", f"v{number}", number)]) for number in range(7)]
    for since in ("earliest", commits[0].completed, table.commits[0].completed):
        with pytest.raises(InstantUnavailableError):
            queries.read_on_spark(table.spark, table.path, Query.cdc(since))
        with pytest.raises(InstantUnavailableError):
            list(ChangeLogFeed(table.spark, table.path, Query.cdc(since)).poll())


def test_table_made_without_a_log_refuses_one_and_says_so(build, table_type):
    table = build()
    table.write([("a", "one", 1)])
    with pytest.raises(LakeError) as refused:
        table.write([("a", "two", 2)], **log_options("data_before"))
    assert (
        f"the table was created with other settings: {CDC_ENABLED_PROPERTY} is false, not true"
        in refused.value.message
    )
    assert queries.read(table.address, Query.snapshot())["name"].to_pylist() == ["one"]
