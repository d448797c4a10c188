"""What is refused before Hudi has written anything, and with which sentence."""

from dataclasses import replace
from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.index_definitions import IndexDefinition, KnownTable, find_problem
from headwater.lake.indexes import (
    FUNCTIONS,
    IndexRequest,
    TableIndex,
    TableIndexes,
    WriteIndex,
    plan_creation,
    plan_drop,
    plan_rebuild,
    plan_repair,
)

PLAIN = {"path": "*.json", "record_key": "id"}
METADATA = {**PLAIN, "metadata_table": True}
PARTED = {**PLAIN, "partition": "day", "index": {"type": "record_level"}}
SERVERLESS = {**PLAIN, "hoodie": {"hoodie.metadata.enable": "true"}}
RECORD = {**PLAIN, "index": {"type": "global_record_level"}}
COLUMNS = {"id": "string", "ts": "timestamp", "at": "bigint", "customer": "string", "tags": "complex"}


def build_index(partition: str, kind: Any, **given: Any) -> TableIndex:
    name = partition.removeprefix("secondary_index_").removeprefix("expr_index_")
    reported: dict[str, Any] = {"columns": (), "function": "", "statistics": "", "options": {}, "problem": ""}
    reported |= {"state": "built", "kept": True, "files": 1, "bytes": 10} | given
    return TableIndex(name=name, kind=kind, partition=partition, **reported)


def build_table(*indexes: TableIndex, under_way: tuple[str, ...] = ()) -> TableIndexes:
    return TableIndexes(
        table="orders",
        write_index=WriteIndex("simple", None, "default"),
        indexes=indexes,
        under_way=under_way,
        problems=(),
        columns=COLUMNS,  # type: ignore[arg-type]
        record_keys=("id",),
        partition_fields=(),
    )


def plan(config: dict[str, Any] | None, table: TableIndexes | None = None, **request: Any):
    made = TableConfig.model_validate(config) if config else None
    return plan_creation(table or build_table(), made, IndexRequest(**request))


EXPRESSION: dict[str, Any] = {"name": "by_day", "type": "expression"}


def test_expression_is_planned_as_hudi_wants_it():
    made = plan(METADATA, **EXPRESSION, columns=("at",), function="from_unixtime", options={"format": "yyyy"})
    assert (made.partition, made.columns, made.statistics) == ("expr_index_by_day", ("at",), "column_stats")
    assert made.options == {"expr": "from_unixtime", "format": "yyyy"}


def test_secondary_index_is_planned_with_a_record_index():
    made = plan(RECORD, name="by_customer", type="secondary", columns=("customer",))
    assert (made.partition, made.options, made.statistics) == ("secondary_index_by_customer", {}, "")


@pytest.mark.parametrize(
    ("config", "request_", "expected_message"),
    [
        (None, {**EXPRESSION, "columns": ("at",)}, "headwater's own tables"),
        (PLAIN, {**EXPRESSION, "columns": ("at",), "function": "from_unixtime"}, "requires the metadata"),
        (METADATA, {**EXPRESSION, "columns": ("ts",), "function": "from_unixtime"}, "column ts is timestamp"),
        (METADATA, {**EXPRESSION, "columns": ("at",), "function": "from_unixtim"}, "mean from_unixtime"),
        (METADATA, {**EXPRESSION, "columns": ("customr",), "function": "year"}, "mean customer?"),
        (METADATA, {**EXPRESSION, "columns": ("customer",), "function": "lower"}, "miss rows"),
        (METADATA, {**EXPRESSION, "columns": ("tags",), "function": "from_unixtime"}, "tags is complex"),
        (METADATA, {**EXPRESSION, "columns": ("ts",), "function": "date_format"}, "requires the option"),
        (
            METADATA,
            {**EXPRESSION, "columns": ("at",), "function": "from_unixtime", "options": {"x": ""}},
            "no option x; allowed: format",
        ),
        (METADATA, {**EXPRESSION, "columns": ("id",)}, "requires a function"),
        (METADATA, {**EXPRESSION, "columns": ("id", "at"), "function": "lower"}, "covers one column, not 2"),
        (METADATA, {"name": "1x", "type": "expression"}, "is not a valid index name"),
        (METADATA, {"name": "s", "type": "secondary", "columns": ("customer",)}, "the global record index"),
        (PARTED, {"name": "s", "type": "secondary", "columns": ("customer",)}, "the global record index"),
        (SERVERLESS, {**EXPRESSION, "columns": ("at",), "function": "from_unixtime"}, "metadata_table: true"),
        (RECORD, {"name": "s", "type": "secondary", "columns": ("tags",)}, "column tags, which is complex"),
        (RECORD, {"name": "s", "type": "secondary", "columns": ("id",)}, "is part of the record key"),
        (RECORD, {"name": "stats", "type": "column_stats"}, "named column_stats, not stats"),
        (
            {**METADATA, "column_stats": ["at"]},
            {"name": "column_stats", "type": "column_stats", "columns": ("ts",)},
            "maintains column_stats of at, not of ts",
        ),
        (METADATA, {"name": "record_index", "type": "record_level"}, "the next `run` would remove it"),
        (METADATA, {"name": "bloom_filters", "type": "bloom_filters"}, "the next `run` would remove it"),
    ],
)  # fmt: skip
def test_unsupported_or_unmaintained_indexes_are_rejected(config, request_, expected_message):
    with pytest.raises(UsageError) as raised:
        plan(config, **request_)
    assert expected_message in f"{raised.value.message} {raised.value.hint}"
    assert raised.value.hint


