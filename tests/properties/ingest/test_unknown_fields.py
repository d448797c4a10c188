"""Records that are scanned together report what each of them reports alone."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.ingest.evolution import unknown_fields
from headwater.ingest.evolution.plain_records import PlainRecords
from headwater.ingest.evolution.unknown_fields import FieldScanner, ScannedTexts

SCHEMA = pa.schema(
    [
        ("a", pa.int64()),
        ("b", pa.struct([("a", pa.string()), ("c", pa.struct([("a", pa.int64())]))])),
        ("l", pa.list_(pa.struct([("a", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.struct([("a", pa.int64())]))),
        ("t", pa.string()),
    ]
)
WITHOUT_MAP = pa.schema([field for field in SCHEMA if field.name != "m"])
NAMES = st.sampled_from(["a", "b", "c", "l", "m", "t", "A", "x", "\\u0061", 'q\\":'])
BLANKS = st.sampled_from(["", "", "", " ", "\t", "\n"])
LEAVES = st.sampled_from(
    ["1", "null", "true", "1.50", '"x"', '" x"', '"\\":"', '"\\ud800"', "NaN", "[]", "{}", ""]
)
ENDS = st.sampled_from(["", "", "", " ", ",", " // note", ' {"a":1}', "x", "}"])


@st.composite
def write_object(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """An object as JSON text, perhaps with names that occur twice."""
    pairs = draw(st.lists(st.tuples(NAMES, BLANKS, values), max_size=4))
    return "{" + ",".join(f'"{name}"{blank}:{value}' for name, blank, value in pairs) + "}"


VALUES = st.recursive(
    LEAVES,
    lambda inside: write_object(inside) | st.lists(inside, max_size=3).map(lambda v: f"[{','.join(v)}]"),
    max_leaves=6,
)
TEXTS = st.tuples(BLANKS, write_object(VALUES) | VALUES, ENDS).map("".join)


def scan_each(schema: pa.Schema, texts: list[str], *, rescues: bool) -> ScannedTexts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainRecords, "are_all", lambda *_: False)
        patch.setattr(FieldScanner, "_is_plain", lambda *_: False)
        return FieldScanner(schema, ["x"]).scan(texts, rescues=rescues)


@example(schema=SCHEMA, texts=['{"a":1,"a" :2}'], rescues=True)
@example(schema=SCHEMA, texts=['{"a":1,"a":2}', '{"t":"\\":"}'], rescues=True)
@example(schema=WITHOUT_MAP, texts=['{"a":null,"a":1}'], rescues=True)
@example(schema=WITHOUT_MAP, texts=['{"l":[{"a":null,"\\u0061":"x"}]}'], rescues=True)
@example(schema=WITHOUT_MAP, texts=['{"a":1}{"a":2}', '{"a":1'], rescues=True)
@example(schema=WITHOUT_MAP, texts=['{"a":1}\n', '{"a":1}', '{"b":{}}{"x":1}'], rescues=False)
@given(
    schema=st.sampled_from([SCHEMA, WITHOUT_MAP]), texts=st.lists(TEXTS, max_size=6), rescues=st.booleans()
)
def test_scanned_together(schema: pa.Schema, texts: list[str], rescues: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unknown_fields, "_SCANNED_AT_ONCE", 3)
        found = FieldScanner(schema, ["x"]).scan(texts, rescues=rescues)
    assert found == scan_each(schema, texts, rescues=rescues)


def write_known(kind: pa.DataType, draw: Any) -> Any:
    """A value of a column."""
    if pa.types.is_struct(kind):
        return {field.name: write_known(field.type, draw) for field in kind if draw(st.booleans())}
    if pa.types.is_list(kind):
        return [write_known(kind.value_type, draw) for _ in range(draw(st.integers(0, 2)))]
    if pa.types.is_map(kind):
        return {key: write_known(kind.item_type, draw) for key in draw(st.sets(st.text("ab", min_size=1)))}
    return draw(st.none() | (st.integers() if pa.types.is_integer(kind) else st.text("x'")))


@given(data=st.data())
def test_records_of_columns_alone_are_plain(data: st.DataObject) -> None:
    record = write_known(pa.struct(list(SCHEMA)), data.draw)
    text = json.dumps(record, separators=data.draw(st.sampled_from([(",", ":"), (", ", ": ")])))
    assert FieldScanner(SCHEMA)._is_plain([text])


@given(data=st.data())
def test_records_of_one_kind_are_recognized_without_their_objects(data: st.DataObject) -> None:
    record = write_known(pa.struct(list(WITHOUT_MAP)), data.draw)
    assert PlainRecords(WITHOUT_MAP, ()).are_all([json.dumps(record)] * data.draw(st.integers(1, 3)))
