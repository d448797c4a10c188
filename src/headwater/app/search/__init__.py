"""Wires the index of a lake."""

from headwater.app.search.index import SearchIndex
from headwater.app.search.indexing import IndexLoop, build_indexer

__all__ = ["IndexLoop", "SearchIndex", "build_indexer"]
