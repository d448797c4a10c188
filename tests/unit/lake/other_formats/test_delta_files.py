"""Which versions of a Delta table its log contains, and when they were committed."""

from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.lake.other_formats.delta_files import DeltaVersions, parse_versions
from headwater.lake.table_files import ArrowFiles


def name(version: int, ending: str = "json") -> str:
    return f"{version:020}.{ending}"


@pytest.mark.parametrize(
    ("names", "versions"),
    [
        ([], ()),
        (["_last_checkpoint", "_commits"], ()),
        ([name(1), name(0)], ("0", "1")),
        ([name(at) for at in (9, 10, 11)] + [name(10, "checkpoint.parquet")], ("10", "11")),
        # A checkpoint of the version before the first commit is one of its own.
        ([name(at) for at in (9, 10)] + [name(8, "checkpoint.0001.parquet")], ("9", "10")),
        # Delta removes old commits in any order.
        ([name(at) for at in (2, 8, 9)] + [name(8, "checkpoint.parquet")], ("8", "9")),
        # Without their checkpoint, no version can be read.
        ([name(8), name(9)], ()),
        ([name(0), name(1), name(0, "crc"), f"{name(0)[:-5]}.{name(1)[:-5]}.compacted.json"], ("0", "1")),
    ],
)
def test_versions_need_a_checkpoint_or_all_commits(names: list[str], versions: tuple[str, ...]) -> None:
    assert parse_versions(names) == versions


def test_the_time_of_a_commit_is_in_its_file(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / name(0)).write_text('{"protocol":{}}\n{"commitInfo":{"timestamp":1700000000000}}\n')
    (log / name(1)).write_text('{"add":{"path":"commitInfo"}}\n')
    found = DeltaVersions(str(tmp_path), ArrowFiles(str(tmp_path), {}))
    assert found.exists()
    assert found.list_versions() == ("0", "1")
    assert found.find_time("0").committed_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    assert found.find_time("1").committed_at is None


def test_a_folder_without_a_log_is_no_table(tmp_path: Path) -> None:
    assert not DeltaVersions(str(tmp_path), ArrowFiles(str(tmp_path), {})).exists()
