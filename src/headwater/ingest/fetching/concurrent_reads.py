"""Reads several downloads at a time, each with a reader of its own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def iter_reads(items: Iterable[T], readers: Sequence[Callable[[T], R]]) -> Iterator[tuple[T, R]]:
    """Yield items with their results: in order by a single reader, in any order by several.

    No reader is called twice at a time. Of the items, at most one per reader is kept.
    """
    if len(readers) == 1:
        for item in items:
            yield item, readers[0](item)
        return
    free: SimpleQueue[Callable[[T], R]] = SimpleQueue()
    for reader in readers:
        free.put(reader)

    def read(item: T) -> tuple[T, R]:
        mine = free.get()
        try:
            return item, mine(item)
        finally:
            free.put(mine)

    running: set[Future[tuple[T, R]]] = set()
    with ThreadPoolExecutor(len(readers), thread_name_prefix="read") as pool:
        for item in items:
            running.add(pool.submit(read, item))
            while len(running) >= len(readers):
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (one.result() for one in done)
