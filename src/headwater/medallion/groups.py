"""Finds the changed groups of a source table and their rows. Rows of a group have equal key values."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.errors import (
    ConfigError,
    InstantUnavailableError,
    LakeError,
    TableUnsupportedError,
    TransformError,
)
from headwater.lake.queries.change_plan import ChangePlan
from headwater.lake.queries.history import find_cut, find_snapshot
from headwater.lake.queries.history_reader import load_history
from headwater.lake.queries.spark import SparkFiles
from headwater.lake.table import Table
from headwater.lake.transforms.columns import quote
from headwater.medallion.origin import build_key

_log = logging.getLogger(__name__)
_RECORD_KEY, _KEY, _NUMBER = "_hoodie_record_key", "_headwater_group_row", "_hoodie_commit_seqno"
"""Hudi assigns the sequence number when a row is written, and preserves it when the file is rewritten."""

Persist = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Before:
    """The source state that its follower last processed; `snapshot` is the commit to read it by.

    `counts_deletes` is whether later commits count each row that they delete.
    """

    as_of: str
    snapshot: str
    counts_deletes: bool


def find_before(source: Table, as_of: str) -> Before | None:
    """Return the state of the source at the last processed commit. Raises `LakeError`.

    None if that state can no longer be read, or never existed on its own because writers overlapped.
    """
    try:
        history = load_history(source.path, SparkFiles(source.spark, source.path), as_of)
        cut = find_cut(history, as_of)
        # On merge-on-read tables, a custom merger may delete rows when the log is read, and Flink's changelog
        # mode writes deletes as rows. On copy-on-write, a commit counts the rows that it omits from a file.
        counts_deletes = not history.is_merge_on_read
        return Before(as_of, find_snapshot(history, cut), counts_deletes) if cut.requested else None
    except (InstantUnavailableError, TableUnsupportedError) as error:
        _log.info("%s", error.message)
        return None
    except ValueError as error:
        raise LakeError(f"{source.path}: a file of the timeline cannot be read: {error}") from error


def check_before(table: str, source: Table, before: Before) -> None:
    """Raise `LakeError` if files of that state may have been cleaned during the read.

    Rows would otherwise be missing silently. The retry reads the entire source.
    """
    if find_before(source, before.as_of) != before:
        raise LakeError(
            f"table {table}: files of its source were cleaned while they were read",
            hint="the batch will be retried; if this happens often, raise `keep_commits` of the source",
        )


def find_changed_groups(
    source: Table, before: Before, changes: ChangePlan, keys: Sequence[str], persist: Persist
) -> DataFrame:
    """Return the groups with rows that were changed, deleted or inserted since `before`, lazily.

    Includes the groups that these rows had before. May include groups of later commits. `persist` keeps a
    frame until the end of the batch.
    """
    written = persist(
        source.read_commits(before.as_of, changes.upto).select(
            F.col(_RECORD_KEY).alias(_KEY),
            *(quote(name).alias(f"_group_{at}") for at, name in enumerate(keys)),
        )
    )
    then = source.read_as_of(before.snapshot)
    if changes.has_deletes or not before.counts_deletes:
        _log.debug("%s: comparing two states, because rows may have been deleted", source.path)
        changed = _find_changed(then, source.read())
    else:
        # Every other row is unchanged. Once the size of the written keys is known, Spark broadcasts them if
        # they are few, instead of shuffling the whole state. The partition is omitted: a row may have moved.
        written.count()
        changed = then.withColumn(_KEY, F.col(_RECORD_KEY)).join(
            written.select(_KEY), on=_KEY, how="left_semi"
        )
    # A column that was added since was null in all rows.
    known = {name.lower() for name in then.columns}
    held = (quote(name) if name.lower() in known else F.lit(None).alias(name) for name in keys)
    return written.drop(_KEY).union(changed.select(*held)).toDF(*keys).distinct()


def _find_changed(then: DataFrame, now: DataFrame) -> DataFrame:
    """Return the rows of one state that another one does not have, or has as another version."""
    then, now = (frame.withColumn(_KEY, build_key()) for frame in (then, now))
    return then.join(now.select(_KEY, _NUMBER), on=[_KEY, _NUMBER], how="left_anti")


def take_groups(
    rows: DataFrame, groups: DataFrame, keys: Sequence[str], how: Literal["left_semi", "left_anti"]
) -> DataFrame:
    """Return the rows that are in one of the groups, or in none of them; null equals null."""
    renamed = groups.select(*(quote(name).alias(f"_group_{at}") for at, name in enumerate(keys)))
    same: list[Column] = [quote(name).eqNullSafe(F.col(f"_group_{at}")) for at, name in enumerate(keys)]
    return rows.join(renamed, on=reduce(lambda left, right: left & right, same), how=how)


def check_group_columns(table: str, rows: DataFrame, keys: Sequence[str], whose: str) -> None:
    """Raise `ConfigError` for a key that is not a column."""
    known = {name.lower() for name in rows.columns}
    for name in keys:
        if name.lower() not in known:
            shown = ", ".join(
                column for column in rows.columns if not column.startswith(("_hoodie_", "_headwater_"))
            )
            raise ConfigError(
                f"tables.{table}.group_key: no column {name!r} in {whose}", hint=f"columns: {shown}"
            )


def check_stays_in_groups(table: str, new: DataFrame, groups: DataFrame, keys: Sequence[str]) -> None:
    """Raise `TransformError` if the transforms produced rows of a group without input rows.

    Such a group does not depend on its own rows alone.
    """
    outside = take_groups(new, groups, keys, "left_anti").select(*(quote(name).alias(name) for name in keys))
    if found := outside.limit(1).collect():
        shown = ", ".join(f"{name} = {found[0][name]}" for name in keys)
        raise TransformError(
            f"table {table}: the transforms produced a row with {shown}, which no source row has",
            hint="transforms must not change the columns of `group_key`; otherwise set `refresh: full`",
        )
