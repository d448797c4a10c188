"""Threads for searches: bounded, and every place is given back."""

import asyncio
import threading

import pytest

from headwater.serve.problems import RequestError
from headwater.serve.search_pool import WAITING_PER_THREAD, SearchPool


def test_slot_is_released_however_a_call_ends() -> None:
    def fail() -> None:
        raise ValueError("broken")

    async def ask() -> list[int]:
        pool, taken = SearchPool(1, 0.5), []
        release = threading.Event()
        assert await pool.run(lambda: 7) == 7
        taken.append(pool.taken)
        with pytest.raises(ValueError, match="broken"):
            await pool.run(fail)
        await asyncio.sleep(0.01)
        taken.append(pool.taken)
        with pytest.raises(RequestError) as caught:
            await pool.run(release.wait, 10)
        assert caught.value.code == "timeout"
        taken.append(pool.taken)  # what is hung keeps its place
        release.set()
        while pool.taken:
            await asyncio.sleep(0.005)
        taken.append(pool.taken)
        pool.close()
        return taken

    assert asyncio.run(asyncio.wait_for(ask(), 10)) == [0, 0, 1, 0]


def test_more_than_may_wait_are_refused_at_once() -> None:
    async def ask() -> None:
        pool, release = SearchPool(1, 5), threading.Event()
        most = 1 + WAITING_PER_THREAD
        calls = [asyncio.create_task(pool.run(release.wait, 5)) for _ in range(most)]
        await asyncio.sleep(0.01)
        with pytest.raises(RequestError) as caught:
            await pool.run(release.wait, 5)
        assert caught.value.code == "overloaded"
        assert pool.taken == most
        release.set()
        assert all(await asyncio.gather(*calls))
        pool.close()

    asyncio.run(ask())
