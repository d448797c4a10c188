"""`columns:` of a table: what a vector or a blob may be, and be beside; what is said of the rest."""

from pathlib import Path

import pytest
import yaml

from headwater.config.hudi.column_types import VectorType, parse_column_type
from headwater.config.loader import parse_settings
from headwater.config.table import TableConfig
from headwater.config.table.column_types import list_column_types
from headwater.errors import ConfigError
from headwater.lake.transforms.checking import check_processing

MERGE = {"path": "*.json", "record_key": "id"}
VECTOR = {"columns": {"e": "vector(3)"}}


def load(**table):
    data = {"source": {"type": "local", "path": "in"}, "lake": "out", "tables": {"t": table}}
    return parse_settings(yaml.safe_dump(data), Path("headwater.yaml"), {})


@pytest.mark.parametrize(
    ("text", "spelled", "hudi_type"),
    [
        ("vector(384)", "vector(384)", "VECTOR(384)"),
        (" VECTOR ( 3 , Double ) ", "vector(3, double)", "VECTOR(3, DOUBLE)"),
        ("vector(3, float)", "vector(3)", "VECTOR(3)"),
        ("Blob", "blob", "BLOB"),
    ],
)
def test_types_are_spelled_as_hudi_does(text, spelled, hudi_type):
    found = parse_column_type(text)
    assert (str(found), found.hudi_type) == (spelled, hudi_type)


def test_columns_have_their_types():
    config = TableConfig.model_validate(MERGE | {"columns": {"e": "vector(3, double)"}})
    assert list_column_types(config) == {"e": VectorType(3, "double")}


@pytest.mark.parametrize(
    ("table", "expected_message"),
    [
        (MERGE | {"columns": {"e": "vector"}}, "columns.e: 'vector' is not one of Hudi's own types"),
        (MERGE | {"columns": {"e": "string"}}, "columns.e: 'string' is not one of Hudi's own types"),
        (MERGE | {"columns": {"e": "vector(0)"}}, "columns.e: 'vector(0)': a vector has 1 to 65536 elements"),
        (MERGE | {"columns": {"e": "vector(3, int8)"}}, "the elements of a vector are float or double"),
        (MERGE | {"columns": {"e": "variant"}}, "'variant' requires Spark 4; headwater runs Hudi 1.2 on"),
        (MERGE | {"columns": {"e e": "blob"}}, "columns.e e: is not a valid column name"),
        (MERGE | {"columns": {"_hoodie_e": "blob"}}, "is a meta field of Hudi or headwater"),
        (MERGE | {"columns": {"id": "vector(3)"}}, "record_key: 'id' is a vector, which cannot identify"),
        (MERGE | VECTOR | {"ordering": "e"}, "ordering: 'e' is a vector"),
        (MERGE | VECTOR | {"partition": "E"}, "partition: 'e' is a vector"),
        (MERGE | VECTOR | {"partition_columns": "e"}, "partition_columns: 'e' is a vector"),
        (MERGE | VECTOR | {"column_stats": ["e"]}, "column_stats: 'e' is a vector"),
        (MERGE | VECTOR | {"base_file_format": "orc"}, "base_file_format: 'orc' cannot store a vector in"),
        (MERGE | VECTOR | {"cdc": "op_key_only"}, "cdc: 'op_key_only' cannot be combined with a vector"),
        ({"path": "*.csv"} | VECTOR, "columns.e: `format: csv` has no vector; create it with a transform"),
        ({"path": "*.xml", "columns": {"e": "blob"}}, "`format: xml` has no blob"),
        (
            {"path": "*.jpg", "format": "binary", "columns": {"photo": "blob"}},
            "columns.photo: `format: binary` has no column 'photo'; the bytes are in `content`",
        ),
    ],
)
def test_invalid_types_are_reported_in_one_line(table, expected_message):
    with pytest.raises(ConfigError) as caught:
        load(**table)
    assert caught.value.exit_code == 2
    (line,) = caught.value.message.splitlines()
    assert expected_message in line


@pytest.mark.parametrize(
    "table",
    [
        MERGE | {"columns": {"e": "blob"}, "cdc": "data_before_after"},
        MERGE | VECTOR | {"table_type": "merge_on_read", "column_stats": True},
        {
            "path": "*.csv",
            "transform": [{"sql": "select _headwater_source, from_json(e, 'array<double>') as e from input"}],
        }
        | VECTOR,
        {"path": "*.jpg", "format": "binary", "columns": {"content": "blob"}},
    ],
)
def test_valid_types_are_accepted(table):
    check_processing(load(**table), {})


def test_tables_built_from_tables_have_them_too():
    config = TableConfig.model_validate({"from": "t"} | VECTOR)
    assert list_column_types(config) == {"e": VectorType(3)}


@pytest.mark.parametrize(
    "table",
    [
        MERGE | VECTOR | {"schema": "id bigint, embedding array<float>"},
        MERGE | VECTOR | {"transform": [{"sql": "select _headwater_source, id from input"}]},
        MERGE | VECTOR | {"transform": [{"drop": ["e"]}], "schema": "id bigint, e array<float>"},
    ],
)
def test_missing_column_is_reported_before_spark_starts(table):
    with pytest.raises(ConfigError, match=r"tables\.t\.columns: no column 'e'"):
        check_processing(load(**table), {})
