"""One table over a folder: what a user finds in the tables."""

import gzip

import pytest

ORDERS = {"path": "orders/*.json", "mode": "merge", "record_key": "id", "ordering": "ts"}
CLICKS = {"path": "clicks/*.json", "mode": "append"}


def test_objects_become_rows(build):
    lake = build(orders=ORDERS)
    lake.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}\n{"id": 2, "ts": 1, "name": "b"}\n')
    (result,) = lake.ingest("orders")
    assert (result.rows, dict(result.objects)) == (2, {"ingested": 1})
    assert lake.rows("orders", "id", "name") == [(1, "a"), (2, "b")]


def test_rows_have_their_object_address(build):
    lake = build(clicks=CLICKS)
    lake.put("clicks/a b+é.json", '{"n": 1}\n\n{"n": 2}\n')
    lake.ingest("clicks")
    rows = lake.rows("clicks", "n", "_headwater_row", "_headwater_object")
    uri = str(lake.source / "clicks/a b+é.json")
    assert rows == [(1, 1, uri), (2, 3, uri)]


def test_merge_keeps_the_row_with_the_higher_ordering_whatever_comes_last(build):
    lake = build(orders=ORDERS)
    lake.put("orders/new.json", '{"id": 1, "ts": 9, "name": "new"}')
    lake.ingest("orders")
    lake.put("orders/old.json", '{"id": 1, "ts": 3, "name": "old"}')
    lake.ingest("orders")
    assert lake.rows("orders", "id", "name") == [(1, "new")]


def test_merge_without_ordering_follows_the_newer_event(build):
    lake = build(orders={"path": "orders/*.json", "record_key": "id"})
    lake.put("orders/1.json", '{"id": 1, "name": "first"}')
    lake.put("orders/2.json", '{"id": 1, "name": "second"}')
    lake.ingest("orders")
    assert lake.rows("orders", "id", "name") == [(1, "second")]


def test_append_inserts_each_object_once_across_restarts(build):
    lake = build(clicks=CLICKS)
    lake.put("clicks/1.json", '{"n": 1}')
    lake.ingest("clicks")
    lake.ingest("clicks")
    lake.put("clicks/2.json", '{"n": 1}')
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(1,), (1,)]


def test_restart_continues_inside_a_commit(build):
    lake = build(clicks={**CLICKS, "max_files_per_trigger": 2})
    lake.put_many((f"clicks/{n}.json", f'{{"n": {n}}}') for n in range(5))
    first = lake.pipeline("clicks").run_batch()
    assert first.more
    assert len(lake.rows("clicks", "n")) == 2
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(n,) for n in range(5)]


def test_bad_lines_are_quarantined_with_line_and_text_and_good_ones_land(build):
    lake = build(orders={**ORDERS, "schema": "id bigint, ts bigint, name string"})
    lake.put("orders/1.json", '{"id": 1, "ts": 1}\n{"id": 2, \n{"id": "x", "ts": 1}\n{"id": 4, "ts": 1}\n')
    (result,) = lake.ingest("orders")
    assert (result.rows, result.bad_rows) == (2, 2)
    assert [row[0] for row in lake.rows("orders", "id")] == [1, 4]
    assert lake.quarantine("level", "reason", "key", "line", "payload") == [
        ("record", "unparsable", "orders/1.json", 2, '{"id": 2, '),
        ("record", "unparsable", "orders/1.json", 3, '{"id": "x", "ts": 1}'),
    ]


def test_object_without_one_good_record_is_one_entry(build):
    lake = build(orders={**ORDERS, "schema": "id bigint, ts bigint"})
    lake.put_many([("orders/bad.json", "not\njson\n"), ("orders/good.json", '{"id": 1, "ts": 1}')])
    (result,) = lake.ingest("orders")
    assert dict(result.objects) == {"ingested": 1, "quarantined": 1}
    assert lake.quarantine("level", "reason", "key") == [("object", "unparsable", "orders/bad.json")]
    assert lake.rows("orders", "id") == [(1,)]


def test_each_bad_object_gets_its_reason_and_the_others_land(build):
    lake = build(clicks={"path": "clicks/**", "format": "json"})
    lake.write("clicks/good.json", '{"n": 1}')
    lake.write("clicks/cut.json.gz", gzip.compress(b'{"n": 2}\n' * 500)[:-20])
    lake.write("clicks/empty.json", b"")
    lake.write("clicks/whole.json.gz", gzip.compress(b'{"n": 3}\n'))
    lake.announce(
        "clicks/good.json",
        "clicks/cut.json.gz",
        "clicks/empty.json",
        "clicks/whole.json.gz",
        "clicks/gone.json",
    )
    (result,) = lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(1,), (3,)]
    assert lake.quarantine("level", "reason", "key") == [
        ("object", "missing", "clicks/gone.json"),
        ("object", "unparsable", "clicks/cut.json.gz"),
    ]
    assert ("clicks/empty.json", "skipped", "empty_object") in lake.ledger("key", "status", "reason")
    assert sum(result.objects.values()) == 5


