"""The committed page of columns has every column of the schemas, in their order."""

import pytest
from pyspark.sql.types import StructType

import write_table_columns


def test_committed_page_is_up_to_date() -> None:
    how = "run `python scripts/write_table_columns.py`"
    assert write_table_columns.PAGE.read_text("utf-8") == write_table_columns.write(), how


@pytest.mark.parametrize(
    ("schema", "meanings"), [table[2:] for table in write_table_columns.TABLES], ids=lambda part: ""
)
def test_every_column_has_a_meaning(schema: StructType, meanings: dict[str, str]) -> None:
    assert list(meanings) == schema.fieldNames()


def test_rows_have_type_and_meaning() -> None:
    assert "| `size` | bigint | Bytes of the object. |" in write_table_columns.write()
