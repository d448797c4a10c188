"""Chunks for a command that needs them now."""

from contextlib import closing

from headwater.app.application import App
from headwater.app.preflight import check_before_run
from headwater.app.search.index import SearchIndex
from headwater.app.search.indexing import build_indexer
from headwater.config.environment import read_environment
from headwater.lake.layout import table_path
from headwater.lake.s3 import build_storage_options
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.rag.indexing.indexer import IndexReport


def ensure_chunks(index: SearchIndex) -> IndexReport | None:
    """Bring the chunks up to the table; None, and no JVM, when they are. Raises `HeadwaterError`."""
    settings = index.settings
    options = build_storage_options(settings.lake, settings.lake_storage)
    reader = SnapshotReader(table_path(settings.lake, index.search.table), options)
    names = reader.commit_names  # raises when there is no such table
    state = index.find_chunks_state()
    if (
        state is not None
        and (not names or state.as_of >= names[-1].completed)
        and index.is_same_selection(state)
    ):
        return None
    # The first error that a model which is not there gives, before a JVM is started for it.
    index.embedder.embed_passages(["headwater"])
    environ = read_environment()
    check_before_run(settings, environ)
    with closing(App(settings, environ=environ)) as app:
        indexer = build_indexer(app)
        report = indexer.run()
        indexer.purge()
    return report
