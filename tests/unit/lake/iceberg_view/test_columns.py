"""Types and ids of a view's columns, and files that do not fit them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyiceberg.table.name_mapping import parse_mapping_from_json
from pyiceberg.types import LongType

from headwater.errors import IcebergViewError
from headwater.lake.iceberg_view.columns import (
    build_name_mapping,
    build_schema,
    find_unreadable,
    is_evolution,
)

ALL = pa.schema(
    [
        ("_hoodie_commit_time", pa.string()),
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("rate", pa.float32()),
        ("price", pa.float64()),
        ("name", pa.string()),
        ("raw", pa.binary()),
        ("code", pa.binary(4)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("time", pa.time64("us")),
        ("total", pa.decimal128(20, 4)),
        ("tags", pa.list_(pa.string())),
        ("lines", pa.list_(pa.struct([("sku", pa.string()), ("sizes", pa.list_(pa.int32()))]))),
        ("notes", pa.map_(pa.string(), pa.struct([("n", pa.int32())]))),
        ("_headwater_object", pa.string()),
    ]
)


def columns(**types: Any) -> pa.Schema:
    return pa.schema(list(types.items()))


def write(folder: Path, schema: pa.Schema) -> parquet.FileMetaData:
    path = folder / "file.parquet"
    parquet.write_table(schema.empty_table(), path)
    return parquet.read_metadata(path)


def test_each_type_that_headwater_writes_has_one_in_iceberg() -> None:
    schema = build_schema(ALL, None, 0)
    assert [str(field.field_type).partition("<")[0] for field in schema.fields] == [
        *("boolean", "int", "int", "long", "float", "double", "string", "binary", "fixed[4]", "date"),
        *("timestamptz", "timestamp", "time", "decimal(20, 4)", "list", "list", "map"),
    ]
    assert schema.column_names[0] == "flag"
    assert str(schema.find_type("lines.element.sku")) == "string"
    assert not any(field.required for field in schema.fields)
    mapping = parse_mapping_from_json(build_name_mapping(ALL, schema, schema.highest_field_id))
    ids = [field.field_id for field in mapping]
    assert {name for field in mapping for name in field.names} == set(ALL.names)
    assert len(set(ids)) == len(ids)


def test_columns_keep_their_ids_and_new_ones_get_unused_ids() -> None:
    first = build_schema(columns(a=pa.int32(), b=pa.list_(pa.string())), None, 0)
    # 9 was used by a column that no longer exists.
    wide = columns(c=pa.string(), b=pa.list_(pa.string()), a=pa.int64())
    second = build_schema(wide, first, 9)
    for name in ("a", "b", "b.element"):
        assert first.find_field(name).field_id == second.find_field(name).field_id
    assert second.find_field("c").field_id == 10
    assert second.find_type("a") == LongType()
    assert is_evolution(first, second)
    assert not is_evolution(second, first)


@pytest.mark.parametrize(
    ("before", "after", "is_read"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.float32(), pa.float64(), True),
        (pa.decimal128(9, 2), pa.decimal128(20, 2), True),
        (pa.decimal128(9, 2), pa.decimal128(20, 4), False),
        (pa.int64(), pa.float64(), False),
        (pa.int64(), pa.string(), False),
        (pa.string(), pa.binary(), False),
        (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64()), ("y", pa.string())]), True),
        (pa.struct([("x", pa.int64())]), pa.struct([("x", pa.float64())]), False),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), True),
        (pa.list_(pa.int32()), pa.int32(), False),
    ],
)
def test_only_what_iceberg_widens_is_an_evolution_and_fits(
    tmp_path: Path, before: pa.DataType, after: pa.DataType, is_read: bool
) -> None:
    old = build_schema(columns(a=before), None, 0)
    new = build_schema(columns(a=after), old, old.highest_field_id)
    assert is_evolution(old, new) == is_read
    misfit = find_unreadable(new, (), write(tmp_path, columns(a=before)))
    assert (misfit is None) == is_read
    if misfit is not None:
        assert misfit.column.startswith("a")
        assert not misfit.is_old_list


def test_files_may_lack_columns_and_have_hidden_ones(tmp_path: Path) -> None:
    schema = build_schema(columns(a=pa.int32(), b=pa.string()), None, 0)
    footer = write(tmp_path, columns(a=pa.int32(), _hoodie_file_name=pa.string(), other=pa.string()))
    assert find_unreadable(schema, ("_hoodie_file_name", "other"), footer) is None
    misfit = find_unreadable(schema, ("_hoodie_file_name",), footer)
    assert misfit is not None
    assert (misfit.column, misfit.reason) == ("other", "no such column")


def test_lists_of_older_releases_do_not_fit(tmp_path: Path) -> None:
    kind = pa.list_(pa.field("array", pa.string()))
    path = tmp_path / "old.parquet"
    parquet.write_table(columns(tags=kind).empty_table(), path, use_compliant_nested_type=False)
    schema = build_schema(columns(tags=pa.list_(pa.string())), None, 0)
    misfit = find_unreadable(schema, (), parquet.read_metadata(path))
    assert misfit is not None
    assert (misfit.column, misfit.is_old_list) == ("tags", True)


def test_type_that_iceberg_does_not_have_is_named_with_its_column() -> None:
    with pytest.raises(IcebergViewError, match=r"column lines\.element\.at: Iceberg has no type for time"):
        build_schema(columns(lines=pa.list_(pa.struct([("at", pa.timestamp("ns"))]))), None, 0)
