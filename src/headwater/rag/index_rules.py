"""The rules of an index: rows, texts and fields, and their fingerprints. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import get_args

from headwater.config.own_columns import is_own_column
from headwater.config.search import SearchConfig
from headwater.errors import SearchError
from headwater.rag.documents import TEXT_VERSION, DocumentRules
from headwater.rag.vector_stores.protocol import FieldKind, IndexSpec

FIELDS_VERSION = "2"
"""Part of the selection's fingerprint: change it with any code that changes the fields of rows. Version 2
includes nested columns."""

"""Prefixes of the columns of Hudi and headwater: never fields."""


@dataclass(frozen=True, slots=True)
class IndexRules:
    """The rules of one index.

    `key` are the columns that identify a row. With `can_repeat`, several rows may have the same key; only the
    newest is indexed. `removed_at` is a column that is set when a row is removed.
    """

    search: SearchConfig
    key: tuple[str, ...]
    can_repeat: bool
    removed_at: str

    def build_fingerprint(self, model: str) -> str:
        """Fingerprint everything that determines texts and vectors: different fingerprints never mix."""
        search = self.search
        made_by = {
            "table": search.table,
            "key": self.key,
            "text": list(search.text.items()),
            "chunk": search.chunk.model_dump(),
            "model": model,
            "version": TEXT_VERSION,
        }
        return _hash(made_by)

    def build_selection(self) -> str:
        """Fingerprint everything that selects rows and fields: a change means re-reading every row."""
        search = self.search
        made_by = {"where": search.where, "fields": search.fields, "tenant": search.tenant}
        return _hash({**made_by, "version": FIELDS_VERSION})

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise `SearchError` for a column that the table does not have; `columns` include nested ones."""
        search = self.search
        wanted = [
            *(("search.text", name) for name in search.text),
            *(("search.fields", name) for name in search.fields),
            *(("search.id", name) for name in (search.id,) if name),
            *(("search.tenant", name) for name in (search.tenant,) if name),
            *((f"search.page.{key}", name) for key, name in search.page.iter_columns()),
        ]
        missing = [
            f"{key}: no column {name!r}"
            for key, name in wanted
            if not any(f"{column}.".startswith(f"{name}.") for column in columns)
        ]
        if missing:
            own = [name for name in columns if not is_own_column(name)]
            raise SearchError(
                f"cannot index table {search.table!r}: {'; '.join(missing)}",
                hint=f"its columns are: {', '.join(own)}",
            )

    def build_document_rules(self, plain_columns: Sequence[str]) -> DocumentRules:
        """Build the rules for documents.

        `plain_columns` are the table's columns of texts, numbers, times, booleans or lists of them, nested
        ones by their paths. A struct among `search.fields` selects all of its columns.
        """
        # A text column is not scored again as a field.
        text, chosen = self.search.text, self.search.fields
        own = [name for name in plain_columns if name not in text and not is_own_column(name)]
        named = [name for one in chosen for name in plain_columns if f"{name}.".startswith(f"{one}.")]
        fields = tuple(dict.fromkeys(named if chosen else own))
        return DocumentRules(text=text, fields=fields, tenant=self.search.tenant)


def build_spec(
    fingerprint: str, analysis: str, dimensions: int, sparse_names: tuple[str, ...], kinds: Mapping[str, str]
) -> IndexSpec:
    """Return the spec of a version. `analysis` identifies how words become sparse vectors; `kinds` are the
    field kinds from the chunks table."""
    known: dict[str, FieldKind] = {kind: kind for kind in get_args(FieldKind)}
    filtered = {name: known[kind] for name, kind in kinds.items() if kind in known}
    return IndexSpec(dimensions, sparse_names, f"{fingerprint}.{_hash(analysis)}", filtered)


def read_chunks_fingerprint(spec: IndexSpec) -> str:
    """Return the fingerprint of the chunks that a version was built from."""
    return spec.fingerprint.partition(".")[0]


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return blake2b(text.encode(), digest_size=6).hexdigest()