def test_refusal_names_the_line_that_is_missing():
    with pytest.raises(UsageError) as raised:
        plan(METADATA, name="bloom_filters", type="bloom_filters")
    assert 'hoodie: {hoodie.metadata.index.bloom.filter.enable: "true"}' in raised.value.hint


def test_nothing_is_built_with_a_pending_write_or_a_broken_index():
    request: dict[str, Any] = {**EXPRESSION, "columns": ("at",), "function": "from_unixtime"}
    with pytest.raises(UsageError, match="the write started at 20260101 is in progress"):
        plan(METADATA, build_table(under_way=("20260101",)), **request)
    broken = build_index("expr_index_bad", "expression", state="broken", problem="no such thing")
    with pytest.raises(UsageError, match="no such thing") as raised:
        plan(METADATA, build_table(broken), **request)
    assert "index repair" in raised.value.hint
    with pytest.raises(UsageError, match="already has an index by_day"):
        plan(METADATA, build_table(build_index("expr_index_by_day", "expression")), **request)


def test_index_that_the_configuration_asks_for_is_not_dropped_by_hand():
    config = TableConfig.model_validate({**PLAIN, "column_stats": ["at"]})
    table = build_table(
        build_index("files", "files"), build_index("column_stats", "column_stats", columns=("at",))
    )
    with pytest.raises(UsageError) as raised:
        plan_drop(table, config, "column_stats")
    assert "`column_stats: [at]`" in raised.value.hint
    with pytest.raises(UsageError, match="the metadata table itself"):
        plan_drop(table, config, "files")
    with pytest.raises(UsageError) as raised:
        plan_drop(table, config, "column_stat")
    assert "did you mean column_stats?" in raised.value.hint


def test_record_index_of_a_table_that_has_grown_needs_no_line_in_the_configuration():
    built = build_index("record_index", "record_level", options={"isPartitioned": "false"})
    table, config = build_table(build_index("files", "files"), built), TableConfig.model_validate(PLAIN)
    with pytest.raises(UsageError, match="because of its size") as raised:
        plan_drop(table, config, "record_index")
    assert "`index: {type: simple}`" in raised.value.hint
    simple = TableConfig.model_validate({**PLAIN, "index": {"type": "simple"}})
    assert plan_drop(table, simple, "record_index") == built
    made = plan(PLAIN, table, name="by_customer", type="secondary", columns=("customer",))
    assert made.partition == "secondary_index_by_customer"


def test_record_index_stays_as_long_as_a_secondary_index_needs_it():
    table = build_table(
        build_index("record_index", "record_level", kept=False),
        build_index("secondary_index_c", "secondary", columns=("customer",)),
    )
    config = TableConfig.model_validate(METADATA)
    with pytest.raises(UsageError, match="is required by c"):
        plan_drop(table, config, "record_index")
    assert plan_drop(table, config, "c").partition == "secondary_index_c"


def test_rebuild_keeps_the_definition():
    reported = {"columns": ("customer",), "options": {"expr": "lower"}, "statistics": "column_stats"}
    table = build_table(build_index("expr_index_low", "expression", **reported))
    made = plan_rebuild(table, TableConfig.model_validate(METADATA), "low")
    assert (made.type, made.options, made.statistics) == ("expression", {"expr": "lower"}, "column_stats")


def test_repair_removes_only_broken_or_unfinished_indexes():
    table = build_table(
        build_index("column_stats", "column_stats", state="not built"),
        build_index("expr_index_bad", "expression", state="broken", problem="x"),
        build_index("secondary_index_c", "secondary", state="not built"),
        build_index("secondary_index_d", "secondary"),
    )
    assert [one.name for one in plan_repair(table)] == ["bad", "c"]


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_definition_of_a_function_on_a_column_it_does_not_take_is_a_problem(function):
    definition = IndexDefinition("expr_index_x", "column_stats", function, ("tags",), is_built=False)
    table = KnownTable(COLUMNS, ("files",))  # type: ignore[arg-type]
    problem = find_problem(definition, table)
    assert "column tags is complex" in problem
    assert problem.endswith("every write to the table therefore fails")
    assert not find_problem(replace(definition, is_built=True), table)


def test_built_index_by_which_queries_miss_rows_is_a_problem():
    table = KnownTable(COLUMNS, ("files", "expr_index_x"))  # type: ignore[arg-type]
    lossy = IndexDefinition("expr_index_x", "column_stats", "lower", ("customer",), is_built=True)
    assert "miss rows" in find_problem(lossy, table)
    assert "bloom filters" in find_problem(
        replace(lossy, kind="bloom_filters", function="date_format"), table
    )
    assert not find_problem(replace(lossy, function="date_format", columns=("ts",)), table)


def test_second_expression_on_a_column_is_refused():
    there = build_index("expr_index_first", "expression", columns=("at",))
    with pytest.raises(UsageError, match="has the expression index first"):
        plan(METADATA, build_table(there), **EXPRESSION, columns=("at",), function="from_unixtime")


def test_broken_index_is_repaired_despite_failed_pending_writes():
    broken = build_index("expr_index_bad", "expression", state="broken", problem="x")
    assert plan_repair(build_table(broken, under_way=("20260101",))) == (broken,)
    assert plan_drop(build_table(broken, under_way=("20260101",)), None, "bad") == broken
    with pytest.raises(UsageError, match="is in progress"):
        plan_repair(build_table(under_way=("20260101",)))
