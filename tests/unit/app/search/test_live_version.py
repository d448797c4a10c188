"""Only a version made by the configured model is searched: of another one, answers would be noise."""

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.app.search.index import SearchIndex
from headwater.app.search.live import LiveSearch
from headwater.config.settings import Settings
from headwater.errors import SearchError
from headwater.rag.vector_stores.memory import MemoryVectorStore


def build_index(folder: Path, store: MemoryVectorStore) -> SearchIndex:
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
