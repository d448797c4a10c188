"""Tables of change records: what users see after late, repeated, bad and unusual changes."""

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.verify import Verify
from headwater.app.processing.sample import try_transform
from headwater.app.schema import preview_schema
from headwater.errors import ConfigError, TableMismatchError, TransformError, UsageError
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.layout import find_address
from headwater.lake.options import DELETED
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_rows
from headwater.lake.writes import write
from tests.fixtures.change_lake import (
    DEBEZIUM,
    FLAT,
    TABLE_TYPES,
    build_change_lake,
    build_envelope,
    write_lines,
)


def test_bad_rows_go_to_quarantine_and_good_ones_to_the_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT, schema_hints="at bigint")
    good = {"op": "I", "id": 1, "at": 1}
    bad: list[tuple[dict[str, Any], str]] = [
        ({"op": "X", "id": 2, "at": 2}, "unknown_change"),
        ({"id": 3, "at": 3}, "unknown_change"),
        ({"op": "I", "at": 4}, "missing_key"),
        ({"op": "D", "at": 4}, "missing_key"),
        ({"op": "I", "id": 5}, "missing_ordering"),
        ({"op": "I", "id": 6, "at": "noon"}, "unparsable"),
    ]
    lake.put("a.json", write_lines(good, *(record for record, _ in bad)))
    lake.ingest("rows")
    assert lake.rows("rows", "id") == [(1,)]
    wanted = [(line, reason) for line, (_, reason) in enumerate(bad, 2)]
    assert lake.quarantine("line", "reason") == wanted
    lake.put("b.json", write_lines({"op": "X", "id": 2, "at": 2}, {"op": "X", "id": 3, "at": 2}))
    lake.ingest("rows")
    assert ("object", "unknown_change") in lake.quarantine("level", "reason")


def test_bad_envelopes_keep_their_text_in_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, DEBEZIUM)
    good = build_envelope(1, "insert", None, {"id": 1, "text": "a"})
    unknown = build_envelope(2, "insert", None, {"id": 2}) | {"op": "q"}
    rowless = build_envelope(3, "insert", None, None)
    keyless = build_envelope(4, "delete", {"text": "a"}, None)
    lacking = build_envelope(5, "update", None, {"id": 5, "text": "__debezium_unavailable_value"})
    mixed = build_envelope(6, "insert", None, {"id": 6})
    mixed["source"] = {"lsn": "0/16B3748"}
    orderless = build_envelope(7, "insert", None, {"id": 7}) | {"source": {}}
    unordered = build_envelope(8, "insert", None, {"id": 8}) | {"source": {"lsn": [1]}}
    twice = write_lines(good).replace('"op": "c"', '"op": "c", "op": "d"')
    text = (
        write_lines(good, unknown, rowless, keyless, lacking, mixed, orderless, unordered) + twice + "{half\n"
    )
    lake.put("a.json", text)
    lake.ingest("rows")
    assert lake.rows("rows", "id", "text") == [(1, "a")]
    found = dict(lake.quarantine("line", "reason"))
    assert found == {
        2: "unknown_change",
        3: "no_row",
        4: "missing_key",
        5: "unavailable_value",
        6: "bad_sequence",
        7: "missing_ordering",
        8: "bad_sequence",
        9: "repeated_name",
        10: "unparsable",
    }
    payloads = dict(lake.quarantine("line", "payload"))
    assert json.loads(payloads[2]) == unknown
    assert json.loads(payloads[5]) == lacking
    assert json.loads(payloads[4]) == {"text": "a"}


@pytest.mark.slow
def test_types_of_sequences_are_remembered(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, {**DEBEZIUM, "sequence": "source.lsn"})
    lake.put("1.json", write_lines(build_envelope(1, "insert", None, {"id": 1})))
    lake.ingest("rows")
    other = build_envelope(2, "insert", None, {"id": 2}) | {"source": {"lsn": "two"}}
    lake.put("2.json", write_lines(other, build_envelope(3, "insert", None, {"id": 3})))
    lake.ingest("rows")
    assert lake.rows("rows", "id") == [(1,), (3,)]
    assert lake.quarantine("reason") == [("bad_sequence",)]