def test_batch_done_again_adds_nothing_to_quarantine(build):
    lake = build(clicks=CLICKS)
    lake.announce("clicks/gone.json")
    lake.ingest("clicks")
    lake.ingest("clicks")
    assert lake.quarantine("key") == [("clicks/gone.json",)]


def test_object_overwritten_before_it_was_read_gives_the_new_rows_once(build):
    lake = build(clicks=CLICKS)
    lake.put("clicks/1.json", '{"n": 1}')
    lake.put("clicks/1.json", '{"n": 2, "more": "x"}')
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(2,)]


def test_content_that_was_overwritten_before_it_was_read_is_not_taken_for_its_successor(build):
    lake = build(clicks=CLICKS)
    lake.put("clicks/0.json", '{"n": 0}')
    lake.put("clicks/1.json", '{"n": 1}')
    lake.write("clicks/1.json", '{"n": 22}')
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(0,)]
    lake.announce("clicks/1.json")
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(0,), (22,)]
    assert lake.quarantine("key") == []


def test_late_event_of_a_replaced_state_adds_nothing(build):
    lake = build(clicks=CLICKS)
    lake.write("clicks/1.json", '{"n": 1}')
    stale = lake.capture("clicks/1.json")
    lake.put("clicks/1.json", '{"n": 22}')
    lake.ingest("clicks")
    lake.app.events.append([stale])
    lake.ingest("clicks")
    assert lake.rows("clicks", "n") == [(22,)]
    assert lake.ledger("status", "rows", "events") == [("ingested", 1, 2)]


def test_csv_with_columns_in_another_order_is_read_by_name(build):
    lake = build(people={"path": "*.csv", "options": {"header": "true"}})
    lake.put("1.csv", "id,name\n1,Ann\n")
    lake.put("2.csv", "name,id\nBob,2\n")
    lake.ingest("people")
    assert lake.rows("people", "id", "name") == [(1, "Ann"), (2, "Bob")]


def test_partition_columns_come_from_the_path(build):
    lake = build(
        sales={
            "path": "sales/**/*.json",
            "partition_columns": "day",
            "partition": "day",
            "record_key": "id",
        }
    )
    lake.put("sales/day=2026-05-01/a.json", '{"id": 1}')
    lake.put("sales/day=2026-05-02/a.json", '{"id": 2}')
    lake.ingest("sales")
    assert lake.rows("sales", "id", "day") == [(1, "2026-05-01"), (2, "2026-05-02")]


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_both_table_types_merge(build, table_type):
    lake = build(orders={**ORDERS, "table_type": table_type})
    lake.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}')
    lake.ingest("orders")
    lake.put("orders/2.json", '{"id": 1, "ts": 2, "name": "b"}')
    lake.ingest("orders")
    assert lake.rows("orders", "id", "name") == [(1, "b")]


def test_large_object_is_split_with_the_same_rows_and_numbers(build):
    lines = [f'{{"n": {n}, "text": "{"x" * 50}"}}' for n in range(3000)]
    lines[1500] = "broken"
    lake = build(
        small={"path": "*.json", "mode": "append", "schema": "n bigint, text string"},
        large={
            "path": "*.json",
            "mode": "append",
            "schema": "n bigint, text string",
            "large_file_bytes": "1kb",
            "options": {},
        },
    )
    lake.put("big é+%41.json", "\n".join(lines))
    lake.ingest("small")
    lake.ingest("large")
    assert lake.rows("large", "n", "_headwater_row") == lake.rows("small", "n", "_headwater_row")
    assert len(lake.rows("large", "n")) == 2999
    assert lake.quarantine("table", "line") == [("large", 1501), ("small", 1501)]


def test_checkpoint_is_kept_when_only_external_events_came(build):
    lake = build(clicks=CLICKS)
    lake.put("clicks/1.json", '{"n": 1}')
    lake.ingest("clicks")
    lake.put("other/1.json", '{"n": 1}')
    pipeline = lake.pipeline("clicks")
    while pipeline.run_batch() is not None:
        pass
    assert pipeline.save_checkpoint()
    assert lake.pipeline("clicks").position == lake.app.events.find_newest()
    assert lake.rows("clicks", "n") == [(1,)]


def test_external_commit_does_not_hide_the_checkpoint(spark, build):
    from headwater.lake.layout import table_path

    lake = build(orders=ORDERS)
    lake.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}')
    lake.ingest("orders")
    before = lake.pipeline("orders").position
    path = table_path(lake.lake, "orders")
    rows = spark.read.format("hudi").load(path)
    rows = rows.drop(*[c for c in rows.columns if c.startswith("_hoodie_")])
    rows.write.format("hudi").option("hoodie.datasource.write.operation", "upsert").option(
        "hoodie.metadata.enable", "false"
    ).option("hoodie.table.name", "orders").mode("append").save(path)
    assert lake.pipeline("orders").position == before
