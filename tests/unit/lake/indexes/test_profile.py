"""What is read of a table for the advice, on tables that lie there."""

import pytest

from headwater.config.table import TableConfig
from headwater.lake.indexes.profile import measure_overlap, name_key_kind, read_profile
from tests.fixtures.inspection.addresses import find_fixture

CONFIG = TableConfig.model_validate({"path": "*.json", "record_key": "order_id", "index": {"type": "bloom"}})


def test_profile_counts_rows_files_and_changes():
    found = read_profile(find_fixture("orders_cow"), CONFIG)
    assert (found.rows, found.file_groups, found.partitions, found.commits) == (8, 2, 2, 3)
    assert (found.rows_inserted, found.rows_updated, found.rows_deleted) == (9, 2, 1)
    assert found.update_share == pytest.approx(3 / 12)
    # The second commit changed both file groups, the third one of them.
    assert (found.file_groups_touched, found.partitions_touched) == (0.75, 0.75)
    assert found.median_partition_bytes == found.bytes // 2 < found.largest_partition_bytes < found.bytes
    assert (found.index, found.looks_up_keys, found.has_partitions) == ("bloom", True, True)
    assert found.key_overlap is None, "a partition has one file, and no other to compare"


def test_ranges_of_the_values_come_from_the_footers():
    found = read_profile(find_fixture("archived"), CONFIG)
    assert (found.sampled_files, found.key_overlap, found.key_order) == (7, 0.0, "ordered")
    assert {one.name: one.overlap for one in found.columns} == {"id": 0.0, "name": 0.0}
    wide = {one.name: one.overlap for one in read_profile(find_fixture("orders_cow"), CONFIG).columns}
    assert wide["amount"] == 1.0
    assert "region" not in wide, "a partition's own column is constant in it"


def test_services_are_no_changes():
    found = read_profile(find_fixture("managed"), CONFIG)
    assert found.commits == 6, "without the compaction and the clustering"


def test_append_only_table_has_no_key_lookups():
    config = TableConfig.model_validate({"path": "*.json", "mode": "append"})
    assert not read_profile(find_fixture("archived"), config).looks_up_keys


@pytest.mark.parametrize(
    ("ranges", "overlap"),
    [
        ([(1, 2), (3, 4), (5, 6)], 0.0),
        ([(1, 9), (1, 9)], 1.0),
        ([(1, 3), (3, 5), (6, 7)], 1 / 3),
        ([(1, 2)], None),
    ],
)
def test_overlap_is_the_share_of_other_ranges_that_one_meets(ranges, overlap):
    assert measure_overlap(ranges) == (overlap if overlap is None else pytest.approx(overlap))


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (["0b8f1f5e-8c0e-4f3a-9d5f-0123456789ab"], "random UUIDs"),
        (["0190f1f5-8c0e-7f3a-9d5f-0123456789ab"], "times"),
        (["01ARZ3NDEKTSV4RRFFQ69G5FAV"], "times"),
        (["2026-05-01T10:00:00Z-17", "20260501103000"], "times"),
        (["17", "1800"], "numbers"),
        (["d41d8cd98f00b204e9800998ecf8427e"], "hashes"),
        (["customer-17", "18"], "text"),
        ([], "nothing yet"),
    ],
)
def test_key_format_is_that_of_nearly_all_keys(keys, kind):
    assert name_key_kind(keys) == kind
