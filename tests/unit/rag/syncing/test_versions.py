"""Versions of the index: filled, judged, switched to, taken back."""

import random
from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.errors import IndexNotFoundError, SearchError
from headwater.rag.syncing.sync import IndexSync
from headwater.rag.syncing.versions import IndexVersions, LiveVersion, Verdict, check_spec, judge_by_canaries
from headwater.rag.vector_stores.memory import MemoryVectorStore
from headwater.rag.vector_stores.protocol import Index, IndexSpec, PointState
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore
from tests.fixtures.search.search_world import SPEC, Encoder, World


class Shop:
    """Chunks, a store and its versions."""

    def __init__(self) -> None:
        self.store = MemoryVectorStore()
        self.versions = IndexVersions(self.store)
        self.world = World(MemoryVectorStore().create("v", SPEC), random.Random(3), crash_rate=0)
        self.change()

    def change(self) -> None:
        for _ in range(5):
            self.world.change()
        self.world.build_chunks()

    def open_sync(self, index: Index) -> IndexSync:
        return IndexSync(self.world.chunks, index, Encoder(), lambda: datetime.now(timezone.utc))


def let_through(live: LiveVersion | None, new: Index) -> Verdict:
    return Verdict(True, "fine")


def refuse(live: LiveVersion | None, new: Index) -> Verdict:
    return Verdict(False, "worse")


def test_a_new_version_goes_live_complete() -> None:
    shop = Shop()
    report = shop.versions.build(SPEC, shop.open_sync, judge_by_canaries)
    assert (report.version, report.is_live, report.points) == ("v0001", True, len(shop.world.wanted()))
    live = shop.versions.open_live()
    assert live is not None
    assert list(live[1].iter_states()) == shop.world.wanted()


def test_changes_during_the_gate_are_in_the_live_version() -> None:
    shop = Shop()

    def judge(live: LiveVersion | None, new: Index) -> Verdict:
        shop.change()
        return let_through(live, new)

    shop.versions.build(SPEC, shop.open_sync, judge)
    live = shop.versions.open_live()
    assert live is not None
    assert list(live[1].iter_states()) == shop.world.wanted()


def test_a_version_that_is_worse_is_dropped_and_the_live_one_stays() -> None:
    shop = Shop()
    shop.versions.build(SPEC, shop.open_sync, let_through)
    report = shop.versions.build(SPEC, shop.open_sync, refuse)
    assert (report.is_live, report.verdict.reason) == (False, "worse")
    assert (shop.store.find_live(), shop.store.list_versions()) == ("v0001", ["v0001"])


def test_live_version_of_another_process_is_judged_by_a_copy_and_replaced(tmp_path: Path) -> None:
    shop = Shop()
    served = EdgeVectorStore(tmp_path, "shop")
    IndexVersions(served).build(SPEC, shop.open_sync, let_through)
    shop.change()
    judged: list[PointState] = []

    def judge(live: LiveVersion | None, new: Index) -> Verdict:
        assert live is not None
        judged.extend(live.open().iter_states())
        return judge_by_canaries(live, new)

    building = EdgeVectorStore(tmp_path, "shop")
    report = IndexVersions(building).build(SPEC, shop.open_sync, judge)
    assert (report.version, report.is_live) == ("v0002", True)
    assert judged == shop.world.wanted()
    building.close()
    name, live = IndexVersions(served).open_live() or ("", None)
    assert live is not None
    assert (name, list(live.iter_states())) == ("v0002", shop.world.wanted())
    served.close()


def test_builds_of_another_process_leave_open_and_unfinished_versions(tmp_path: Path) -> None:
    shop = Shop()
    served = EdgeVectorStore(tmp_path, "shop")
    IndexVersions(served).build(SPEC, shop.open_sync, let_through)
    unfinished = served.create("v0002", SPEC)
    building = EdgeVectorStore(tmp_path, "shop")
    for _ in range(4):
        IndexVersions(building).build(SPEC, shop.open_sync, let_through)
    assert building.list_versions() == ["v0001", "v0002", "v0004", "v0005", "v0006"]
    assert unfinished.count() == 0
    assert served.open("v0001").count() == len(shop.world.wanted())
    # The name stays free for nothing else, and what is closed is removed by the next build.
    served.close()
    IndexVersions(building).build(SPEC, shop.open_sync, let_through)
    assert building.list_versions() == ["v0005", "v0006", "v0007"]
    building.close()


