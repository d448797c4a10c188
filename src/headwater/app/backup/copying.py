"""Copies many files with a bounded number of threads, in batches of bounded size."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headwater.lake.file_store import FileStore

_BATCH_FILES = 256
_BATCH_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class CopyJob:
    """A file to copy; `source` and `target` are relative to their stores, `size` is in bytes."""

    source: str
    target: str
    size: int


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of a job: size in bytes and checksum; `is_absent` if its source did not exist any more."""

    job: CopyJob
    size: int = 0
    checksum: str = ""
    is_absent: bool = False


class FileCopier:
    """Copies between two stores. Memory depends on the number of threads only."""

    def __init__(self, source: FileStore, target: FileStore, threads: int) -> None:
        self._source = source
        self._target = target
        self._threads = threads

    def copy(self, jobs: Iterable[CopyJob]) -> Iterator[list[Copied]]:
        """Copy all files and yield the results of each batch. Raises `LakeError`."""
        with ThreadPoolExecutor(self._threads, thread_name_prefix="copy") as pool:
            try:
                for batch in cut_batches(jobs):
                    yield list(pool.map(self._copy_one, batch))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _copy_one(self, job: CopyJob) -> Copied:
        try:
            size, checksum = self._target.copy(job.target, self._source, job.source)
        except FileNotFoundError:
            return Copied(job, is_absent=True)
        return Copied(job, size, checksum)


def cut_batches(jobs: Iterable[CopyJob]) -> Iterator[list[CopyJob]]:
    """Yield the jobs in batches of at most 256 files, or about 2 GiB."""
    batch: list[CopyJob] = []
    total = 0
    for job in jobs:
        batch.append(job)
        total += job.size
        if len(batch) >= _BATCH_FILES or total >= _BATCH_BYTES:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
