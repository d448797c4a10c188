"""Scans every file in a table's folder for subjects, by the key columns, without a JVM."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.lake.erasure.subjects import SubjectHasher, spell
from headwater.lake.file_store import FileStore
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.table_files import StoredFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_THREADS = 4
_BATCH_ROWS = 64 * 1024
_HIDDEN = ".hoodie/"


@dataclass(frozen=True, slots=True)
class Search:
    """Subjects to search for: hashes by the columns that they are of.

    `payloads_of` searches in the payloads of the quarantine that are of this table. Log files of later
    instants than `cleared` have no subject; empty if that is unknown.
    """

    lists: tuple[tuple[SubjectHasher, frozenset[str]], ...]
    payloads_of: str = ""
    cleared: str = ""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with rows of subjects: `rows` by hash. `unreadable` says why a file could not be scanned."""

    path: str
    rows: Mapping[str, int] = field(default_factory=dict)
    unreadable: str = ""

    @property
    def file_id(self) -> str:
        """The file group of the file; empty for a file that is not of Hudi."""
        name = parse_data_file_name(self.path.rpartition("/")[2])
        return name.file_id if name else ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The result for one table: the scanned files and bytes, and those with a subject or unreadable."""

    files: int
    bytes: int
    found: tuple[FoundFile, ...] = ()

    @property
    def file_ids(self) -> frozenset[str]:
        """The file groups that have, or may have, a subject."""
        return frozenset(one.file_id for one in self.found if one.file_id)


def scan_files(store: FileStore, search: Search) -> Scan:
    """Scan all data files of a table. `store` is opened at its folder. Raises `LakeError`."""
    files = [file for file in store.list_files() if _is_data(file)]
    with ThreadPoolExecutor(_THREADS, "scan") as pool:
        results = list(pool.map(lambda file: _scan(store, file, search), files))
    found = tuple(sorted((one for one in results if one is not None), key=lambda one: one.path))
    return Scan(len(files), sum(file.size for file in files), found)


def find_subjects(rows: Iterable[Mapping[str, Any]], search: Search) -> Counter[str]:
    """Count rows by the hash of their subject. Names ignore case. Pure."""
    counts: Counter[str] = Counter()
    for row in rows:
        plain = {name.lower(): value for name, value in row.items()}
        for hasher, wanted in search.lists:
            texts = [spell(plain.get(name.lower())) for name in hasher.columns]
            if None not in texts and (found := hasher.hash([text or "" for text in texts])) in wanted:
                counts[found] += 1
    return counts


def find_in_payload(payload: object, search: Search) -> Counter[str]:
    """Count the subjects that a quarantined record names, at any depth; none if it is no JSON. Pure."""
    if not isinstance(payload, str):
        return Counter()
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        return Counter()
    return find_subjects(_iter_objects(document), search)


def _iter_objects(document: object) -> Iterator[Mapping[str, Any]]:
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _is_data(file: StoredFile) -> bool:
    """True for a file that may have rows: not the timeline, the metadata table and partition markers."""
    is_marker = file.name.startswith(".hoodie_partition_metadata") or file.name.endswith(".crc")
    return not (file.path.startswith(_HIDDEN) or is_marker)


def _scan(store: FileStore, file: StoredFile, search: Search) -> FoundFile | None:
    if not file.name.endswith(".parquet"):
        name = parse_data_file_name(file.name)
        if name is not None and search.cleared and name.instant > search.cleared:
            return None
        kind = {"log": "a log file", "cdc": "a change log"}.get(name.kind if name else "", "")
        return FoundFile(file.path, unreadable=kind or "a file of another format")
    try:
        rows = _count(store, file.path, search)
    except _UnknownValueError as error:
        return FoundFile(file.path, unreadable=str(error))
    return FoundFile(file.path, dict(rows)) if rows else None


class _UnknownValueError(Exception):
    """A column of the file has values that are no keys."""


def _count(store: FileStore, path: str, search: Search) -> Counter[str]:
    from pyarrow import parquet

    counts: Counter[str] = Counter()
    with store.open_input(path) as source:
        file = parquet.ParquetFile(source)
        if search.payloads_of:
            return _count_payloads(file, search)
        by_name = {name.lower(): name for name in file.schema_arrow.names}
        lists = [
            (hasher, wanted, [by_name[name.lower()] for name in hasher.columns])
            for hasher, wanted in search.lists
            if all(name.lower() in by_name for name in hasher.columns)
        ]
        # A file from before the column existed has no subject by it.
        for hasher, wanted, names in lists:
            _check_keys(file.schema_arrow, names)
            for batch in file.iter_batches(_BATCH_ROWS, columns=names):
                for values, rows in _group(batch, names):
                    if (found := hasher.hash(values)) in wanted:
                        counts[found] += rows
    return counts


def _count_payloads(file: "parquet.ParquetFile", search: Search) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batch in file.iter_batches(_BATCH_ROWS, columns=["table", "payload"]):
        for row in batch.to_pylist():
            if row["table"] == search.payloads_of:
                counts += find_in_payload(row["payload"], search)
    return counts


def _group(batch: "pa.RecordBatch", names: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Yield the distinct texts of the key columns with their number of rows."""
    columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in names]
    for values, rows in Counter(zip(*columns, strict=True)).items():
        texts = [spell(value) for value in values]
        if None not in texts:
            yield [text or "" for text in texts], rows


def _check_keys(schema: "pa.Schema", names: Sequence[str]) -> None:
    """Raise `_UnknownValueError` for columns whose values `spell` does not know."""
    from pyarrow import types

    checks = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_date)
    for name in names:
        kind = schema.field(name).type
        if not (types.is_null(kind) or any(check(kind) for check in checks)):
            raise _UnknownValueError(f"column {name} of type {kind} has no keys")
