"""Builds the parts of an index from the configuration."""

from collections.abc import Mapping
from pathlib import Path

from headwater.config.search import SearchConfig
from headwater.config.search.retrieval import RetrievalConfig
from headwater.config.settings import Settings
from headwater.config.table.fields import VALIDITY
from headwater.errors import ConfigError
from headwater.ingest.lineage import EVENT_ID, OBJECT, REMOVED_AT, ROW, SOURCE_KEY, SOURCE_ROW
from headwater.lake.layout import OWN_FOLDER
from headwater.rag.index_rules import IndexRules
from headwater.rag.retrieval.reranking import CrossEncoderReranker, Reranker
from headwater.rag.vector_stores.protocol import VectorStore

API_KEY_VARIABLE = "HEADWATER_QDRANT_API_KEY"
PASSWORD_VARIABLE = "HEADWATER_PGVECTOR_PASSWORD"  # noqa: S105 - the name of a variable


def find_search(settings: Settings) -> SearchConfig:
    """Return the `search` section. Raises `ConfigError` when there is none."""
    if settings.search is None:
        raise ConfigError(
            "search: missing: it names the table and the columns to search",
            hint=f"add `search: {{table: {next(iter(settings.tables))}, text: [COLUMN, ...]}}`",
        )
    return settings.search


def build_rules(settings: Settings) -> IndexRules:
    """Return how the configured table's rows are named and selected."""
    search = find_search(settings)
    table = settings.tables[search.table]
    by_mode = {"merge": table.record_key, "mirror": (OBJECT, ROW), "append": (EVENT_ID, ROW)}
    derived_key = table.record_key or (SOURCE_KEY, SOURCE_ROW)
    own_key = by_mode[table.effective_mode] if table.from_ is None else derived_key
    if table.history is not None:
        own_key = (*table.record_key, VALIDITY[0])
    key = (search.id,) if search.id else own_key
    # Hudi's keys are unique within a partition.
    can_repeat = key != own_key or (table.effective_mode == "merge" and bool(table.partition))
    return IndexRules(search, key, can_repeat, REMOVED_AT)


def open_store(settings: Settings, environ: Mapping[str, str]) -> VectorStore:
    """Open the configured store. Raises `ConfigError`, and `SearchError` when it cannot be opened."""
    store = find_search(settings).store
    if store.type == "qdrant" and store.url:
        from headwater.rag.vector_stores.qdrant import QdrantStore

        key = environ.get(API_KEY_VARIABLE)
        return QdrantStore.connect(store.url, store.collection, api_key=key, prefer_grpc=store.prefer_grpc)
    if store.type == "pgvector" and store.url:
        from headwater.rag.vector_stores.pgvector.store import PgvectorStore

        return PgvectorStore(store.url, store.collection, password=environ.get(PASSWORD_VARIABLE))
    if store.type == "memory":
        from headwater.rag.vector_stores.memory import MemoryVectorStore

        return MemoryVectorStore()
    from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore

    return EdgeVectorStore(find_folder(settings), store.collection)


def build_reranker(config: RetrievalConfig) -> Reranker | None:
    """Load the configured cross-encoder, if any. Raises `MissingExtraError` and `SearchError`."""
    return CrossEncoderReranker(config.rerank) if config.rerank is not None else None


def find_folder(settings: Settings) -> Path:
    """Return the folder of a local index. Raises `ConfigError` when none is configured."""
    path = find_search(settings).store.path
    if path:
        return Path(path).expanduser()
    if "://" in settings.lake:
        raise ConfigError(
            "search.store.path: missing: it has no default because the lake is not a local folder",
            hint="set search.store.path, or use a server: search.store: {type: qdrant, url: ...}",
        )
    return Path(settings.lake) / OWN_FOLDER / "index"
