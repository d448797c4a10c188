"""How many tasks fetch and write a batch, and whether the driver fetches it without any."""

import math
from dataclasses import dataclass

from headwater.config.file_format import PACKED_SUFFIXES

# Starting Python tasks takes longer than fetching this much: a third of a small batch's time.
HANDFUL_OBJECTS = 64
HANDFUL_BYTES = 1024 * 1024

_MOST_OBJECTS = 500
_MOST_BYTES = 64 * 1024 * 1024
_MOST_WRITTEN_BYTES = 128 * 1024 * 1024
_LEAST_OBJECTS = 32
_LEAST_BYTES = 1024 * 1024
_LEAST_ROWS = 2_000
_MOST_ROWS = 500_000

_PACKED_FORMATS = frozenset({"parquet", "orc", "avro"})
_UNPACKED = 4
"""How many times more memory the rows of a compressed object take than its bytes."""


def estimate_size(size: int, key: str, file_format: str) -> int:
    """Return the approximate size in bytes of the rows of an object of `size` bytes."""
    is_packed = file_format in _PACKED_FORMATS or key.lower().endswith(PACKED_SUFFIXES)
    return size * _UNPACKED if is_packed else size


@dataclass(frozen=True, slots=True)
class FetchWork:
    """Number of the objects, and the approximate size of their rows, as far as their sizes are known.

    `is_heavy`: reading an object takes much longer than fetching it.
    """

    objects: int
    bytes: int
    is_heavy: bool = False

    @property
    def is_handful(self) -> bool:
        """True if the driver fetches them sooner than tasks would."""
        return self.objects <= HANDFUL_OBJECTS and self.bytes <= HANDFUL_BYTES

    def count_tasks(self, cores: int) -> int:
        """Return the number of tasks: one for each core, if each has enough work; more for large batches.

        A task with less work takes longer to start than to fetch, and the driver starts all of them. If there
        are more tasks than cores, each core has as many.
        """
        needed = max(math.ceil(self.objects / _MOST_OBJECTS), math.ceil(self.bytes / _MOST_BYTES), 1)
        least = 1 if self.is_heavy else _LEAST_OBJECTS
        useful = max(math.ceil(self.objects / least), math.ceil(self.bytes / _LEAST_BYTES))
        return _fill_cores(max(needed, min(cores, useful)), cores)


def count_write_tasks(rows: int, size: int, cores: int) -> int:
    """Return the number of tasks that convert and shuffle the rows of a batch, about `size` bytes.

    By default, each row of a small batch is a task of its own if there are enough cores. Hudi caches the rows
    of a task as one block, and each core holds one in memory.
    """
    needed = max(math.ceil(rows / _MOST_ROWS), math.ceil(size / _MOST_WRITTEN_BYTES), 1)
    return _fill_cores(max(needed, min(cores, math.ceil(rows / _LEAST_ROWS))), cores)


def _fill_cores(tasks: int, cores: int) -> int:
    """Round up to a multiple of the cores, so that none is idle while the last tasks run."""
    return tasks if tasks <= cores else math.ceil(tasks / cores) * cores
