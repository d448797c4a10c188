"""Whatever happens between a table and its index, the index becomes the table."""

import random
import uuid
from pathlib import Path

import pytest

from headwater.rag.syncing.divergence import compare_states, digest_states
from headwater.rag.vector_stores.memory import MemoryVectorStore
from headwater.rag.vector_stores.protocol import Index, PointState
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore
from tests.fixtures.search.search_world import SPEC, CrashError, Encoder, World
from tests.fixtures.search.stores import open_pgvector

SEQUENCES = 1_000


def run_sequence(index: Index, seed: int, steps: int) -> World:
    """Random changes, indexing runs, syncs, rows ahead of the chunks, purges and deaths; then calm."""
    world = World(index, random.Random(seed))
    often = [world.change, world.sync, world.advance] * 2
    for _ in range(steps):
        step = world.random.choice([*often, world.build_chunks, world.fail_to_advance])
        try:
            step()
            if world.random.random() < 0.1 and world.chunks.revision:
                world.chunks.purge()
        except CrashError:
            pass
        except Exception as error:
            # Before the first indexing run there is nothing to follow.
            if "nothing has been indexed" not in str(error):
                raise
    world.settle()
    return world


def check(world: World, seed: int) -> None:
    states = list(world.index.iter_states())
    assert states == world.wanted(), f"seed {seed}"
    assert digest_states(states) == digest_states(world.wanted())
    points = world.index.load(sorted({state.row_key for state in states}))
    assert {point.chunk_id: point.text for point in points} == world.texts(), f"seed {seed}"
    for point in points:
        fields = {name: world.table[point.row_key].get(name) for name in ("price", "color")}
        assert dict(point.fields) == {k: v for k, v in fields.items() if v is not None}, f"seed {seed}"
        found = {name: set(vector.indices) for name, vector in point.sparse.items()}
        wanted = {name: set(vector.indices) for name, vector in Encoder().encode_passage(point.text).items()}
        assert found.get("words", set()) == wanted["words"], f"seed {seed}"


def test_the_index_becomes_the_table_in_this_process() -> None:
    for seed in range(SEQUENCES):
        check(run_sequence(MemoryVectorStore().create("v1", SPEC), seed, 20), seed)


def test_the_index_becomes_the_table_in_qdrant(tmp_path: Path) -> None:
    store = EdgeVectorStore(tmp_path, "products")
    for seed in range(10):
        check(run_sequence(store.create(f"v{seed}", SPEC), seed, 20), seed)
    store.close()


def test_the_index_becomes_the_table_in_postgres(tmp_path: Path) -> None:
    with open_pgvector(tmp_path) as store:
        for seed in range(10):
            check(run_sequence(store.create(f"v{seed}", SPEC), seed, 14), seed)


@pytest.mark.parametrize("seed", range(50))
def test_comparison_finds_exactly_the_differences(seed: int) -> None:
    rng = random.Random(seed)
    ids = sorted(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(rng.randint(0, 300)))
    wanted = [PointState(one, f"r{one[:4]}", "c", "f") for one in ids]
    changes = {one: rng.choice(["missing", "text", "fields", "surplus", *["same"] * 6]) for one in ids}
    found = []
    for state in wanted:
        what = changes[state.chunk_id]
        if what == "text":
            found.append(PointState(state.chunk_id, state.row_key, "other", state.fields_hash))
        elif what == "fields":
            found.append(PointState(state.chunk_id, state.row_key, state.content_hash, "other"))
        elif what != "missing":
            found.append(state)
    expected = [state for state in wanted if changes[state.chunk_id] != "surplus"]
    difference = compare_states(expected, found)
    assert difference.missing == [one for one in ids if changes[one] == "missing"]
    assert difference.changed_text == [one for one in ids if changes[one] == "text"]
    assert difference.changed_fields == [one for one in ids if changes[one] == "fields"]
    assert sorted(difference.surplus) == [one for one in ids if changes[one] == "surplus"]
