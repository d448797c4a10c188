"""Which partitions expire, and where a metadata table differs from what lies there."""

from datetime import datetime, timezone

from headwater.lake.services.expiry import find_expired
from headwater.lake.services.metadata_table import MetadataCheck, compare_listings

LIMIT = datetime(2026, 5, 1, tzinfo=timezone.utc)


def base(instant):
    return f"0a-0_0-1-2_{instant}.parquet"


def test_partition_expires_by_the_newest_of_its_files():
    files = [
        ("day=1", base("20260430235959999")),
        ("day=2", base("20260501000000000")),
        ("day=3", base("20260401000000000")),
        ("day=3", ".0a-0_20260502000000000.log.1_0-1-2"),
        ("day=4", "a file that tells no time"),
    ]
    assert find_expired(files, LIMIT) == ("day=1",)


def test_files_of_writes_that_did_not_complete_are_no_difference():
    first, second, third = (base(f"2026050100000000{n}") for n in (1, 2, 3))
    listed = {f"d/{first}": 10, "d/gone": 5}
    stored = {f"d/{first}": 11, f"d/{second}": 7, f"d/{third}": 7, "d/.hoodie_partition_metadata": 96}
    found = compare_listings(listed, stored, lambda instant: not instant.endswith("3"))
    assert found == MetadataCheck(2, ("d/gone",), (f"d/{second}",), (f"d/{first}",))
    assert not found.is_good
    assert compare_listings(listed, listed, lambda _: True).is_good
