"""Keys come from options or files; a command that names none, or the wrong table, is refused with a hint."""

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.app.erasure.command import Subjects, check_table, choose_columns
from headwater.app.erasure.subjects_given import hash_keys, read_keys_file
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.erasure.subjects import Secret, SubjectHasher

SETTINGS = Settings.model_validate(
    {
        "source": {"type": "local", "path": "/in"},
        "lake": "/lake",
        "tables": {
            "orders": {"path": "*.json", "record_key": ["day", "id"]},
            "people": {"path": "*.csv", "record_key": "id"},
            "clicks": {"path": "*.parquet", "mode": "append"},
            "paid": {"from": "orders", "transform": [{"sql": "select * from input"}]},
        },
    }
)


def test_only_tables_of_objects_are_named() -> None:
    check_table(SETTINGS, "orders")
    for name, text in {
        "paid": "its rows come from orders",
        "events": "own tables",
        "order": "no table",
    }.items():
        with pytest.raises(UsageError, match=text):
            check_table(SETTINGS, name)


def test_columns_are_those_of_the_record_key_unless_given() -> None:
    assert choose_columns(SETTINGS, "people", Subjects(("1",))) == ("id",)
    assert choose_columns(SETTINGS, "clicks", Subjects(("1",), by=("user",))) == ("user",)
    with pytest.raises(UsageError, match="no record key"):
        choose_columns(SETTINGS, "clicks", Subjects(("1",)))
    with pytest.raises(UsageError, match="2 columns"):
        choose_columns(SETTINGS, "orders", Subjects(("1",)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.csv", "\ufeffID,Day,x\n7,2026-01-31,\n8,2026-02-01,y\n"),
        ("k.jsonl", '{"id": 7, "day": "2026-01-31"}\n\n{"DAY": "2026-02-01", "id": "8"}\n'),
    ],
)
def test_keys_of_several_columns_are_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    keys = read_keys_file(tmp_path / name, ("day", "id"))
    assert keys == [("2026-01-31", "7"), ("2026-02-01", "8")]
    hasher = SubjectHasher.of(Secret(b"s" * 32), ("day", "id"))
    schema = pa.schema({"Day": pa.date32(), "id": pa.int32()})
    assert hash_keys(hasher, keys, schema, "orders") == {hasher.hash(key) for key in keys}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.csv", "day\n2026-01-31\n"),
        ("k.csv", "day,id\n2026-01-31\n"),
        ("k.jsonl", '{"day": "2026-01-31", "id": 1.5}\n'),
        ("k.jsonl", "[1]\n"),
        ("k.jsonl", "{\n"),
        ("absent.csv", None),
    ],
)
def test_unusable_file_of_keys_is_refused(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match="--keys-file"):
        read_keys_file(tmp_path / name, ("day", "id"))


def test_unknown_column_is_refused() -> None:
    hasher = SubjectHasher.of(Secret(b"s" * 32), ("customer",))
    with pytest.raises(UsageError, match="table orders has no column customer"):
        hash_keys(hasher, [("x",)], pa.schema({"id": pa.int32()}), "orders")
