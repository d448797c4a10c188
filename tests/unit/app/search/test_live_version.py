"""Only a version made by the configured model is searched: of another one, answers would be noise."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from headwater.app.search.index import SearchIndex
from headwater.app.search.live import LiveSearch
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, IndexUnavailableError, SearchError
from headwater.rag.vector_stores.memory import MemoryVectorStore
from headwater.rag.vector_stores.protocol import Checkpoint, VectorStore
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore

CHECKPOINT = Checkpoint("chunks/20261128000000000/1/20261128000000000", 1, "2026-11-28T00:00:00+00:00")


def build_index(folder: Path, store: VectorStore) -> SearchIndex:
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": str(folder / "landing")},
            "lake": str(folder / "lake"),
            "tables": {"products": {"path": "*.json", "record_key": "sku"}},
            "search": {"table": "products", "text": ["title"], "embedder": {"type": "hashing"}},
        }
    )
    return SearchIndex(settings, environ={}, store=store)


def test_a_version_of_another_model_is_refused_with_a_way_out(tmp_path: Path) -> None:
    store = MemoryVectorStore()
    index = build_index(tmp_path, store)
    store.create("v0001", replace(index.build_bare_spec(), fingerprint="of.another"))
    store.set_live("v0001")
    with pytest.raises(SearchError, match="another configuration") as refused:
        LiveSearch(index, syncs=False).open()
    assert "headwater index build" in refused.value.hint


def test_live_searches_are_unaffected_by_a_version_of_another_model(tmp_path: Path) -> None:
    store = MemoryVectorStore()
    index = build_index(tmp_path, store)
    spec = index.build_bare_spec()
    store.create("v0002", spec)
    store.set_live("v0002")
    live = LiveSearch(index, syncs=False)
    assert live.open().index_version == "v0002"
    store.create("v0001", replace(spec, fingerprint="of.another"))
    store.set_live("v0001")
    with pytest.raises(SearchError, match="another configuration"):
        live.refresh()
    assert live.freshness().index_version == "v0002"


def test_the_previous_version_is_released_when_its_searches_have_ended(tmp_path: Path) -> None:
    store = EdgeVectorStore(tmp_path / "index", "shop")
    other = EdgeVectorStore(tmp_path / "index", "shop")
    index = build_index(tmp_path, store)
    now = [datetime(2026, 11, 28, tzinfo=timezone.utc)]
    live = LiveSearch(index, syncs=False, now=lambda: now[0])
    for version in ("v0001", "v0002"):
        store.create(version, index.build_bare_spec()).write_checkpoint(CHECKPOINT, None)
        store.set_live(version)
        with suppress(HeadwaterError):  # there is no lake
            live.refresh()
    assert live.freshness().index_version == "v0002"
    with pytest.raises(IndexUnavailableError, match="v0001"):
        other.open("v0001")
    now[0] += timedelta(minutes=2)
    with suppress(HeadwaterError):
        live.refresh()
    assert other.open("v0001").count() == 0
    with pytest.raises(IndexUnavailableError, match="v0002"):
        other.open("v0002")
    # Live again in the meantime: it is opened again, and stays open.
    other.release("v0001")
    for version in ("v0001", "v0002", "v0001"):
        store.set_live(version)
        with suppress(HeadwaterError):
            live.refresh()
    now[0] += timedelta(minutes=2)
    with suppress(HeadwaterError):
        live.refresh()
    with pytest.raises(IndexUnavailableError, match="v0001"):
        other.open("v0001")
    store.close()
    other.close()
