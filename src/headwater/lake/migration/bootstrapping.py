"""Bootstraps a table from the files of a folder, which stay in place or are rewritten."""

import posixpath
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.config.table import TableConfig
from headwater.errors import LakeError, TableMismatchError, UsageError
from headwater.lake.jvm import explained_lake, qualify_path, read_session_settings, save
from headwater.lake.migration.bootstrap_plan import (
    BootstrapPlan,
    BootstrapRequest,
    check_config,
    check_source,
    list_partitions,
)
from headwater.lake.options import WriteOptions
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table
from headwater.lake.timeline.jvm import clear_unfinished_creation, load_timeline
from headwater.lake.typed_options.bootstrap import bootstrap_options
from headwater.lake.typed_options.locks import read_session_lock


def plan_bootstrap(table: ServiceTable, config: TableConfig, request: BootstrapRequest) -> BootstrapPlan:
    """Validate configuration, folders, columns and keys, and plan the bootstrap; writes nothing.

    Raises `UsageError` for files or a configuration that do not match, `TableMismatchError` if a table
    already exists, and `LakeError`.
    """
    check_config(table.address.name, config)
    _check_location(table)
    source = qualify_path(table.spark, request.source)
    _check_apart(source, qualify_path(table.spark, table.address.path))
    with explained_lake(request.source):
        rows = table.spark.read.format(config.base_file_format).load(source)
        folders = [_find_folder(source, file) for file in rows.inputFiles()]
    if not folders:
        raise UsageError(
            f"{request.source} contains no {config.base_file_format} file",
            hint="the files must have the table's `base_file_format`",
        )
    partitions = list_partitions(folders, request)
    check_source(config, request.source, rows.columns, partitions)
    count = _check_keys(rows, config, request.source)
    return BootstrapPlan(source, config.base_file_format, count, tuple(rows.columns), partitions)


def bootstrap(
    table: ServiceTable, plan: BootstrapPlan, request: BootstrapRequest, options: WriteOptions
) -> None:
    """Create the planned table; `options` are those of its later writes.

    Raises `LakeError`, also if the row counts of table and files differ.
    """
    path = table.address.path
    clear_unfinished_creation(table.spark, path)
    lock = read_session_lock(read_session_settings(table.spark), table.address.name)
    asked = bootstrap_options(plan.source, plan.file_format, request.mode, request.regex)
    nothing = table.spark.read.format(plan.file_format).load(plan.source).limit(0)
    save(nothing, path, {**lock, **options.to_hoodie(), **asked})
    with explained_lake(path):
        count = Table(table.spark, path).read().count()
    if count != plan.rows:
        raise LakeError(
            f"{path}: {count:,} rows can be read, but {plan.source} contains {plan.rows:,}",
            hint="another process may have written to the source; remove the table's folder and try again",
        )


def _check_location(table: ServiceTable) -> None:
    timeline = load_timeline(table.spark, table.address.path)
    if not timeline.exists():
        return
    if timeline.commits:
        raise TableMismatchError(
            f"{table.address.path} already contains a table",
            hint="a bootstrap creates a new table: configure one with another name",
        )
    raise TableMismatchError(
        f"{table.address.path} contains a table without a commit, the remains of an interrupted bootstrap",
        hint="remove that folder and try again",
    )


def _check_apart(source: str, path: str) -> None:
    one, other = (f"{path.rstrip('/')}/" for path in (source, path))
    if one.startswith(other) or other.startswith(one):
        raise UsageError(f"the source {source} and the table at {path} overlap", hint="move one of them")


def _find_folder(source: str, file: str) -> str:
    folder = posixpath.dirname(unquote(urlsplit(file).path))
    found = posixpath.relpath(folder, unquote(urlsplit(source).path))
    return "" if found == "." else found


def _check_keys(rows: DataFrame, config: TableConfig, source: str) -> int:
    """Return the number of rows after checking that their keys are unique and not null."""
    keys: Sequence[str] = tuple(dict.fromkeys((*config.record_key, *config.partition)))
    lacks = F.lit(False)
    for name in config.record_key:
        lacks |= F.col(name).isNull()
    with explained_lake(source):
        counted = rows.agg(
            F.count("*").alias("rows"),
            F.count_distinct(F.struct(*keys)).alias("keys"),
            F.count(F.when(lacks, 1)).alias("without"),
        ).first()
    assert counted is not None  # noqa: S101 - an aggregate without groups returns one row
    if counted["without"]:
        raise UsageError(
            f"{source}: {counted['without']:,} rows have no {', '.join(config.record_key)}",
            hint="every row needs its record key",
        )
    doubled = counted["rows"] - counted["keys"]
    if doubled:
        raise UsageError(
            f"{source}: {doubled:,} of {counted['rows']:,} rows have the key of another row",
            hint=f"keep one row for each {', '.join(keys)}; or let `run` ingest the files as objects",
        )
    return int(counted["rows"])
