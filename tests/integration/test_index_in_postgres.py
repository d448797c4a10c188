"""An index in PostgreSQL: syncs that are killed, searches of several processes, a server that goes away."""

import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headwater.rag.syncing.memory import MemoryChunks
from headwater.rag.vector_stores.pgvector.store import PgvectorStore
from headwater.rag.vector_stores.protocol import Index, SearchRequest
from tests.fixtures.search.search_world import SPEC
from tests.fixtures.search.served_lake import ServedLake, run_serve
from tests.fixtures.search.stores import find_postgres
from tests.fixtures.search.sync_points import POINTS
from tests.fixtures.search.syncing_process import VERSION, SavedChunks, build_chunk, commit, start_sync
from tests.fixtures.servers.postgres import start_postgres
from tests.fixtures.waiting import wait_until

ROWS = 600
SWIM = {"query": "headphones for swimming"}


@pytest.fixture
def collection() -> Iterator[str]:
    name = f"kills-{uuid.uuid4().hex}"
    yield name
    find_postgres().run(f'drop schema if exists "{name}" cascade;')


@pytest.fixture
def index(collection: str) -> Iterator[Index]:
    store = PgvectorStore(find_postgres().url, collection, password=None)
    yield store.create(VERSION, SPEC)
    store.close()


def build_changes(index: Index) -> SavedChunks:
    """An index of the first run; the changes of the second one are texts, prices and deletes."""
    chunks = MemoryChunks()
    commit(chunks, [build_chunk(number, revision=1) for number in range(ROWS)]).open_sync(index).run()
    changes = [build_chunk(number, revision=2, text="blue") for number in range(300)]
    changes += [build_chunk(number, revision=1, price=2) for number in range(300, 400)]
    changes += [build_chunk(number, revision=2, deleted=True) for number in range(ROWS - 20, ROWS)]
    return commit(chunks, changes)


def check_repair(chunks: SavedChunks, index: Index, collection: str) -> None:
    sync = chunks.open_sync(index)
    sync.run()
    assert list(index.iter_states()) == chunks.wanted()
    assert sync.count_divergence() == 0
    assert not sync.run().has_changed
    # The number that the IDF counts with.
    assert index.count() == len(chunks.wanted()) == find_counted(collection)


def find_counted(collection: str) -> int:
    return int(find_postgres().run(f'select points from "{collection}".versions;'))


@pytest.mark.parametrize("point", POINTS)
def test_a_sync_that_is_killed_between_pages_is_repaired_by_the_next_one(
    index: Index, collection: str, tmp_path: Path, point: str
) -> None:
    chunks = build_changes(index)
    with start_sync(chunks, tmp_path, find_postgres().url, collection, point) as process:
        assert process.wait(60) == -signal.SIGKILL
    check_repair(chunks, index, collection)


def test_searches_continue_during_a_sync_that_is_killed_in_the_middle(
    index: Index, collection: str, tmp_path: Path
) -> None:
    chunks = commit(MemoryChunks(), [build_chunk(number, revision=1) for number in range(4_000)])
    request = SearchRequest("dense", [1.0, 0.0, 0.0, 0.0], 10)
    found: list[int] = []
    with start_sync(chunks, tmp_path, find_postgres().url, collection) as process:
        deadline = time.monotonic() + 60
        # While it writes one page after the other.
        while not found or found[-1] < 10:
            assert process.poll() is None
            assert time.monotonic() < deadline
            found.append(len(index.search([request])[0]))
        process.kill()
    assert 0 < index.count() < 4_000
    check_repair(chunks, index, collection)


@pytest.mark.slow
def test_a_server_that_goes_away_is_a_503_until_it_is_back(tmp_path: Path) -> None:
    with start_postgres() as server:
        lake = ServedLake(tmp_path)
        lake.configure(store={"type": "pgvector", "url": server.url}, serve={"sync_interval": "off"})
        lake.fill()
        with run_serve(lake.config, "--workers", "2") as address:
            assert httpx.post(f"{address}/search", json=SWIM).json()["hits"][0]["id"] in {"p1", "p2"}
            server.stop()
            for path in ("/search", "/recommend"):
                answer = httpx.post(f"{address}{path}", json=SWIM, timeout=20)
                assert (answer.status_code, answer.json()["code"]) == (503, "index_unavailable")
                assert answer.headers["content-type"] == "application/problem+json"
            server.start()
            wait_until(lambda: httpx.post(f"{address}/search", json=SWIM).status_code == 200, "an answer", 30)
        assert "Traceback" not in lake.config.with_suffix(".log").read_text("utf-8")
