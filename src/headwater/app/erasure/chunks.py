"""Erases the chunks of rows, and the index that is built on them."""

from collections.abc import Callable

from headwater.app.application import App, read_clock
from headwater.app.erasure.report import Structure
from headwater.app.search.index import SearchIndex
from headwater.app.search.indexing import build_indexer
from headwater.app.search.wiring import build_rules
from headwater.errors import LakeError
from headwater.lake.erasure.scanning import Search
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.layout import chunks_path, table_path
from headwater.lake.table import Table
from headwater.rag.embedding import build_embedder
from headwater.rag.indexing.chunks_table import ChunksTable
from headwater.rag.indexing.erasing import build_source_hasher, find_sources, leave_out_present

CHUNKS = "chunks"
OpenIndex = Callable[[App], SearchIndex]


def open_search_index(app: App) -> SearchIndex:
    """Open the index of an app's configuration."""
    return SearchIndex(app.settings, environ=app.environ)


class ChunksErasure:
    """The chunks and the index of one table. Raises `HeadwaterError`."""

    def __init__(self, app: App, table: str, secret: Secret, open_index: OpenIndex) -> None:
        self._app = app
        self._table = table
        self._sources = build_source_hasher(secret)
        self._open_index = open_index

    def record(self, subjects: SubjectHasher, hashes: frozenset[str]) -> None:
        """Store which rows are erased, before they are: their chunks name nothing else."""
        found = find_sources(self._open_table(), subjects, hashes, self._sources)
        register = self._app.register
        if found:
            register.save(self._table, register.load(self._table).add_sources(found))

    def erase(self) -> Structure:
        """Bring chunks and index up to date with the table, then remove the chunks of erased rows."""
        build_indexer(self._app).run()
        index = self._open_index(self._app)
        try:
            if index.versions.open_live() is not None:
                index.sync()
                index.optimize()
                differing = index.read_status(compare=True).divergence_rows
                if differing:
                    raise LakeError(
                        f"the index differs from the chunks in {differing} rows",
                        hint="repair it with `headwater index sync --compare`, then repeat the command",
                    )
        finally:
            index.close()
        rules = build_rules(self._app.settings)
        fingerprint = rules.build_fingerprint(build_embedder(rules.search.embedder).name)
        chunks = ChunksTable(self._app.spark, chunks_path(self._app.settings.lake), fingerprint)
        return Structure(CHUNKS, chunks.erase(self._sources, self._list_erased(), read_clock()))

    def build_search(self) -> Search:
        """Return what no chunk may name."""
        return Search(((self._sources, self._list_erased()),))

    def _list_erased(self) -> frozenset[str]:
        known = self._app.register.load(self._table).sources
        return leave_out_present(self._open_table(), self._sources, known)

    def _open_table(self) -> Table:
        return Table(self._app.spark, table_path(self._app.settings.lake, self._table))
