"""A PostgreSQL server that is down, refuses or is restarted: one sentence, and no restart of ours."""

import time
import uuid
from collections.abc import Iterator

import pytest

from headwater.errors import IndexNotFoundError, IndexUnavailableError, SearchError
from headwater.rag.vector_stores.pgvector.store import PgvectorStore
from headwater.rag.vector_stores.protocol import Checkpoint, IndexSpec
from tests.fixtures.free_port import find_free_port
from tests.fixtures.search.points import SPEC, find, make_point, near
from tests.fixtures.search.stores import find_postgres
from tests.fixtures.servers.postgres import LOCKED_USER, Postgres, start_postgres

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def server() -> Postgres:
    return find_postgres()


@pytest.fixture
def collection(server: Postgres) -> Iterator[str]:
    name = f"trouble-{uuid.uuid4().hex}"
    yield name
    server.run(f'drop schema if exists "{name}" cascade;')


def test_a_server_that_is_down_is_reported_at_once() -> None:
    store = PgvectorStore(f"postgresql://shop@127.0.0.1:{find_free_port()}/shop", "shop", password="secret")
    began = time.monotonic()
    with pytest.raises(IndexUnavailableError, match=r"does not respond.*refused") as caught:
        store.list_versions()
    assert time.monotonic() - began < 2
    assert "search.store.url" in caught.value.hint
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_the_password_is_given_separately(server: Postgres, collection: str) -> None:
    server.run(f"drop role if exists {LOCKED_USER}; create role {LOCKED_USER} login password '{PASSWORD}';")
    url = server.build_url(LOCKED_USER)
    for password in (None, "wrong"):
        store = PgvectorStore(url, collection, password=password)
        with pytest.raises(SearchError, match="password") as caught:
            store.find_live()
        assert "HEADWATER_PGVECTOR_PASSWORD" in caught.value.hint
        assert not isinstance(caught.value, IndexUnavailableError)
    store = PgvectorStore(url, collection, password=PASSWORD)
    assert store.list_versions() == []
    store.close()


def test_missing_privileges_have_a_next_step(server: Postgres, collection: str) -> None:
    server.run("drop database if exists bare;")
    server.run("create database bare;")
    server.run("drop role if exists reader; create role reader login;")
    store = PgvectorStore(server.build_url("reader", "bare"), collection, password=None)
    with pytest.raises(SearchError, match="no extension `vector`") as caught:
        store.create("v1", SPEC)
    assert "create extension vector" in caught.value.hint
    store.close()
    owner = PgvectorStore(server.url, collection, password=None)
    owner.create("v1", SPEC).upsert([make_point("a")])
    owner.set_live("v1")
    # A server of searches needs no more than this.
    server.run(
        f'grant usage on schema "{collection}" to reader;'
        f'grant select on all tables in schema "{collection}" to reader;'
    )
    store = PgvectorStore(server.build_url("reader"), collection, password=None)
    index = store.open(store.find_live() or "")
    assert find(index, near(1)) == ["a"]
    with pytest.raises(SearchError, match="permission denied") as caught:
        index.upsert([make_point("b")])
    assert "grant" in caught.value.hint
    store.close()
    owner.close()


def test_the_owner_of_a_schema_needs_no_other_privilege(server: Postgres, collection: str) -> None:
    server.run("create extension if not exists vector;")
    role = f"owner_{uuid.uuid4().hex[:8]}"
    server.run(f'create role {role} login; create schema "{collection}" authorization {role};')
    store = PgvectorStore(server.build_url(role), collection, password=None)
    store.create("v1", SPEC).upsert([make_point("a")])
    store.set_live("v1")
    assert find(store.open("v1"), near(1)) == ["a"]
    store.close()


def test_a_read_only_server_answers_searches(server: Postgres, collection: str) -> None:
    store = PgvectorStore(server.url, collection, password=None)
    store.create("v1", SPEC).upsert([make_point("a")])
    store.close()
    read_only = f"{server.url}?options=-c%20default_transaction_read_only%3Don"
    store = PgvectorStore(read_only, collection, password=None)
    index = store.open("v1")
    assert find(index, near(1)) == ["a"]
    with pytest.raises(SearchError, match="read-only") as caught:
        index.delete(["00000000-0000-4000-8000-000000000001"])
    assert "primary" in caught.value.hint
    store.close()


def test_a_version_that_was_dropped_by_another_process_is_named(server: Postgres, collection: str) -> None:
    one, other = (PgvectorStore(server.url, collection, password=None) for _ in range(2))
    index = one.create("v1", SPEC)
    other.drop(["v1"])
    with pytest.raises(IndexNotFoundError, match="no longer"):
        index.search([near(1)])
    with pytest.raises(IndexNotFoundError, match="v1"):
        index.upsert([make_point("a")])
    assert not index.write_checkpoint(Checkpoint("p", 1, ""), None)
    one.close()
    other.close()


def test_a_table_of_another_program_is_reported(server: Postgres, collection: str) -> None:
    server.run(f'create schema "{collection}"; create table "{collection}".versions (number int);')
    store = PgvectorStore(server.url, collection, password=None)
    with pytest.raises(SearchError, match="column") as caught:
        store.list_versions()
    assert caught.value.hint
    store.close()


def test_a_restarted_server_is_used_again_without_a_restart_of_ours() -> None:
    with start_postgres() as server:
        store = PgvectorStore(server.url, "shop", password=None)
        index = store.create("v1", SPEC)
        index.upsert([make_point("a")])
        server.stop()
        for _ in range(2):
            with pytest.raises(IndexUnavailableError):
                index.search([near(1)])
        server.start()
        assert find(index, near(1)) == ["a"]
        # Its connections are closed, and ours do not know yet.
        server.stop()
        server.start()
        index.upsert([make_point("b")])
        assert find(index, near(1)) == ["a", "b"]
        store.close()


def test_long_vectors_are_compared_without_a_graph(server: Postgres, collection: str) -> None:
    store = PgvectorStore(server.url, collection, password=None)
    index = store.create("v1", IndexSpec(3_000, ("words",), "f"))
    index.upsert([make_long_point("a", 0), make_long_point("b", 1)])
    index.optimize()
    request = near(1)
    found = index.search([type(request)("dense", make_long_point("a", 1).dense, 2)])[0]
    assert [hit.passage.row_key for hit in found] == ["b", "a"]
    store.close()


def make_long_point(row: str, axis: int):
    point = make_point(row)
    return type(point)(
        *(point.chunk_id, row, 0, "text", "c", "f", "20260101000000000"),
        [1.0 if at == axis else 0.0 for at in range(3_000)],
    )
