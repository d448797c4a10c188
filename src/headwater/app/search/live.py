"""The index in a server: follows the lake during searches, and stays available when the lake is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property

import pyarrow as pa
import structlog

from headwater.app.search.following import IndexFollower
from headwater.app.search.history import SearchHistory
from headwater.app.search.index import SearchIndex
from headwater.app.search.wiring import build_reranker, build_rules
from headwater.capture.position import parse_instant
from headwater.errors import HeadwaterError, IndexNotFoundError, IndexUnavailableError
from headwater.lake.layout import table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.retrieval.reranking import Reranker
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.searcher import Freshness
from headwater.rag.similar import find_similar
from headwater.rag.syncing.position import parse_position
from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.protocol import FieldKind, Index

_SEARCH_SECONDS = 60.0
"""After this time, no search uses the previous version any more."""
NO_INDEX_HINT = "run `headwater run --once` to fill the tables, then `headwater index build`"
log = structlog.stdlib.get_logger(__name__)


def read_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class _Live:
    """One opened version of the index."""

    version: str
    index: Index
    retriever: Retriever


class LiveSearch:
    """Searches the live version. `refresh` follows the lake, and switches when another version goes live.

    `syncs`: `refresh` also syncs the index with the chunks; else another process does. Searches run
    concurrently with a refresh. `SearchHistory` answers queries `as_of` an earlier commit. Raises
    `SearchError` when the index cannot be asked.
    """

    def __init__(self, index: SearchIndex, *, syncs: bool, now: Callable[[], datetime] = read_clock) -> None:
        self._index = index
        self._follower = IndexFollower(index) if syncs else None
        self._now = now
        self._live: _Live | None = None
        self._known = Freshness("", "", None, 0)
        self._compared_at = now()
        self._learnt = ("", "")
        # Versions that searches may still use, with the time at which another one went live.
        self._previous: dict[str, datetime] = {}
        self._history = SearchHistory(index, lambda past, as_of: self._build_retriever(past, lambda: as_of))

    def open(self, *, builds: bool = True) -> Freshness:
        """Load the model and the live version; with a live version, an unavailable lake is no obstacle.

        If chunks exist, but no version yet, a process that syncs builds it; with `builds=False`, the first
        `refresh` does, and until then the returned version is empty. Raises `IndexNotFoundError` when nothing
        was ever indexed, `HeadwaterError` when model or store cannot be used.
        """
        self._index.embedder.embed_queries(["ready"])
        if not builds and self._is_first_start():
            return self._known
        trouble: HeadwaterError | None = None
        try:
            self.refresh()
        except HeadwaterError as error:
            trouble = error
        if self._live is None:
            raise trouble or IndexNotFoundError("there is no index yet", hint=NO_INDEX_HINT)
        if trouble:
            log.warning("index refresh failed; serving the current version", error=str(trouble))
        return self._known

    def search(self, query: SearchQuery) -> SearchResult:
        """See `Searcher`."""
        live, newest = self._find_live(), self._known.as_of
        # The newest commit is the live index; during a sync it may already show parts of the next commit.
        if not query.as_of or query.as_of == newest:
            return live.retriever.search(replace(query, as_of=""))
        return self._history.search(query, live.version, newest)

    def similar(self, row_key: str, limit: int, tenant: str | None = None) -> SearchResult | None:
        """See `Searcher`."""
        live = self._find_live()
        rows = find_similar(live.index, row_key, limit, tenant)
        return None if rows is None else SearchResult(rows, live.version, self._known.as_of)

    def filterable(self) -> Mapping[str, FieldKind]:
        """See `Searcher`."""
        filtered = self._live.index.spec.filtered if self._live else {}
        # The tenant comes from the API key, never from the query.
        return {name: kind for name, kind in filtered.items() if name != TENANT}

    def freshness(self) -> Freshness:
        """See `Searcher`."""
        return self._known

    def refresh(self) -> None:
        """Sync if this process does so, open the live version, and update its freshness.

        Raises `HeadwaterError`; then searches continue with the previous version.
        """
        try:
            trouble = self._sync(self._follower) if self._follower else None
            self._open_live()
            self._refresh()
        except HeadwaterError as error:
            self._known = replace(self._known, error=type(error).__name__)
            raise
        if trouble:
            self._known = replace(self._known, error=type(trouble).__name__)
            raise trouble

    def learn_words(self) -> None:
        """Read the words of the live version, if anything was indexed since the last time.

        Searches are faster then, with the same results. Blocks for seconds, concurrently with refreshes and
        searches. Raises `SearchError`.
        """
        live, as_of = self._live, self._known.as_of
        if live is not None and (live.version, as_of) != self._learnt:
            live.retriever.learn_words()
            self._learnt = (live.version, as_of)

    def close(self) -> None:
        """Release the store."""
        self._index.close()

    def _is_first_start(self) -> bool:
        """True if this process can build the first version."""
        if self._follower is None or self._index.versions.open_live() is not None:
            return False
        return self._index.find_chunks_state() is not None

    def _sync(self, follower: IndexFollower) -> HeadwaterError | None:
        interval = self._index.search.serve.reconcile_interval
        try:
            if self._live and interval and (self._now() - self._compared_at).total_seconds() >= interval:
                self._compared_at = self._now()
                follower.reconcile()
            else:
                follower.sync()
        except HeadwaterError as error:
            return error
        return None

    def _find_live(self) -> _Live:
        if self._live is None:
            raise IndexUnavailableError("the index is being built", hint="retry when `/readyz` succeeds")
        return self._live

    def _open_live(self) -> None:
        found = self._index.versions.open_live()
        if found is None:
            raise IndexNotFoundError("there is no index yet", hint=NO_INDEX_HINT)
        version, index = found
        self._release_previous()
        if self._live is not None and self._live.version == version:
            return
        self._index.check_version(index)
        retriever = self._build_retriever(index, lambda: self._known.as_of, version)
        if self._live is not None:
            log.info("another version of the index is live", version=version, previous=self._live.version)
            self._previous[self._live.version] = self._now()
        self._live = _Live(version, index, retriever)

    def _release_previous(self) -> None:
        """Close versions that no search can use any more: other processes may open or remove them."""
        for version, switched_at in list(self._previous.items()):
            if self._live is not None and version == self._live.version:
                del self._previous[version]
            elif (self._now() - switched_at).total_seconds() > _SEARCH_SECONDS:
                del self._previous[version]
                self._index.store.release(version)

    def _build_retriever(self, index: Index, as_of: Callable[[], str], version: str = "") -> Retriever:
        config = self._index.search.retrieval
        return Retriever(
            index, self._index.embedder, config, version=version, as_of=as_of, reranker=self._reranker
        )

    @cached_property
    def _reranker(self) -> Reranker | None:
        return build_reranker(self._index.search.retrieval)

    def _refresh(self) -> None:
        live = self._find_live()
        began = self._now()
        checkpoint = live.index.read_checkpoint()
        as_of = parse_position(checkpoint.position).newest_as_of if checkpoint else ""
        before = self._known
        known = replace(before, index_version=live.version, as_of=as_of, points=live.index.count())
        # The content of the index is known; only the lake knows whether it is complete.
        self._known = known
        table = self._open_table()
        missed = [name.completed for name in table.commit_names if name.completed > as_of]
        complete_at = parse_instant(missed[0]) if missed else began
        has_integer_ids = before.has_integer_ids or self._has_integer_ids(table)
        self._known = replace(known, complete_at=complete_at, has_integer_ids=has_integer_ids, error="")

    def _open_table(self) -> SnapshotReader:
        settings = self._index.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return SnapshotReader(table_path(settings.lake, self._index.search.table), options)

    def _has_integer_ids(self, table: SnapshotReader) -> bool:
        """True if one integer column identifies the rows. Raises `LakeError`."""
        key = build_rules(self._index.settings).key
        at = table.schema.get_field_index(key[0]) if len(key) == 1 else -1
        return at >= 0 and pa.types.is_integer(table.schema.field(at).type)
