"""The index of a table by its size: what the table has stays, and none is built that could be lost."""

from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.lake.auto_index import (
    LEAST_BYTES,
    MOST_BYTES,
    choose_record_index,
    find_record_index,
    may_build,
    settle_index,
    sum_partitions,
)

MERGED = {"path": "*.json", "record_key": "id"}
PARTED = {**MERGED, "partition": "day"}
BUILT = ("files", "record_index")


def configure(**options: Any) -> TableConfig:
    return TableConfig.model_validate({**MERGED, **options})


@pytest.mark.parametrize("spelling", [{}, {"index": "auto"}, {"index": {"type": "auto"}}, {"index": None}])
def test_open_index_is_the_one_that_the_table_has(spelling: dict[str, Any]) -> None:
    config = configure(**spelling)
    assert settle_index(config, None).index is None
    for built in ("record_level", "global_record_level"):
        settled = settle_index(config, built)
        assert settled.index is not None
        assert settled.index.type == built


@pytest.mark.parametrize(
    "options",
    [
        {"index": {"type": "simple"}},
        {"index": {"type": "bucket", "buckets": 4}},
        {"metadata_table": False},
        {"hoodie": {"hoodie.index.type": "BLOOM"}},
        {"hoodie": {"hoodie.metadata.record.level.index.enable": "false"}},
    ],
)
def test_configured_choice_is_kept_whatever_the_table_has(options: dict[str, Any]) -> None:
    config = configure(**options)
    assert settle_index(config, "global_record_level") is config
    assert not may_build(config)


def test_kind_of_the_record_index_is_in_its_definition() -> None:
    assert find_record_index(("files",), {"isPartitioned": "true"}) is None
    assert find_record_index(BUILT, {"isPartitioned": "true"}) == "record_level"
    assert find_record_index(BUILT, {"isPartitioned": "false"}) == "global_record_level"
    assert find_record_index(BUILT, {}) == "global_record_level"


def test_partition_is_as_large_as_the_newest_file_of_each_group() -> None:
    files = [
        ("day=mo/g1-0_0-1-2_20260101000000000.parquet", 5),
        ("day=mo/g1-0_0-3-4_20260102000000000.parquet", 7),
        ("day=mo/g2-0_0-3-4_20260102000000000.parquet", 100),
        ("day=mo/.g1-0_20260103000000000.log.1_0-1-2", 1_000),
        ("day=mo/.hoodie_partition_metadata", 96),
        ("day=tu/g1-0_0-3-4_20260102000000000.parquet", 11),
    ]
    assert sum_partitions(files) == {"day=mo": 107, "day=tu": 11}
    assert sum_partitions([("g1-0_0-1-2_20260101000000000.parquet", 5)]) == {"": 5}


def test_index_is_chosen_by_the_largest_partition() -> None:
    def choose(config: TableConfig, *sizes: int) -> str | None:
        return choose_record_index(
            config, sum(sizes), lambda: {str(at): size for at, size in enumerate(sizes)}
        )

    plain, parted = configure(), TableConfig.model_validate(PARTED)
    assert choose(plain) is None
    assert choose(plain, LEAST_BYTES - 1) is None
    assert choose(plain, LEAST_BYTES) == "global_record_level"
    assert choose(plain, MOST_BYTES + 1) is None
    assert choose(parted, LEAST_BYTES, 1) == "record_level"
    assert choose(parted, *[LEAST_BYTES - 1] * 20) is None
    assert choose(parted, LEAST_BYTES, MOST_BYTES) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"mode": "mirror", "record_key": ()}, True),
        ({"mode": "append", "record_key": ()}, False),
        ({"mode": "append", "record_key": (), "cdc": "op_key_only"}, True),
        ({"table_type": "merge_on_read"}, True),
        ({"table_type": "merge_on_read", "services": "async"}, False),
        ({"table_type": "merge_on_read", "services": "semi_async"}, False),
        ({"base_file_format": "orc"}, False),
        ({"column_stats": ["id"]}, True),
    ],
)
def test_index_is_built_only_where_keys_are_looked_up_and_nobody_else_compacts(
    options: dict[str, Any], expected: bool
) -> None:
    assert may_build(configure(**options)) is expected