def test_envelopes_with_schemas_notices_and_other_tables(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, {**DEBEZIUM, "table": "shop.rows"})
    with_schema = {"schema": {"type": "struct"}, "payload": build_envelope(1, "insert", None, {"id": 1})}
    tombstone = {"schema": None, "payload": None}
    other = build_envelope(2, "insert", None, {"id": 99})
    other["source"] = other["source"] | {"table": "people"}
    ddl = {
        "source": {"file": "f"},
        "databaseName": "shop",
        "ddl": "alter table rows add x int",
        "tableChanges": [],
    }
    message = {"op": "m", "source": {"lsn": 4}, "message": {"prefix": "a", "content": "b"}}
    lake.put("a.json", write_lines(with_schema, tombstone, None, other, ddl, message))
    (result,) = lake.ingest("rows")
    assert lake.rows("rows", "id") == [(1,)]
    assert (result.rows, result.bad_rows) == (1, 0)
    lake.put("b.json", write_lines(ddl, message))
    (result,) = lake.ingest("rows")
    assert dict(result.skipped) == {"no_records": 1}


def test_a_changed_key_deletes_the_old_row(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, DEBEZIUM)
    lake.ingest_each(
        "rows",
        write_lines(build_envelope(1, "insert", None, {"id": 1, "text": "a"})),
        # With the default replica identity, the row before has only the old key.
        write_lines(build_envelope(2, "update", {"id": 1, "text": None}, {"id": 2, "text": "a"})),
        write_lines(build_envelope(1, "insert", None, {"id": 1, "text": "a"})),
    )
    assert lake.rows("rows", "id", "text") == [(2, "a")]


@pytest.mark.slow
def test_new_columns_of_rows_become_columns_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, DEBEZIUM)
    lake.ingest_each(
        "rows",
        write_lines(build_envelope(1, "delete", {"id": 7}, None)),
        write_lines(build_envelope(2, "insert", None, {"id": 1, "price": 2})),
        write_lines(build_envelope(3, "insert", None, {"id": 2, "price": 2.5, "größe": "M"})),
    )
    assert lake.rows("rows", "id", "price", "grosse") == [(1, 2.0, None), (2, 2.5, "M")]
    own = {name for name in lake.columns("rows") if not name.startswith(("_hoodie_", "_headwater_"))}
    assert own == {"id", "price", "grosse"}


def test_numbers_keep_their_digits(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(
        spark, tmp_path, DEBEZIUM, schema="id bigint, amount decimal(38,18), big decimal(38,0)"
    )
    row = '{"id": 1, "amount": 12345678901234567890.123456789012345678, "big": 12345678901234567890123456789}'
    lake.put("a.json", write_lines(build_envelope(1, "insert", None, "ROW")).replace('"ROW"', row))
    lake.ingest("rows")
    assert [(str(a), str(b)) for a, b in lake.rows("rows", "amount", "big")] == [
        ("12345678901234567890.123456789012345678", "12345678901234567890123456789")
    ]


@pytest.mark.slow
def test_a_row_that_a_transform_leaves_out_is_deleted(spark: SparkSession, tmp_path: Path) -> None:
    sql = "select _headwater_source, id, at, upper(name) as name from input where state = 'open'"
    lake = build_change_lake(spark, tmp_path, FLAT, transform=[{"sql": sql}])
    one, two = {"id": 1, "at": 1, "name": "a"}, {"id": 2, "at": 1, "name": "b"}
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "state": "open", **one}, {"op": "I", "state": "open", **two}),
        write_lines({"op": "U", "state": "closed", **one, "at": 5}),
        write_lines({"op": "U", "state": "open", **one, "at": 3}),
    )
    assert lake.rows("rows", "id", "name") == [(2, "B")]
    lake.put(
        "9.json", write_lines({"op": "D", "id": 2, "at": 9}, {"op": "U", "state": "open", **one, "at": 9})
    )
    lake.ingest("rows")
    assert lake.rows("rows", "id", "name") == [(1, "A")]


