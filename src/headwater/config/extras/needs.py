"""Which sections of a configuration need which extra."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headwater.config.azure_account import AZURE_SCHEMES
from headwater.config.catalogs import CatalogConfig
from headwater.config.catalogs.hive_address import parse_hive_address
from headwater.config.problems.problem import KeyPath
from headwater.config.search import SearchConfig
from headwater.config.settings import Settings

_FORMAT_EXTRAS = {"document": "documents", "xlsx": "excel", "protobuf": "protobuf"}
_SOURCE_EXTRAS = frozenset({"azure", "gcs", "kafka"})
_EMBEDDER_EXTRAS = {"fastembed": "fastembed", "sentence_transformers": "sentence-transformers"}


@dataclass(frozen=True, slots=True)
class Need:
    """A section of the configuration that needs an extra.

    `value` is the setting that decides, such as `type: hive`; empty if the section as a whole does.
    """

    path: KeyPath
    value: str
    extra: str


def find_missing_extras(settings: Settings, installed: Callable[[str], bool]) -> list[Need]:
    """Return the needs whose extra is not installed, in the order of the configuration."""
    needs = list(iter_needs(settings))
    missing = {extra for extra in {need.extra for need in needs} if not installed(extra)}
    return [need for need in needs if need.extra in missing]


def iter_needs(settings: Settings) -> Iterator[Need]:
    """Yield every need of the configuration. Reads nothing else."""
    for path, source in settings.iter_sources():
        if source.type in _SOURCE_EXTRAS:
            yield Need((*path, "type"), f"type: {source.type}", source.type)
    if settings.lake.startswith(AZURE_SCHEMES):
        yield Need(("lake",), f"lake: {settings.lake}", "azure")
    yield from _iter_table_needs(settings)
    for number, catalog in enumerate(settings.catalogs):
        extra = _find_catalog_extra(catalog)
        if extra is not None:
            key = "address" if extra == "hiveserver2" else "type"
            yield Need(("catalogs", number, key), f"{key}: {getattr(catalog, key)}", extra)
    if settings.lineage is not None:
        yield Need(("lineage",), "", "lineage")
    if settings.observability.tracing is not None:
        yield Need(("observability", "tracing"), "", "tracing")
    if settings.search is not None:
        yield from _iter_search_needs(settings.search)


def _iter_table_needs(settings: Settings) -> Iterator[Need]:
    for name, table in settings.object_tables.items():
        extra = _FORMAT_EXTRAS.get(table.effective_format)
        if extra is not None:
            key = "path" if table.format is None else "format"
            yield Need(("tables", name, key), f"format: {table.effective_format}", extra)
        elif table.schema_ is not None and table.schema_.file is not None and not table.schema_.is_avro_file:
            yield Need(("tables", name, "schema", "file"), f"file: {table.schema_.file.name}", "protobuf")
        archive = next((path for path in table.path if path.lower().endswith(".7z")), None)
        if archive is not None and table.effective_format != "binary":
            yield Need(("tables", name, "path"), f"path: {archive}", "7z")
    for name, table in settings.tables.items():
        if table.iceberg:
            yield Need(("tables", name, "iceberg"), "iceberg: true", "iceberg")


def _find_catalog_extra(catalog: CatalogConfig) -> str | None:
    if catalog.type == "glue":
        return None  # boto3, which a bucket as the source also needs
    if catalog.type == "hive":
        return "hiveserver2" if parse_hive_address(str(catalog.address)).is_server else "hive"
    return catalog.type


def _iter_search_needs(search: SearchConfig) -> Iterator[Need]:
    yield Need(("search",), "", "search")
    if search.store.type == "pgvector":
        yield Need(("search", "store", "type"), "type: pgvector", "pgvector")
    embedder = search.embedder.type
    if embedder in _EMBEDDER_EXTRAS:
        yield Need(("search", "embedder", "type"), f"type: {embedder}", _EMBEDDER_EXTRAS[embedder])
    if search.retrieval.rerank is not None:
        yield Need(("search", "retrieval", "rerank"), "", "sentence-transformers")
