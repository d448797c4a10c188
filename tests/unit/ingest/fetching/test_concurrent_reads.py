import threading

import pytest

from headwater.ingest.fetching.concurrent_reads import iter_reads


def test_a_single_reader_keeps_the_order() -> None:
    assert list(iter_reads(range(5), [str])) == [(number, str(number)) for number in range(5)]


def test_several_readers_read_every_item_once() -> None:
    assert sorted(iter_reads(range(100), [str, str, str])) == [(number, str(number)) for number in range(100)]


def test_a_slow_item_stops_none_of_the_others() -> None:
    others = threading.Event()

    def read(number: int) -> bool:
        return others.wait(30) if number == 0 else False

    results = iter_reads(range(10), [read, read])
    first = [next(results) for _ in range(9)]
    assert sorted(number for number, _ in first) == list(range(1, 10))
    others.set()
    assert list(results) == [(0, True)]


def test_no_reader_is_called_twice_at_a_time() -> None:
    running = [threading.Lock(), threading.Lock()]

    def build(lock: threading.Lock):
        def read(number: int) -> int:
            assert lock.acquire(blocking=False)
            try:
                return sum(range(number * 1_000))
            finally:
                lock.release()

        return read

    assert len(list(iter_reads(range(200), [build(lock) for lock in running]))) == 200


def test_an_error_of_a_reader_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(iter_reads([1, 0, 2], [lambda number: 1 // number] * 2))