@pytest.mark.slow
def test_transforms_that_no_delete_could_follow(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT)
    lake.put("a.json", write_lines({"op": "I", "id": 1, "at": 1}))
    several = "select _headwater_source, id, at, n from input lateral view explode(array(1, 2)) t as n"
    for sql, text in (
        ("select _headwater_source, id + 1 as id, at from input", "changes the record key"),
        (several, "makes several rows"),
    ):
        lake.change("rows", transform=[{"sql": sql}])
        with pytest.raises(TransformError, match=text):
            lake.ingest("rows")


@pytest.mark.slow
def test_checks_do_not_apply_to_deletes(spark: SparkSession, tmp_path: Path) -> None:
    checks = [
        {"not_null": "name", "on_failure": "quarantine"},
        {"unique": "id", "on_failure": "fail"},
        {"range": {"column": "at", "max": 9}, "on_failure": "fail"},
    ]
    lake = build_change_lake(spark, tmp_path, FLAT, checks=checks)
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 1, "name": "a"}, {"op": "I", "id": 2, "at": 1, "name": "b"}),
        write_lines({"op": "U", "id": 1, "at": 2, "name": "c"}, {"op": "D", "id": 1, "at": 11}),
        write_lines({"op": "U", "id": 2, "at": 2}, {"op": "U", "id": 2, "at": 3, "name": "d"}),
    )
    assert lake.rows("rows", "id", "name") == [(2, "d")]
    assert lake.quarantine("reason") == [("failed_check",)]


@pytest.mark.parametrize("table_type", TABLE_TYPES)
@pytest.mark.slow
def test_rows_move_between_partitions(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    index = {"type": "global_simple"}
    lake = build_change_lake(spark, tmp_path, FLAT, partition="shop", index=index, table_type=table_type)
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 1, "shop": "a"}, {"op": "I", "id": 2, "at": 1, "shop": "a"}),
        write_lines({"op": "U", "id": 1, "at": 3, "shop": "b"}, {"op": "D", "id": 2, "at": 3}),
        write_lines({"op": "U", "id": 1, "at": 2, "shop": "c"}),
    )
    assert lake.rows("rows", "id", "shop") == [(1, "b")]


def test_the_change_log_has_deletes(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT, cdc="data_before_after")
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 1}, {"op": "I", "id": 2, "at": 1}),
        write_lines({"op": "D", "id": 1, "at": 2}, {"op": "U", "id": 2, "at": 3}),
    )
    commits = lake.table("rows").load_timeline().commits
    log = lake.table("rows").read_change_log("0", commits[-1].completed)
    assert sorted(row["op"] for row in log.collect()) == ["d", "i", "i", "u"]


def test_a_sample_shows_rows_not_changes(spark: SparkSession, tmp_path: Path) -> None:
    sql = "select _headwater_source, id, upper(text) as text from input"
    lake = build_change_lake(spark, tmp_path, DEBEZIUM, transform=[{"sql": sql}])
    lake.put(
        "a.json",
        write_lines(
            build_envelope(1, "insert", None, {"id": 1, "text": "a"}),
            build_envelope(2, "delete", {"id": 2}, None),
        ),
    )
    report = try_transform(lake.app, {}, "rows", sample="a.json", limit=10, step=None)
    assert [step.rows for step in report.steps] == [({"id": 1, "text": "a"},), ({"id": 1, "text": "A"},)]
    (seen,) = preview_schema(lake.app, {}, "rows", ["a.json"])
    assert [effect.column for effect in seen.columns] == ["id", "text"]


