"""Does recognising repeated events cost the same however many there are?

Ten million ids in one window of ten minutes, in batches of 20,000; the last id of each batch is in an earlier
one. Each is looked up, then remembered. Value: CPU milliseconds of a batch, the mean of the last million ids.
Floor: of the first million. The second result is the growth of the process's own memory, in bytes per id;
floor: the 16 bytes of an id. No Spark: ids are asked for on the driver before each commit.
"""

import hashlib
import os
import time
from collections.abc import Iterator

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.processes import read_own_bytes
from benchmarks.sizes import sized
from headwater.capture.seen_events import SeenEvents

IDS = sized(10_000_000, 40_000)
BATCH = sized(20_000, 1_000)
A_PART = IDS // 10
_WINDOW = 1


def run() -> list[BenchmarkResult]:
    """Milliseconds a batch, and bytes an id."""
    seen = SeenEvents(lambda _: ())
    costs: list[float] = []
    before = read_own_bytes(os.getpid())
    for begin in range(0, IDS, A_PART):
        costs.append(measure(seen, begin))
        grown = read_own_bytes(os.getpid()) - before
        say(f"{begin + A_PART} ids: {costs[-1]:.1f} ms a batch, {grown / (begin + A_PART):.1f} bytes an id")
    return [
        BenchmarkResult("deduplication", costs[-1], costs[0], "ms/batch", 2.0, "lower"),
        BenchmarkResult("deduplication_memory", grown / IDS, 16.0, "bytes/id", 0.5, "lower"),
    ]


def measure(seen: SeenEvents, begin: int) -> float:
    """CPU milliseconds of a batch, for the ids from `begin`."""
    spent = 0.0
    batches = 0
    for batch in iter_batches(begin):
        started = time.process_time()
        is_new = seen.keep_new(batch)
        seen.add([found for found, new in zip(batch, is_new, strict=True) if new])
        spent += time.process_time() - started
        batches += 1
        if is_new != [True] * (len(batch) - 1) + [False]:
            raise RuntimeError("a repeated id was not recognised, or a new one was")
    return spent / batches * 1000


def iter_batches(begin: int) -> Iterator[list[tuple[int, str]]]:
    """Batches of new ids, and one that is in an earlier batch."""
    for start in range(begin, begin + A_PART, BATCH):
        numbers = [*range(start, start + BATCH), start // 2 // BATCH * BATCH]
        yield [(_WINDOW, build_id(number)) for number in numbers]


def build_id(number: int) -> str:
    """An id as of an event."""
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).hexdigest()
