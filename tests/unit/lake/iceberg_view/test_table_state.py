"""Which state base files alone represent: never one that mixes commits, and the newest of those."""

import pytest

from headwater.lake.iceberg_view.table_state import find_newest_state
from headwater.lake.inspection.layout import DataFile, FileSlice, SliceState
from headwater.lake.timeline.instants import Instant

COMPLETED = {"1": "1", "2": "2", "3": "3", "4": "6", "5": "5", "7": "7"}
"""By request. The compaction of 4 completes at 6, after the commit of 5."""


def slice_of(
    group: str, base: str | None, *logs: str, state: SliceState = "current", at: str = ""
) -> FileSlice:
    def build(instant: str, kind: str) -> DataFile:
        return DataFile(f"{group}_{instant}.{kind}", 1, instant)

    return FileSlice(
        partition="",
        file_id=group,
        instant=base or at or logs[0],
        state=state,
        base_file=build(base, "parquet") if base else None,
        log_files=tuple(build(log, "log") for log in logs),
        cdc_files=(),
        bytes=1,
    )


def find(
    slices: list[FileSlice], upto: str = "7", retained: str = "", replacing: str = ""
) -> tuple[str, list[str]] | None:
    writes = [
        Instant(one, "replacecommit" if one == replacing else "commit", done)
        for one, done in sorted(COMPLETED.items(), key=lambda item: item[1])
        if done <= upto
    ]
    known = {one.requested for one in writes}
    found = find_newest_state(
        slices, writes, lambda instant: COMPLETED[instant] if instant in known else None, retained
    )
    return (found.completed, [file.path for file in found.files]) if found else None


def test_files_of_a_copy_on_write_table_are_those_of_its_newest_commit() -> None:
    slices = [
        slice_of("a", "1", state="superseded"),
        slice_of("a", "3"),
        slice_of("b", "2"),
        slice_of("c", "1", state="replaced"),
    ]
    assert find(slices, "3") == ("3", ["a_3.parquet", "b_2.parquet"])


def test_logs_make_a_table_stay_at_the_state_before_them() -> None:
    slices = [slice_of("a", "1", "3"), slice_of("b", "2")]
    assert find(slices, "3") == ("2", ["a_1.parquet", "b_2.parquet"])


def test_new_base_files_are_not_mixed_with_older_states_of_other_groups() -> None:
    # The commit at 3 has updated rows of a, and inserted rows as b.
    slices = [slice_of("a", "1", "3"), slice_of("b", "3")]
    assert find(slices, "3") == ("2", ["a_1.parquet"])


def test_compaction_of_all_logs_is_the_newest_state() -> None:
    slices = [slice_of("a", "1", "2", "3", state="superseded"), slice_of("a", "4"), slice_of("b", "2")]
    assert find(slices, "6") == ("6", ["a_4.parquet", "b_2.parquet"])


def test_compaction_stands_for_the_state_before_it_if_logs_followed() -> None:
    # The log at 5 was written while the compaction was running.
    slices = [slice_of("a", "1", "2", "3", state="superseded"), slice_of("a", "4", "5"), slice_of("b", "2")]
    assert find(slices) == ("3", ["a_4.parquet", "b_2.parquet"])


def test_groups_that_began_with_logs_have_a_state_after_their_compaction() -> None:
    slices = [slice_of("a", None, "2", "3", state="superseded"), slice_of("a", "4")]
    assert find(slices, "6") == ("6", ["a_4.parquet"])
    assert find([slice_of("a", None, "2")], "3") == ("1", [])


def test_states_that_the_cleaner_has_not_kept_are_never_shown() -> None:
    slices = [slice_of("a", "1", "3"), slice_of("b", "1")]
    assert find(slices, "3") == ("2", ["a_1.parquet", "b_1.parquet"])
    assert find(slices, "3", retained="3") is None
    # Nothing has to be kept for the newest one.
    assert find([slice_of("a", "3")], "3", retained="9") == ("3", ["a_3.parquet"])


def test_states_before_a_replacement_lack_the_replaced_files() -> None:
    slices = [slice_of("a", "1", "3"), slice_of("b", "1", state="replaced")]
    assert find(slices, "3", replacing="2") == ("2", ["a_1.parquet"])
    assert find([slice_of("a", "1", "2"), slice_of("b", "3")], "3", replacing="3") is None


@pytest.mark.parametrize("incomplete", ["5", "7"])
def test_files_of_incomplete_actions_do_not_count(incomplete: str) -> None:
    slices = [slice_of("a", "1", state="superseded"), slice_of("a", incomplete), slice_of("b", "1")]
    assert find(slices, "3") == ("3", ["a_1.parquet", "b_1.parquet"])
