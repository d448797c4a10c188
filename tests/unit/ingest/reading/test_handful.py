"""Who fetches a handful of objects: the driver, until it is busy and executors exist."""

import os
from contextlib import ExitStack

from headwater.ingest.reading.handful import reserve_driver


def test_executors_fetch_when_each_core_of_the_driver_does() -> None:
    with ExitStack() as busy:
        for _ in range(os.cpu_count() or 1):
            assert busy.enter_context(reserve_driver(is_alone=False))
        with reserve_driver(is_alone=False) as is_free:
            assert not is_free
    with reserve_driver(is_alone=False) as is_free:
        assert is_free


def test_driver_without_executors_always_fetches() -> None:
    with ExitStack() as busy:
        for _ in range(2 * (os.cpu_count() or 1)):
            assert busy.enter_context(reserve_driver(is_alone=True))
