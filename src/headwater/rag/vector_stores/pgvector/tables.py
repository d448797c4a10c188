"""The tables of a collection: a schema with its versions, and three kinds of tables for each version."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from psycopg import sql

from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.pgvector.plain_text import escape_text
from headwater.rag.vector_stores.protocol import IndexSpec

_MAX_INLINE_DIMENSIONS = 1_500
"""Longer vectors do not fit into a page with the rest of their row."""
MAX_GRAPH_DIMENSIONS = 2_000
"""The limit of pgvector for its graphs of `vector`."""

CREATE_COLLECTION = """
create table if not exists {versions} (
    name text collate "C" primary key, spec text not null, points bigint not null default 0,
    last_number bigint not null default 0, last_revision bigint not null default 0,
    position text, sequence bigint, written_at text);
create table if not exists {live} (
    is_live boolean primary key default true check (is_live),
    name text collate "C" not null references {versions})
"""
"""`points`, `last_number` and `last_revision` change with each write, whose transaction locks the row."""

_CREATE_VERSION = """
create table {points} (
    number integer primary key, revision bigint not null, chunk_id uuid not null unique,
    row_key text collate "C" not null, chunk_number integer not null, content_hash text not null,
    fields_hash text not null, instant text not null, tenant text collate "C", fields jsonb not null,
    text text not null, stems text not null);
create index on {points} (row_key);
create index on {points} (tenant) where tenant is not null;
create table {vectors} (number integer primary key, dense vector({dimensions}) not null)
"""
_CREATE_POSTINGS = """
create table {postings} (
    term integer, number integer, weight real not null, primary key (term, number) include (weight));
create index on {postings} (number)
"""
# One index for all fields, as conditions on keywords contain one value; ranges need an order.
_INDEX_FIELDS = "create index on {points} using gin (fields jsonb_path_ops)"
_INDEX_NUMBER = "create index on {points} ((fields -> {field}))"


@dataclass(frozen=True)
class CollectionTables:
    """The names of a collection's tables."""

    schema: str

    @cached_property
    def names(self) -> Mapping[str, sql.Identifier]:
        """Return the names for statements."""
        return {
            "schema": sql.Identifier(self.schema),
            "versions": sql.Identifier(self.schema, "versions"),
            "live": sql.Identifier(self.schema, "live"),
        }

    def write(self, statement: str) -> sql.Composed:
        """Return the statement with the names filled in."""
        return sql.SQL(statement).format(**self.names)


@dataclass(frozen=True)
class VersionTables:
    """The names of a version's tables."""

    schema: str
    version: str
    spec: IndexSpec

    @cached_property
    def names(self) -> Mapping[str, sql.Composable]:
        """Return the names for statements; those of postings are in `postings`."""
        return {
            **CollectionTables(self.schema).names,
            "points": self._name("points"),
            "vectors": self._name("vectors"),
            "graph": sql.Identifier(self.graph),
        }

    @cached_property
    def postings(self) -> Mapping[str, sql.Identifier]:
        """Return the table of each sparse vector's weights."""
        return {name: self._name(f"postings_{name}") for name in self.spec.sparse_names}

    @property
    def graph(self) -> str:
        """Return the name of the index with the graph."""
        return f"{self.version}_graph"

    def write(self, statement: str, **names: sql.Composable) -> sql.Composed:
        """Return the statement with the names filled in."""
        return sql.SQL(statement).format(**self.names, **names)

    def list_creations(self) -> list[sql.Composed]:
        """Return the statements that create the tables."""
        spec = self.spec
        found = [self.write(_CREATE_VERSION, dimensions=sql.Literal(spec.dimensions))]
        if spec.dimensions <= _MAX_INLINE_DIMENSIONS:
            # A scan then reads no second table.
            found.append(self.write("alter table {vectors} alter dense set storage plain"))
        found += [self.write(_CREATE_POSTINGS, postings=name) for name in self.postings.values()]
        if set(spec.filtered) - {TENANT}:
            found.append(self.write(_INDEX_FIELDS))
        found += [
            self.write(_INDEX_NUMBER, field=sql.Literal(escape_text(name)))
            for name, kind in spec.filtered.items()
            if kind == "number" and name != TENANT
        ]
        return found

    def list_tables(self) -> list[sql.Composable]:
        """Return the names of all tables."""
        return [self.names["points"], self.names["vectors"], *self.postings.values()]

    def _name(self, kind: str) -> sql.Identifier:
        return sql.Identifier(self.schema, f"{self.version}_{kind}")


def quote_name(name: str) -> str:
    """Return a name as functions that parse names require it."""
    return '"{}"'.format(name.replace('"', '""'))
