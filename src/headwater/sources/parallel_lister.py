"""`ParallelLister`: lists several ranges of keys at the same time, and yields the objects in order.

A bucket is listed page by page, and the next page is known only from the last one. But a listing may begin
after any key, so keys known from elsewhere divide it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Full, Queue

from headwater.sources.lister import ListedObject, Lister

_CHUNK = 1_000
_CHUNKS_AHEAD = 10
_POLL_SECONDS = 0.2

_Chunk = list[ListedObject] | Exception | None
"""Objects; or the error that ended the range, or None at its end."""


class ParallelLister:
    """Lists with a lister that several threads may use.

    `find_boundaries` returns keys that divide the objects, in any order; they need not exist any longer. A
    thread is at most 10,000 objects ahead of the reader, so memory does not grow with the bucket.
    """

    def __init__(
        self, lister: Lister, find_boundaries: Callable[[], Sequence[str]], threads: int = 8
    ) -> None:
        self._lister = lister
        self._find_boundaries = find_boundaries
        self._threads = threads

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`."""
        found = set(self._find_boundaries())
        bounds = sorted(key for key in found if key > start_after and key.startswith(prefix))
        if not bounds:
            return self._lister.iter_objects(prefix, start_after)
        return _iter_ranges(self._lister, prefix, [start_after, *bounds], self._threads)


def _iter_ranges(lister: Lister, prefix: str, starts: Sequence[str], threads: int) -> Iterator[ListedObject]:
    """Yield the objects after each of `starts` up to the next one.

    Ranges are begun in order, so a thread that waits for the reader never keeps an earlier range from being
    listed.
    """
    ranges = iter(zip(starts, [*starts[1:], None], strict=True))
    begun: Queue[Queue[_Chunk]] = Queue()
    lock, stop = threading.Lock(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            chunks: Queue[_Chunk] = Queue(_CHUNKS_AHEAD)
            with lock:
                taken = next(ranges, None)
                if taken is None:
                    return
                begun.put(chunks)
            for chunk in _iter_chunks(lister, prefix, *taken):
                if not _put(chunks, chunk, stop):
                    return

    for number in range(min(threads, len(starts))):
        threading.Thread(target=work, name=f"listing-{number}", daemon=True).start()
    try:
        for _ in starts:
            chunks = begun.get()
            while (chunk := chunks.get()) is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield from chunk
    finally:
        stop.set()


def _iter_chunks(lister: Lister, prefix: str, start: str, end: str | None) -> Iterator[_Chunk]:
    """Yield the objects of a range in chunks, then how it ended."""
    chunk: list[ListedObject] = []
    try:
        for found in lister.iter_objects(prefix, start):
            if end is not None and found.key > end:
                break
            chunk.append(found)
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
    except Exception as error:
        yield chunk
        yield error
    else:
        yield chunk
        yield None


def _put(chunks: Queue[_Chunk], chunk: _Chunk, stop: threading.Event) -> bool:
    """Wait for the reader; return False if it has stopped."""
    while not stop.is_set():
        try:
            chunks.put(chunk, timeout=_POLL_SECONDS)
        except Full:
            continue
        return True
    return False
