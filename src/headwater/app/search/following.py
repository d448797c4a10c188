"""Keeps the live version of the index up to date: with the chunks, and with rows newer than they are."""

import numpy as np
import structlog

from headwater.app.search.index import SearchIndex
from headwater.app.search.wiring import build_rules
from headwater.errors import HeadwaterError
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.storage_options import build_storage_options
from headwater.rag.index_rules import read_chunks_fingerprint
from headwater.rag.indexing.stages import embed_in_batches
from headwater.rag.syncing.ahead import Ahead
from headwater.rag.syncing.lake_rows import LakeRows
from headwater.rag.syncing.sync import SyncReport
from headwater.rag.vector_stores.protocol import Index

log = structlog.stdlib.get_logger(__name__)


class IndexFollower:
    """Syncs the index again and again, in one thread. Raises as `SearchIndex.sync`."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        settings = index.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        address = TableAddress(index.search.table, table_path(settings.lake, index.search.table), options)
        self._rows = LakeRows(address, build_rules(settings), index.embedder.name)
        self._ahead = Ahead()
        self._version: str | None = None
        self._problem = ""

    def sync(self) -> SyncReport:
        """Follow the chunks, then write the rows that newer commits of the data table have changed.

        Without a live version, build the first.
        """
        found = self._open_live()
        if found is None:
            return self._index.sync()
        report = self._index.open_sync(found, self._ahead).run()
        report = self._advance(found) or report
        found.optimize()
        return report

    def reconcile(self) -> SyncReport:
        """Compare all of the live version with its chunks, except for rows ahead of them, and repair it."""
        self._open_live()
        return self._index.reconcile(self._ahead)

    def _open_live(self) -> Index | None:
        live = self._index.versions.open_live()
        version = live[0] if live else None
        if version != self._version:
            self._version, self._ahead = version, Ahead()
        return live[1] if live else None

    def _advance(self, index: Index) -> SyncReport | None:
        if read_chunks_fingerprint(index.spec) != self._index.fingerprint:
            return None
        try:
            report = self._index.open_sync(index, self._ahead).advance(self._rows, self._embed)
        except HeadwaterError as error:
            # The chunks follow in any case. Rows whose newer states cannot be read are set back to them: a
            # restore may have taken those states back.
            self._ahead.forget()
            if str(error) != self._problem:
                log.info("rows newer than the chunks are not read", reason=str(error))
            self._problem = str(error)
            return None
        self._problem = ""
        return report if report.has_changed else None

    def _embed(self, texts: list[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        return embed_in_batches(self._index.embedder, texts, self._index.search.embedder.batch_size)
