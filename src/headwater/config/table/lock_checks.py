"""Checks that the lock fits the lake and the tables."""

from collections.abc import Collection, Iterator, Mapping
from urllib.parse import urlsplit

from headwater.config.hudi.lock import LockConfig
from headwater.config.table.fields import TableFields

_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "wasb", "wasbs"})
_STORAGE_JARS = {
    "s3": "hudi-aws-bundle",
    "s3a": "hudi-aws-bundle",
    "gs": "hudi-gcp-bundle",
}
_MODE = "hoodie.write.concurrency.mode"
_PROVIDER = "hoodie.write.lock.provider"

Problem = tuple[tuple[str, ...], str]


def iter_lock_problems(
    lock: LockConfig | None, lake: str, tables: Mapping[str, TableFields], jars: Collection[str]
) -> Iterator[Problem]:
    """Yield keys with a sentence. `jars` are texts that name the further jars of a session."""
    if lock is not None:
        yield from _iter_provider_problems(lock, urlsplit(lake).scheme, jars)
    for name, table in tables.items():
        yield from _iter_table_problems(("tables", name), table, lock)


def _iter_provider_problems(lock: LockConfig, scheme: str, jars: Collection[str]) -> Iterator[Problem]:
    key, needed = ("lock", "provider"), ""
    if lock.provider == "file_system" and scheme in _OBJECT_STORES and lock.folder is None:
        yield (
            key,
            f"'file_system' is not safe in a lake at {scheme}://, where two writers could both create the "
            "lock file; use storage, dynamodb or zookeeper, or set `folder` to a shared folder elsewhere",
        )
    if lock.provider == "storage":
        needed = _STORAGE_JARS.get(scheme, "")
        if not needed:
            yield key, "'storage' supports only lakes at s3://, s3a:// and gs://; use file_system"
    if lock.provider == "dynamodb":
        needed = "hudi-aws-bundle"
    if needed and not any(needed in text for text in jars):
        yield (
            key,
            f"{lock.provider!r} is not part of Hudi's bundle for Spark; add `spark.packages: "
            f"[org.apache.hudi:{needed}:1.2.0]`",
        )


def _iter_table_problems(
    key: tuple[str, ...], table: TableFields, lock: LockConfig | None
) -> Iterator[Problem]:
    mode = table.hoodie.get(_MODE, "SINGLE_WRITER").upper()
    if mode != "SINGLE_WRITER" and lock is None and _PROVIDER not in table.hoodie:
        yield (
            (*key, "hoodie", _MODE),
            f"{mode!r} requires a lock shared by all writers; set `lock: {{provider: file_system}}` or "
            "another",
        )
    if table.concurrency == "non_blocking" and lock is None:
        yield (
            (*key, "concurrency"),
            "'non_blocking' requires a lock during the commit; set `lock: {provider: file_system}` or "
            "another",
        )
    if table.services != "inline" and (lock is None or not lock.spans_processes):
        yield (
            (*key, "services"),
            f"{table.services!r} means that `headwater services run` maintains the table concurrently with "
            "its writer, which requires a lock between processes; set "
            "`lock: {provider: file_system}` or another",
        )
