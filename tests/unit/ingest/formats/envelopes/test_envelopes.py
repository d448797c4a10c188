"""Envelopes of text and of typed columns give the same records."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from headwater.config.table.changes import ChangesConfig
from headwater.errors import ObjectUnreadableError
from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.formats.envelopes import (
    CHANGE,
    SEQUENCE_TEXT,
    Envelope,
    read_envelope,
    unwrap_lines,
    unwrap_schema,
    unwrap_table,
)
from headwater.ingest.formats.envelopes.sequence import join_sequence
from headwater.ingest.formats.markers import MARKER, REASONS
from headwater.ingest.formats.protocol import Lines
from headwater.ingest.formats.reader_options import ReaderOptions

ROW = pa.struct([("id", pa.int64()), ("name", pa.string()), ("data", pa.binary())])
SOURCE = pa.struct([("schema", pa.string()), ("table", pa.string()), ("lsn", pa.int64())])
SCHEMA = pa.schema(
    [("before", ROW), ("after", ROW), ("source", SOURCE), ("op", pa.string()), ("ts_ms", pa.int64())]
)
OF_ROWS = {"schema": "shop", "table": "rows"}


def build(keys: tuple[str, ...] = ("id",), **changes: Any) -> Envelope:
    given = ChangesConfig.model_validate({"preset": "debezium", "sequence": "source.lsn", **changes})
    envelope = ChangeRules("t", given.settled, keys).envelope
    assert envelope is not None
    return envelope


def unwrap(envelope: Envelope, *records: Any) -> list[dict[str, Any] | str]:
    """The records of JSON texts; the reason for a marked one."""
    lines = unwrap_lines(Lines(range(1, len(records) + 1), [json.dumps(r) for r in records]), envelope)
    return [REASONS[t[:2]] if t.startswith(MARKER) else json.loads(t) for t in lines.texts]


def unwrap_typed(envelope: Envelope, *records: Any) -> list[dict[str, Any] | str]:
    """The records of typed columns, without nulls; the reason for a rejected one."""
    table, _, _ = unwrap_table("t.parquet", pa.Table.from_pylist(list(records), schema=SCHEMA), envelope)
    return [
        row[CHANGE][1:] if row[CHANGE].startswith("?") else {k: v for k, v in row.items() if v is not None}
        for row in table.to_pylist()
    ]


def change(op: str | None, before: Any, after: Any, **source: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": OF_ROWS | source, "op": op}


def record(kind: str, lsn: int, **row: Any) -> dict[str, Any]:
    return {CHANGE: kind, SEQUENCE_TEXT: join_sequence([lsn]), **row}


CASES: list[tuple[str, dict[str, Any], Sequence[Any]]] = [
    ("insert", change("c", None, {"id": 1, "name": "a"}, lsn=1), [record("upsert", 1, id=1, name="a")]),
    ("read", change("r", None, {"id": 1, "name": "a"}, lsn=1), [record("upsert", 1, id=1, name="a")]),
    ("delete", change("d", {"id": 1, "name": "a"}, None, lsn=1), [record("delete", 1, id=1, name="a")]),
    ("truncate", change("t", None, None, lsn=1), [record("truncate", 1)]),
    ("message", change("m", None, None, lsn=1), []),
    (
        "update",
        change("u", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}, lsn=1),
        [record("upsert", 1, id=1, name="b")],
    ),
    (
        "key",
        change("u", {"id": 1, "name": "a"}, {"id": 2, "name": "a"}, lsn=1),
        [record("delete", 1, id=1, name="a"), record("upsert", 1, id=2, name="a")],
    ),
    ("unknown", change("q", None, {"id": 1, "name": "a"}, lsn=1), ["unknown_change"]),
    ("none", change(None, None, {"id": 1, "name": "a"}, lsn=1), ["unknown_change"]),
    ("rowless", change("c", None, None, lsn=1), ["no_row"]),
    ("rowless delete", change("d", None, None, lsn=1), ["no_row"]),
    (
        "unavailable",
        change("u", None, {"id": 1, "name": "__debezium_unavailable_value"}, lsn=1),
        ["unavailable_value"],
    ),
    ("other table", change("c", None, {"id": 1, "name": "a"}, lsn=1, table="people"), []),
    ("other schema", change("c", None, {"id": 1, "name": "a"}, lsn=1, schema="hr"), []),
]


@pytest.mark.parametrize(("given", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_texts_and_typed_columns_give_the_same(given: dict[str, Any], wanted: list[Any]) -> None:
    envelope = build(table="shop.rows")

    def without_rest(found: list[dict[str, Any] | str]) -> list[Any]:
        # Of the old row, a typed record has all columns, a text only the key.
        deleted = {CHANGE, SEQUENCE_TEXT, "id"}
        return [
            {k: v for k, v in one.items() if k in deleted}
            if isinstance(one, dict) and one[CHANGE] == "delete"
            else one
            for one in found
        ]

    assert without_rest(unwrap(envelope, given)) == without_rest(wanted)
    assert without_rest(unwrap_typed(envelope, given)) == without_rest(wanted)


def test_records_keep_the_numbers_of_their_envelopes() -> None:
    given = [
        change("c", None, {"id": 1}, lsn=1),
        None,
        change("u", {"id": 1}, {"id": 2}, lsn=2),
        change("m", None, None, lsn=3),
        change("c", None, {"id": 3}, lsn=4),
    ]
    lines = unwrap_lines(Lines(range(1, 6), [json.dumps(one) for one in given]), build())
    assert list(lines.row_numbers) == [1, 3, 3, 5]
    typed = [one for one in given if one is not None]
    _, numbers, _ = unwrap_table("t", pa.Table.from_pylist(typed, schema=SCHEMA), build())
    assert list(numbers) == [1, 2, 2, 4]


def test_changes_of_other_tables_are_noted() -> None:
    envelope = build(table="shop.orders")
    given = [change("c", None, {"id": 1}, lsn=1), change("c", None, {"id": 2}, lsn=2, table="people")]
    wanted = "2 changes of other tables are left out: shop.people, shop.rows"
    lines = Lines([1, 2], [json.dumps(one) for one in given], note="a note")
    assert unwrap_lines(lines, envelope).note == f"a note; {wanted}"
    assert unwrap_table("t", pa.Table.from_pylist(given, schema=SCHEMA), envelope)[2] == wanted
    assert (
        unwrap_lines(lines, build(table="rows")).note
        == "a note; 1 changes of other tables are left out: shop.people"
    )


def test_bytes_that_an_update_left_unchanged() -> None:
    lacking = change("u", None, {"id": 1, "data": b"__debezium_unavailable_value"}, lsn=1)
    assert unwrap_typed(build(), lacking) == ["unavailable_value"]
    lacking["after"]["data"] = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
    assert unwrap(build(), lacking) == ["unavailable_value"]


def test_keys_of_several_columns() -> None:
    envelope = build(("shop", "id"))
    moved = change("u", {"shop": "a", "id": 1}, {"shop": "b", "id": 1}, lsn=1)
    assert unwrap(envelope, moved)[0] == record("delete", 1, shop="a", id=1)
    partly = change("u", {"shop": None, "id": 1}, {"shop": "b", "id": 1}, lsn=1)
    assert unwrap(envelope, partly) == [record("upsert", 1, shop="b", id=1)]


def test_maxwell_numbers_the_changes_of_a_transaction() -> None:
    given = ChangesConfig.model_validate({"preset": "maxwell"})
    envelope = ChangeRules("t", given.settled, ("id",)).envelope
    assert envelope is not None
    first = {"type": "update", "ts": 5, "xid": 7, "xoffset": 1, "data": {"id": 1}, "old": {}}
    last = {"type": "update", "ts": 5, "xid": 7, "commit": True, "data": {"id": 1}, "old": {"id": 2}}
    found = unwrap(envelope, first, last)
    assert [one[CHANGE] for one in found if isinstance(one, dict)] == ["upsert", "delete", "upsert"]
    texts = [one[SEQUENCE_TEXT] for one in found if isinstance(one, dict)]
    assert texts[0] < texts[1] == texts[2]


@pytest.mark.parametrize("text", ["[1]", "17", '"a"', "{half", '{"op": "c"} {"op": "c"}', MARKER + "\ufdd0x"])
def test_what_is_no_envelope_stays(text: str) -> None:
    assert unwrap_lines(Lines([1], [text]), build()).texts == [text]


def test_an_empty_row_is_a_record() -> None:
    assert unwrap(build(), change("c", None, {}, lsn=1)) == [record("upsert", 1)]


def test_options_carry_the_envelope() -> None:
    envelope = build(table="shop.rows")
    assert read_envelope(ReaderOptions(envelope.to_option())) == envelope
    assert read_envelope(ReaderOptions({"multiLine": "true"})) is None


def test_columns_of_the_rows() -> None:
    wider = pa.schema([("before", ROW), ("after", pa.struct([("id", pa.int64()), ("price", pa.float64())]))])
    assert unwrap_schema("t", wider, build()).names == ["id", "price", "name", "data"]
    with pytest.raises(ObjectUnreadableError, match="no column 'after'"):
        unwrap_schema("t", pa.schema([("id", pa.int64())]), build())