def test_rollback_goes_back_one_version_at_a_time_and_two_are_kept() -> None:
    shop = Shop()
    for _ in range(4):
        shop.versions.build(SPEC, shop.open_sync, let_through)
    assert shop.store.list_versions() == ["v0002", "v0003", "v0004"]
    assert [shop.versions.rollback(), shop.versions.rollback()] == ["v0003", "v0002"]
    with pytest.raises(IndexNotFoundError, match="no older version"):
        shop.versions.rollback()
    # The one that was taken back keeps its number.
    assert shop.versions.build(SPEC, shop.open_sync, let_through).version == "v0005"


def test_a_version_that_is_rolled_back_to_catches_up() -> None:
    shop = Shop()
    shop.versions.build(SPEC, shop.open_sync, let_through)
    shop.change()
    shop.versions.build(SPEC, shop.open_sync, let_through)
    shop.change()
    shop.versions.rollback()
    name, live = shop.versions.open_live() or ("", None)
    assert live is not None
    assert name == "v0001"
    shop.open_sync(live).run()
    assert list(live.iter_states()) == shop.world.wanted()


def test_unfinished_version_is_never_rolled_back_to() -> None:
    shop = Shop()
    shop.store.create("v0007", SPEC)
    shop.versions.build(SPEC, shop.open_sync, let_through)
    assert shop.store.list_versions() == ["v0001"]
    with pytest.raises(IndexNotFoundError):
        shop.versions.rollback()


def test_an_empty_version_does_not_replace_a_full_one() -> None:
    full, empty = MemoryVectorStore().create("v", SPEC), MemoryVectorStore().create("v", SPEC)
    shop = Shop()
    shop.open_sync(full).run()
    assert not judge_by_canaries(LiveVersion(SPEC, full.count(), lambda: full), empty).passed
    assert judge_by_canaries(None, empty).passed
    assert judge_by_canaries(LiveVersion(SPEC, 0, lambda: empty), full).passed


def test_another_model_is_reported_with_next_step() -> None:
    with pytest.raises(SearchError, match="length 4") as caught:
        check_spec(IndexSpec(8, ("words",), "f.a"), SPEC)
    assert "index build" in caught.value.hint
    with pytest.raises(SearchError, match="text columns, chunking or word analysis differs"):
        check_spec(IndexSpec(4, ("words",), "g.a"), SPEC)
    check_spec(SPEC, SPEC)


def test_two_syncs_at_once_end_with_the_newest() -> None:
    shop = Shop()
    index = MemoryVectorStore().create("v", SPEC)
    slow, quick = shop.open_sync(index), shop.open_sync(index)
    slow.run()
    shop.change()
    old_snapshot = shop.world.chunks.read_snapshot()
    stored = index.read_checkpoint()
    shop.change()
    quick.run()
    # The slow one writes what it saw before the quick one was there, and loses the race for the checkpoint.
    slow._follow(old_snapshot, stored, always_compare=False)
    assert list(index.iter_states()) == shop.world.wanted()


def test_tampered_index_is_repaired_by_comparison() -> None:
    shop = Shop()
    index = MemoryVectorStore().create("v", SPEC)
    sync = shop.open_sync(index)
    sync.run()
    states = list(index.iter_states())
    index.delete([states[0].chunk_id])
    assert not sync.run().has_changed
    assert sync.count_divergence() == 1
    report = sync.reconcile()
    assert (report.divergent_rows, report.upserted) == (1, 1)
    assert list(index.iter_states()) == states
    assert sync.reconcile().divergent_rows == 0
