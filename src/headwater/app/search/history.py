"""Answers as of earlier commits: loads the chunks of that time into an in-memory index."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from headwater.app.search.index import SearchIndex
from headwater.capture.position import parse_instant
from headwater.errors import IndexUnavailableError, LakeError
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.syncing.moments import Choice, check_instant, choose_moment, keep_answerable
from headwater.rag.syncing.sync import fill_index
from headwater.rag.vector_stores.memory import MemoryIndex
from headwater.rag.vector_stores.protocol import Index

KEPT = 2
"""Indexes in memory at a time, including the one being loaded. Each is as large as the whole table."""
_WAIT_SECONDS = 5.0
log = structlog.stdlib.get_logger(__name__)

BuildRetriever = Callable[[Index, str], Retriever]
"""Builds a retriever from an index and its commit."""


@dataclass(frozen=True, slots=True)
class _Past:
    choice: Choice
    retriever: Retriever

    def answers(self, asked: str) -> bool:
        return self.choice.moment.as_of <= asked < self.choice.until


class SearchHistory:
    """Caches the most recently requested moments, and loads others on request. Thread-safe.

    One loads at a time. Its thread blocks until done, even if the caller has given up: the next request finds
    it loaded.
    """

    def __init__(
        self, index: SearchIndex, build_retriever: BuildRetriever, wait_seconds: float = _WAIT_SECONDS
    ) -> None:
        self._index = index
        self._build_retriever = build_retriever
        self._wait_seconds = wait_seconds
        self._chunks = index.open_past_chunks()
        self._loading = threading.Lock()
        self._lock = threading.Lock()
        # The most recently requested moment is last.
        self._kept: list[_Past] = []

    def search(self, query: SearchQuery, version: str, newest: str) -> SearchResult:
        """Search as of the newest moment not after `query.as_of`. `version` is the live version, at commit
        `newest`.

        Raises `AsOfUnavailableError` when there is none. Raises `IndexUnavailableError` when the lake cannot
        be read, or when another moment takes long to load.
        """
        check_instant(query.as_of, newest)
        past = self._find_kept(query.as_of) or self._wait_and_load(query.as_of, newest)
        as_of = past.choice.moment.as_of
        found = past.retriever.search(replace(query, as_of=as_of))
        return replace(found, index_version=f"{version}@{as_of}", complete_at=parse_instant(as_of))

    def _find_kept(self, asked: str) -> _Past | None:
        with self._lock:
            found = next((past for past in self._kept if past.answers(asked)), None)
            if found:
                self._kept.remove(found)
                self._kept.append(found)
            return found

    def _wait_and_load(self, asked: str, newest: str) -> _Past:
        # Threads that block without limit would be missing for searches of the live index.
        if not self._loading.acquire(timeout=self._wait_seconds):
            raise IndexUnavailableError(
                "an index as of an earlier commit is being loaded", hint="retry when it is loaded"
            )
        try:
            return self._find_kept(asked) or self._load(asked, newest)
        except LakeError as error:
            raise IndexUnavailableError(
                f"the chunks as of {asked} cannot be read: {error.message}", hint=error.hint
            ) from error
        finally:
            self._loading.release()

    def _load(self, asked: str, newest: str) -> _Past:
        started = time.monotonic()
        selection = self._index.build_selection()
        while True:
            answerable = keep_answerable(self._chunks.list_moments(), selection)
            choice = choose_moment(answerable, asked, newest)
            # A moment cleaned in the meantime must not be offered again.
            chunks = self._chunks.read(choice.moment)
            if chunks is not None:
                break
        with self._lock:
            del self._kept[: len(self._kept) - KEPT + 1]
        index = MemoryIndex(self._index.build_spec_of(choice.moment.state))
        fill_index(index, chunks, self._index.encoder)
        past = _Past(choice, self._build_retriever(index, choice.moment.as_of))
        with self._lock:
            self._kept.append(past)
        seconds = round(time.monotonic() - started, 3)
        log.info(
            "index as of an earlier commit loaded",
            as_of=choice.moment.as_of,
            chunks=index.count(),
            seconds=seconds,
        )
        return past
