"""The data flow of a configuration: from the bucket to tables and index. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.app.lineage.datasets import DatasetName, name_dataset
from headwater.config.search.index import SearchConfig
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.config.table.outside import is_outside
from headwater.lake.layout import list_tables

NodeKind = Literal["source", "events", "table", "quarantine", "chunks", "index"]
INDEX = "search index"
"""The node's name: no table name contains a space."""


@dataclass(frozen=True, slots=True)
class LineageNode:
    """`name` is unique and as commands use it; that of the source is its location.

    `place` is a path or URL; empty for an index in its default location. `columns` are those that the
    configuration names as keys, partitions or texts.
    """

    name: str
    kind: NodeKind
    place: str
    columns: tuple[str, ...] = ()
    dataset: DatasetName | None = None
    """The OpenLineage dataset; None for an index in its default location."""


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """`target` is built from `source`; `rules` say from which part and how, in the file's words."""

    source: str
    target: str
    rules: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nodes come after those they are built from."""

    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]

    def find(self, name: str) -> LineageNode:
        """Return the node of that name. Raises `KeyError`."""
        return {node.name: node for node in self.nodes}[name]

    def list_from(self, name: str) -> list[LineageEdge]:
        """Return the edges to everything built from the node."""
        return [edge for edge in self.edges if edge.source == name]


def build_lineage(settings: Settings) -> Lineage:
    """Build the lineage of the whole configuration; reads no data."""
    places = list_tables(settings)
    sources = {source.address: source for source in settings.sources}
    nodes = [_build_node(address, "source", address) for address in sources]
    nodes.append(_build_node("events", "events", places["events"]))
    edges = [LineageEdge(address, "events", source.notified_by) for address, source in sources.items()]
    for name, table in {**settings.object_tables, **settings.derived_tables}.items():
        known = {node.name for node in nodes}
        nodes += [
            _build_node(source, "table", source)
            for source in table.sources
            if is_outside(source) and source not in known
        ]
        nodes.append(_build_node(name, "table", places[name], _list_columns(table)))
        rules = _describe_table(table)
        edges += [LineageEdge(source, name, rules) for source in table.sources or ("events",)]
    nodes.append(_build_node("quarantine", "quarantine", places["quarantine"]))
    edges.append(LineageEdge("events", "quarantine", {}))
    if settings.search is not None:
        search = settings.search
        nodes.append(_build_node("chunks", "chunks", places["chunks"], tuple(search.text)))
        edges.append(LineageEdge(search.table, "chunks", dict(_iter_search_rules(search))))
        nodes.append(_build_node(INDEX, "index", search.store.url or search.store.path or ""))
        edges.append(LineageEdge("chunks", INDEX, {"store": search.store.type}))
    return Lineage(tuple(nodes), tuple(edges))


def _build_node(name: str, kind: NodeKind, place: str, columns: tuple[str, ...] = ()) -> LineageNode:
    return LineageNode(name, kind, place, columns, name_dataset(place) if place else None)


def _list_columns(table: TableConfig) -> tuple[str, ...]:
    declared = (*table.record_key, *table.ordering, *table.partition, *table.partition_columns)
    return tuple(dict.fromkeys(declared))


def _describe_table(table: TableConfig) -> dict[str, str]:
    if table.from_ is None:
        rules = {"path": ", ".join(table.path), "mode": table.effective_mode}
        if table.source:
            rules["source"] = ", ".join(table.source)
    else:
        rules = {"refresh": table.effective_refresh}
        if table.effective_group_key:
            rules["group_key"] = ", ".join(table.effective_group_key)
    if table.transform:
        rules["transform"] = ", ".join(step.name or step.kind for step in table.transform)
    if table.checks:
        rules["checks"] = ", ".join(check.name or check.kind for check in table.checks)
    return rules


def _iter_search_rules(search: SearchConfig) -> Iterator[tuple[str, str]]:
    yield "text", ", ".join(search.text)
    if search.where:
        yield "where", search.where
    yield "embedder", search.embedder.type