KEEP = "select * from input where id < 3"


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({}, id="plain"),
        pytest.param({"transform": [{"sql": KEEP}]}, id="transform", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_deep_verification_compares_the_changes_of_each_file(
    spark: SparkSession, tmp_path: Path, table: dict[str, Any]
) -> None:
    lake = build_change_lake(spark, tmp_path, DEBEZIUM, **table)
    rows = [build_envelope(at, "insert", None, {"id": at, "text": "a"}) for at in (1, 2, 3)]
    lake.put("a.json", write_lines(*rows))
    lake.put(
        "b.json",
        write_lines(
            build_envelope(4, "delete", {"id": 1}, None), build_envelope(9, "delete", {"id": 7}, None)
        ),
    )
    lake.ingest("rows")
    report = Verify(lake.app, deep=1).run(["rows"])
    assert report.is_complete
    assert report.tables["rows"].deep is not None
    assert report.tables["rows"].deep.objects == 2
    # A row that differs from the file it came from.
    frame = lake.table("rows").read().where("id = 2")
    own = [name for name in frame.columns if name.startswith("_hoodie_") and name != DELETED]
    config = lake.settings.tables["rows"]
    options = TableWriter("rows", config, lake.table("rows")).build_options()
    lake.table("rows").write(frame.drop(*own).withColumn("text", F.lit("wrong")), options)
    report = Verify(lake.app, deep=1).run(["rows"])
    (found,) = report.tables["rows"].problems
    assert found.detail == "re-read: 1 rows of the table are not in the object"
    # A row and a delete that were lost.
    delete_rows(
        ServiceTable.of(spark, find_address(lake.settings, "rows"), lake.settings.tables["rows"]), "id = 2"
    )
    tombstones = lake.app.stores.tombstones
    kept = tombstones.read("rows")
    assert kept is not None
    tombstones.remove("rows", kept.where("key = 'id=7'"), tombstones.load_state("rows"))
    report = Verify(lake.app, deep=1).run(["rows"])
    details = sorted(found.detail for found in report.tables["rows"].problems)
    assert details == ["re-read: 1 of its changes are missing from the table"] * 2


def test_rows_are_not_written_past_the_changes(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT)
    lake.put("a.json", write_lines({"op": "I", "id": 1, "at": 1}))
    lake.ingest("rows")
    frame = spark.createDataFrame([(1, 2)], "id bigint, at bigint")
    with pytest.raises(UsageError, match="its rows are those of a database"):
        write(lake.settings, "rows", frame, "upsert")


@pytest.mark.slow
def test_a_retry_applies_changes_that_are_known_now(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT)
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 1, "name": "a"}, {"op": "M", "id": 1, "at": 2, "name": "b"}),
        write_lines({"op": "I", "id": 2, "at": 3, "name": "c"}),
    )
    assert lake.quarantine("reason") == [("unknown_change",)]
    lake.change("rows", changes={**FLAT, "update": ["U", "M"]})
    app = App(lake.settings, spark=spark)
    now = datetime.now(timezone.utc)
    lake.append(Redrive(app).ask_again(str(lake.source), "0.json", now))
    lake.ingest("rows")
    assert lake.rows("rows", "id", "name") == [(1, "b"), (2, "c")]
    assert lake.quarantine("reason") == []


def test_another_order_is_another_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT)
    lake.put("a.json", write_lines({"op": "I", "id": 1, "at": 1, "lsn": 5}))
    lake.ingest("rows")
    lake.change("rows", changes={**FLAT, "sequence": "lsn"})
    with pytest.raises(TableMismatchError, match=r"changes\.sequence"):
        lake.ingest("rows")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"op": "operation"}, "changes.op: no column 'operation'"),
        ({"sequence": "ts"}, "changes.sequence: no column 'ts'"),
        ({"sequence": "name"}, "changes.sequence: column 'name' is text"),
        ({"sequence": "tags"}, "changes.sequence: column 'tags' has type array<bigint>"),
    ],
    ids=["op", "sequence", "text", "list"],
)
def test_wrong_fields_are_errors(
    spark: SparkSession, tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    lake = build_change_lake(spark, tmp_path, {**FLAT, **changes})
    lake.put("a.json", write_lines({"op": "I", "id": 1, "at": 1, "name": "a", "tags": [1]}))
    with pytest.raises(ConfigError, match=re.escape(text)):
        lake.ingest("rows")
