"""A small batch does not rewrite a large file to add its rows."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.ingest.planning.file_sizes import LEAST_BYTES
from headwater.lake.layout import table_path
from tests.fixtures.folder_lake import FolderLake

MODES: dict[str, dict[str, Any]] = {
    "append": {"mode": "append"},
    "mirror": {"mode": "mirror"},
    "merge": {"record_key": "id"},
    "merge_on_read": {"record_key": "id", "table_type": "merge_on_read"},
}


def build_rows(first: int, count: int, size: int = 0) -> str:
    chance = random.Random(first)
    return "".join(
        json.dumps({"id": first + n, "text": chance.randbytes(size // 2).hex()}) + "\n" for n in range(count)
    )


def list_files(lake: FolderLake) -> dict[str, int]:
    """Sizes of the base files, by the name of the file group, which stays when a file is rewritten."""
    folder = Path(table_path(lake.lake, "things"))
    newest: dict[str, Path] = {}
    for path in sorted(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns):
        newest[path.name.split("_")[0]] = path
    return {group: path.stat().st_size for group, path in newest.items()}


@pytest.fixture(
    params=[
        "merge",
        *(pytest.param(m, marks=pytest.mark.slow) for m in ("append", "mirror", "merge_on_read")),
    ]
)
def large(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    """A table with one file that is larger than what a small batch rewrites."""
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", **MODES[request.param]})
    lake.put("large.json", build_rows(0, 3_000, size=3_000))
    lake.ingest("things")
    (size,) = list_files(lake).values()
    assert size > LEAST_BYTES
    return lake


def test_small_batches_share_a_file_of_their_own(large: FolderLake) -> None:
    before = list_files(large)
    for n in range(3):
        large.put(f"{n}.json", build_rows(10_000 + 10 * n, 10))
        large.ingest("things")
    after = list_files(large)
    assert len(after) == 2
    assert before.items() <= after.items()
    assert len(large.rows("things", "id")) == 3_030


def test_a_batch_of_similar_size_is_added(large: FolderLake) -> None:
    large.put("second.json", build_rows(10_000, 300, size=3_000))
    large.ingest("things")
    assert len(list_files(large)) == 1


def test_a_configured_size_holds_for_every_batch(spark: SparkSession, tmp_path: Path) -> None:
    table = {"path": "*.json", "mode": "append", "file_sizes": {"small": "64MiB"}}
    lake = FolderLake(spark, tmp_path, things=table)
    lake.put("large.json", build_rows(0, 3_000, size=3_000))
    lake.ingest("things")
    lake.put("small.json", build_rows(10_000, 10))
    lake.ingest("things")
    assert len(list_files(lake)) == 1
