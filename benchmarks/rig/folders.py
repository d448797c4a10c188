"""A folder of small JSON files as a source."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.rig.orders import build_file
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.runner import Pipeline

FILE_BYTES = 2_048
_IDS_A_FILE = 100


def name_file(number: int) -> str:
    """The key of one file."""
    return f"orders/{number % 50:02d}/{number:07d}.json"


def write_files(folder: Path, numbers: Iterable[int], round_number: int = 0) -> list[str]:
    """Write the files; another round has other content. Gives their keys."""
    keys = []
    for number in numbers:
        key = name_file(number)
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        data, _ = build_file(FILE_BYTES, number * _IDS_A_FILE, number + 1_000_003 * round_number)
        path.write_bytes(data)
        keys.append(key)
    return keys


def run_batches(pipeline: Pipeline) -> list[BatchResult]:
    """All that waits."""
    results = []
    while (result := pipeline.run_batch()) is not None:
        results.append(result)
    return results
