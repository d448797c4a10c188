"""Builds the chunks for a command that needs them now."""

from contextlib import ExitStack, closing

import structlog

from headwater.app.application import App
from headwater.app.preflight import check_before_run
from headwater.app.search.index import SearchIndex
from headwater.app.search.indexing import build_indexer
from headwater.app.services.writer_lease import hold_for_command
from headwater.config.environment import read_environment
from headwater.errors import TableBusyError
from headwater.lake.layout import table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.rag.indexing.indexer import IndexReport

log = structlog.stdlib.get_logger(__name__)


def ensure_chunks(index: SearchIndex) -> IndexReport | None:
    """Bring the chunks up to date with the table. Returns None, without a JVM, if they are or if a `run` does
    it.

    Raises `HeadwaterError`; `TableBusyError` while a run is active and there are no chunks of this
    configuration yet.
    """
    settings = index.settings
    options = build_storage_options(settings.lake, settings.lake_storage)
    reader = SnapshotReader(table_path(settings.lake, index.search.table), options)
    names = reader.commit_names  # raises when there is no such table
    state = index.find_chunks_state()
    is_usable = state is not None and index.is_same_selection(state)
    if state is not None and is_usable and (not names or state.as_of >= names[-1].completed):
        return None
    # A missing model fails here, before a JVM is started for it.
    index.embedder.embed_passages(["headwater"])
    environ = read_environment()
    check_before_run(settings, environ)
    with ExitStack() as stack:
        try:
            lease = stack.enter_context(hold_for_command(settings, "index build"))
        except TableBusyError as busy:
            if not is_usable:
                raise
            log.info("using existing chunks; the active writer updates them", writer=str(busy))
            return None
        app = stack.enter_context(closing(App(settings, environ=environ)))
        lease.add_process(app.find_jvm_process())
        indexer = build_indexer(app)
        report = indexer.run()
        indexer.purge()
    return report
