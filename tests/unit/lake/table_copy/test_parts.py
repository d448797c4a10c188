"""Which actions and files of a table belong to a copy."""

from headwater.lake.properties import parse_properties
from headwater.lake.table_copy.parts import (
    cut_timeline,
    drop_metadata_table,
    find_oldest_write,
    select_data_files,
    split_table_files,
)
from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.instants import Instant


def completed(requested: str, at: str, action: str = "commit") -> Instant:
    return Instant(requested, action, at)


A, B, C = completed("01", "02"), completed("03", "06"), completed("04", "05")
PENDING = Instant("07", "deltacommit", state="inflight")


def test_a_commit_that_the_first_listing_missed_is_found_by_the_second():
    # C completed before B, and the first listing had passed its name when its file was created.
    assert cut_timeline([A, B], [A, B, C]) == (A, C, B)


def test_what_completed_after_the_first_listing_is_left_out():
    later = completed("08", "09")
    assert cut_timeline([A, C], [A, B, C, later]) == (A, C)
    assert cut_timeline([], [A]) == ()


def test_pending_actions_are_left_out():
    clean = Instant("08", "clean", state="requested")
    assert cut_timeline([A, PENDING, clean], [A, PENDING, clean]) == (A,)


def base(instant: str) -> StoredFile:
    return StoredFile(f"eu/0f745f2c-0_1-13-11_{instant}.parquet", 10)


def log(instant: str) -> StoredFile:
    return StoredFile(f"eu/.0f745f2c-0_{instant}.log.1_1-32-37", 10)


def test_files_of_completed_and_of_archived_writes_are_copied():
    active = [
        Instant("20260102000000000", "commit", "20260102000001000"),
        Instant("20260103000000000", "deltacommit", state="inflight"),
        Instant("20250101000000000", "savepoint", "20260102000002000"),
    ]
    oldest = find_oldest_write(active)
    assert oldest == "20260102000000000"
    kept = [
        base("20260102000000000"),
        base("20260101000000000"),
        StoredFile("eu/.hoodie_partition_metadata", 9),
    ]
    left = [
        log("20260103000000000"),
        base("20260104000000000"),
        StoredFile("eu/.hoodie_partition_metadata.crc", 9),
    ]
    assert select_data_files([*kept, *left], {"20260102000000000"}, oldest) == kept


def test_files_rewritten_in_place_are_told_from_those_written_once():
    index, hashing = (
        StoredFile(".hoodie/.index_defs/index.json", 1),
        StoredFile(".hoodie/b/0.hashing_meta", 2),
    )
    skipped = [StoredFile(f".hoodie/{name}", 1) for name in ("lock", "hoodie.properties", "x.crc")]
    assert split_table_files([index, hashing, *skipped]) == ([hashing], [index])


def test_only_the_properties_of_the_metadata_table_are_dropped():
    content = (
        b"#comment\nhoodie.table.name=t\nhoodie.table.metadata.partitions=files,record_index\n"
        b"hoodie.table.metadata.partitions.inflight=\nhoodie.table.type=MERGE_ON_READ\n"
    )
    assert parse_properties(drop_metadata_table(content).decode()) == {
        "hoodie.table.name": "t",
        "hoodie.table.type": "MERGE_ON_READ",
    }
