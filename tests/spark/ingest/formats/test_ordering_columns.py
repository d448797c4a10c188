"""Which row wins where the ordering comes as text."""

import pytest

from headwater.errors import ConfigError
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

TIMES = ["2026-05-02T10:00:00+02:00", "2026-05-02T09:00:00Z", "2026-05-02 08:30"]


def merge(build, texts: list[str], **table) -> FolderLake:
    """Each text is the ordering of one row, all in one object, with the same key."""
    lake = build(t={"path": "*.json", "record_key": "id", "ordering": "v", **table})
    lake.put("1.json", "".join(f'{{"id": 1, "v": "{text}", "at": {at}}}\n' for at, text in enumerate(texts)))
    return lake


def test_times_are_compared_as_times(build):
    lake = merge(build, TIMES)
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]
    lake.put("2.json", '{"id": 1, "v": "2026-05-02T10:30:00+02:00", "at": 3}\n')
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]


def test_numbers_in_texts_are_asked_about_and_the_line_of_the_hint_works(build):
    lake = merge(build, ["10", "9"])
    with pytest.raises(ConfigError) as caught:
        lake.ingest("t")
    assert 'schema_hints: "v bigint"' in caught.value.hint
    lake.change("t", schema_hints="v bigint")
    lake.ingest("t")
    assert lake.rows("t", "at") == [(0,)]
    lake.put("2.json", '{"id": 1, "v": "9", "at": 2}\n')
    lake.put("3.json", '{"id": 1, "v": "11", "at": 3}\n')
    lake.ingest("t")
    assert lake.rows("t", "at") == [(3,)]


def test_strings_of_a_parquet_file_are_asked_about(build):
    lake = build(t={"path": "*.parquet", "record_key": "id", "ordering": "v"})
    lake.put("1.parquet", write_parquet({"id": [1], "v": ["9"]}))
    with pytest.raises(ConfigError) as caught:
        lake.ingest("t")
    assert 'schema_hints: "v string"' in caught.value.hint
    lake.change("t", schema_hints="v string")
    lake.ingest("t")
    assert lake.rows("t", "v") == [("9",)]


def test_order_of_texts_is_taken_when_it_is_asked_for(build):
    lake = merge(build, ["10", "9"], schema_hints="v string")
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]
