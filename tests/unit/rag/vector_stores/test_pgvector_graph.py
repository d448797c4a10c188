"""The graph of an index in PostgreSQL: built once there are enough points, and no hit is lost by it."""

import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from headwater.rag.vector_stores.pgvector import index as pgvector_index
from headwater.rag.vector_stores.pgvector.index import PgvectorIndex
from headwater.rag.vector_stores.pgvector.store import PgvectorStore
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.points import SPEC, find, make_point, near
from tests.fixtures.search.stores import find_postgres

POINTS = 2_000
# Of so few points the server compares all, unless it must not sort: then it follows the graph.
WITHOUT_SORTS = "?options=-c%20enable_sort%3Doff"
RARE = [IndexCondition("color", "eq", "rare")]


@pytest.fixture(scope="module")
def collection() -> Iterator[str]:
    name = f"graph-{uuid.uuid4().hex}"
    yield name
    find_postgres().run(f'drop schema "{name}" cascade;')


@pytest.fixture(scope="module")
def index(collection: str) -> Iterator[PgvectorIndex]:
    vectors = np.random.default_rng(3).normal(size=(POINTS, 8)).tolist()
    store = PgvectorStore(find_postgres().url + WITHOUT_SORTS, collection, password=None)
    filled = store.create("v1", SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pgvector_index, "OPTIMIZE_AFTER", POINTS)
        filled.upsert([build(number, vectors[number]) for number in range(POINTS - 1)])
        filled.optimize()
        assert count_graphs(collection) == 0
        filled.upsert([build(number, vectors[number]) for number in range(POINTS)])
        filled.optimize()
    yield filled
    store.close()


def build(number: int, vector: list[float]):
    color = "frequent" if number % 400 else "rare"
    tags = ["late"] if number >= POINTS // 2 - 20 else ["early"]
    return make_point(f"r{number:04}", vector, color=color, price=number, tags=tags)


def count_graphs(collection: str) -> int:
    where = f"schemaname = '{collection}' and indexdef like '%hnsw%'"
    return int(find_postgres().run(f"select count(*) from pg_indexes where {where};"))


def test_it_is_built_and_used(index: PgvectorIndex, collection: str) -> None:
    assert count_graphs(collection) == 1
    nearest = "order by dense <#> '[1,0,0,0,0,0,0,0]' limit 9"
    plan = find_postgres().run(f'explain select number from "{collection}".v1_vectors {nearest};')
    assert "v1_graph" in plan
    vacuumed = f"schemaname = '{collection}' and vacuum_count > 0"
    # Points, vectors and two kinds of postings.
    assert find_postgres().run(f"select count(*) from pg_stat_all_tables where {vacuumed};") == "4\n"


def test_its_hits_are_the_nearest_points(index: PgvectorIndex) -> None:
    points = index.load([f"r{number:04}" for number in range(POINTS)])
    matrix = np.asarray([point.dense for point in points])
    generator = np.random.default_rng(4)
    right = 0
    for _ in range(20):
        query = generator.normal(size=8)
        wanted = {points[at].row_key for at in np.argsort(-(matrix @ query))[:10]}
        right += len(wanted & set(find(index, near(*query.tolist()))))
    assert right >= 0.98 * 200


def test_rare_points_are_found_however_far_they_are(index: PgvectorIndex) -> None:
    for query in np.eye(8):
        assert len(find(index, near(*query.tolist(), limit=10, conditions=RARE))) == 5


def test_points_that_the_server_expects_to_be_frequent_are_all_found(index: PgvectorIndex) -> None:
    # Each condition selects half of the points, and both of them only 20.
    both = [IndexCondition("tags", "eq", "late"), IndexCondition("price", "lt", POINTS // 2)]
    for query in np.eye(8):
        assert len(find(index, near(*query.tolist(), limit=20, conditions=both))) == 20


def test_a_search_may_be_deeper_than_the_graph_is_followed(index: PgvectorIndex) -> None:
    assert len(find(index, near(1, limit=1_500))) == 1_500
    few = [IndexCondition("price", "lt", 1_000)]
    assert len(find(index, near(1, limit=900, conditions=few))) == 900


def test_later_points_are_in_it(index: PgvectorIndex) -> None:
    index.upsert([make_point("late", (1, 0))])
    assert find(index, near(1, 0, limit=1)) == ["late"]
    index.delete([make_point("late").chunk_id])
    assert find(index, near(1, 0, limit=1)) != ["late"]


def test_new_fields_write_no_vector(index: PgvectorIndex, collection: str) -> None:
    def read_version() -> str:
        return find_postgres().run(f'select sum(xmin::text::bigint) from "{collection}".v1_vectors;')

    before = read_version()
    index.set_fields([make_point("r0001", color="new")])
    assert find(index, near(1, conditions=[IndexCondition("color", "eq", "new")])) == ["r0001"]
    assert read_version() == before
