"""Which index is advised for which table, and what is said of it."""

from dataclasses import replace

import pytest

from headwater.config.table import TableConfig
from headwater.lake.indexes.advice import ColumnSpread, TableProfile, advise

GIGABYTE = 1024**3
LARGE = TableProfile(
    table="orders",
    table_type="merge_on_read",
    index="simple",
    looks_up_keys=True,
    has_partitions=False,
    rows=500_000_000,
    bytes=200 * GIGABYTE,
    file_groups=1_700,
    partitions=1,
    largest_partition_bytes=200 * GIGABYTE,
    median_partition_bytes=200 * GIGABYTE,
    commits=120,
    rows_inserted=900_000,
    rows_updated=100_000,
    rows_deleted=0,
    file_groups_touched=0.7,
    partitions_touched=1.0,
    key_kind="random UUIDs",
    key_overlap=0.99,
    sampled_files=200,
    columns=(),
)
PARTITIONED = replace(
    LARGE,
    has_partitions=True,
    partitions=100,
    largest_partition_bytes=3 * GIGABYTE,
    median_partition_bytes=2 * GIGABYTE,
)


@pytest.mark.parametrize(
    ("profile", "index", "expected_message"),
    [
        (replace(LARGE, looks_up_keys=False), "none", "no write looks up the file of a key"),
        (replace(LARGE, commits=4), "simple", "4 commits are too few"),
        (replace(LARGE, commits=4, index="bloom"), "bloom", "4 commits are too few"),
        (replace(LARGE, bytes=GIGABYTE, file_groups=64), "simple", "1.1 GB in 64 file groups"),
        (replace(LARGE, key_overlap=0.04, key_kind="times"), "bloom", "overlap with 4% of the other files"),
        (replace(LARGE, key_overlap=None, key_kind="times"), "bloom", "keys look like times"),
        (LARGE, "global_record_level", "10% of the rows of 120 commits were updates"),
        (replace(LARGE, key_overlap=0.4), "global_record_level", "overlap with 40%"),
        (replace(LARGE, rows_inserted=50_000), "bucket", "67% of the rows of 120 commits"),
        (replace(LARGE, rows_inserted=50_000, index="global_simple"), "global_record_level", "67%"),
        (replace(LARGE, index="bucket"), "bucket", "without a lookup"),
        (
            replace(PARTITIONED, partitions_touched=0.02, largest_partition_bytes=GIGABYTE // 2),
            "simple",
            "2%",
        ),
        (replace(PARTITIONED, partitions_touched=0.02), "record_level", "the index of each partition"),
        (replace(PARTITIONED, index="global_bloom"), "global_record_level", "10%"),
        (replace(PARTITIONED, rows_inserted=0, rows_deleted=5), "bucket", "1.5 times the median one"),
        (
            replace(PARTITIONED, rows_inserted=0, median_partition_bytes=GIGABYTE // 4),
            "record_level",
            "12.0 times the median one",
        ),
    ],
)
def test_index_follows_from_the_figures_and_names_them(profile, index, expected_message):
    advice = advise(profile)
    assert advice.index == index
    assert expected_message in " ".join(advice.why)


def test_advised_lines_are_a_valid_configuration():
    for profile in (LARGE, replace(PARTITIONED, rows_inserted=0), replace(LARGE, key_overlap=0.0)):
        advice = advise(profile)
        (line,) = advice.yaml
        assert line.startswith(f"index: {{type: {advice.index}")
        given = {"type": advice.index} | ({"buckets": advice.buckets} if advice.buckets else {})
        TableConfig.model_validate({"path": "*.json", "record_key": "id", "index": given})


def test_followed_advice_needs_no_line():
    advice = advise(replace(LARGE, index="global_record_level"))
    assert not advice.is_change
    assert advice.yaml == ()


def test_buckets_are_sized_for_a_partition_that_doubles_and_need_a_new_table():
    advice = advise(replace(PARTITIONED, rows_inserted=0))
    assert advice.buckets == 12
    assert any("a table with another name" in note and "record_level" in note for note in advice.notes)


def test_record_index_is_reported_with_its_size():
    assert any("24.0 GB (500,000,000 rows" in note for note in advise(LARGE).notes)
    assert not any("record index takes" in note for note in advise(replace(LARGE, rows=None)).notes)


def test_statistics_are_advised_for_columns_with_disjoint_ranges():
    columns = (
        ColumnSpread("customer", 1.0, 1.0),
        ColumnSpread("placed_at", 0.02, 0.0),
        ColumnSpread("order_no", 0.01, 0.9),
        ColumnSpread("amount", 0.5, None),
    )
    advice = advise(replace(PARTITIONED, columns=columns))
    assert advice.column_stats == ("order_no", "placed_at")
    assert advice.partition_stats, "placed_at tells whole partitions apart"
    assert "column_stats: [order_no, placed_at]" in advice.yaml
    assert (
        "placed_at: the values of a file overlap with those of 2% of 199 other files" in advice.why_stats[1]
    )
    assert any("cluster --sort customer" in note for note in advice.notes)


def test_statistics_of_columns_that_are_everywhere_are_not_advised():
    advice = advise(replace(LARGE, columns=(ColumnSpread("customer", 0.9, None),)))
    assert (advice.column_stats, advice.partition_stats) == ((), False)
    assert "every column spans its full range" in advice.why_stats[0]
    few = advise(replace(LARGE, file_groups=3, sampled_files=3, columns=(ColumnSpread("n", 0.0, None),)))
    assert few.column_stats == ()
