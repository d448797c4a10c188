"""Which groups of a source table have changed, and the rows of them. A group has the same values in a key."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.errors import ConfigError, InstantUnavailableError, LakeError, TransformError
from headwater.lake.queries.history import find_cut, find_snapshot
from headwater.lake.queries.history_reader import load_history
from headwater.lake.queries.spark import SparkFiles
from headwater.lake.table import Table
from headwater.lake.transforms.columns import quote
from headwater.medallion.origin import build_key

_log = logging.getLogger(__name__)
_KEY, _NUMBER = "_headwater_group_row", "_hoodie_commit_seqno"
"""The number is given to a row when it is written, and kept when its file is rewritten."""


@dataclass(frozen=True, slots=True)
class Before:
    """The source as its follower saw it last; `snapshot` is the commit by which that state is read."""

    as_of: str
    snapshot: str


def find_before(source: Table, as_of: str) -> Before | None:
    """The state when the commit had completed that was seen last; None when it cannot be read any more, or
    was never there by itself. Raises `LakeError`."""
    try:
        history = load_history(source.path, SparkFiles(source.spark, source.path), as_of)
        cut = find_cut(history, as_of)
        return Before(as_of, find_snapshot(history, cut)) if cut.requested else None
    except InstantUnavailableError as error:
        _log.info("%s", error.message)
        return None
    except ValueError as error:
        raise LakeError(f"{source.path}: a file of the timeline cannot be read: {error}") from error


def check_before(table: str, source: Table, before: Before) -> None:
    """Raise `LakeError`, after which all is read, when files of that state may have been cleaned away while
    it was read: rows of them would be missing without a word."""
    if find_before(source, before.as_of) != before:
        raise LakeError(
            f"table {table}: files of its source were cleaned away while they were read",
            hint="it is tried again; if it happens often, raise `keep_commits` of the source",
        )


def find_changed_groups(source: Table, before: Before, upto: str, keys: Sequence[str]) -> DataFrame:
    """The groups that rows were in, or are in, that have changed, gone or come since. Lazily.

    What has been committed later still may be among them.
    """
    written = source.read_commits(before.as_of, upto).select(*map(quote, keys))
    then, now = (
        frame.withColumn(_KEY, build_key()) for frame in (source.read_as_of(before.snapshot), source.read())
    )
    changed = then.join(now.select(_KEY, _NUMBER), on=[_KEY, _NUMBER], how="left_anti")
    # A column that came since was null in all rows.
    held = (quote(name) if name in then.columns else F.lit(None).alias(name) for name in keys)
    return written.unionByName(changed.select(*held)).distinct()


def take_groups(
    rows: DataFrame, groups: DataFrame, keys: Sequence[str], how: Literal["left_semi", "left_anti"]
) -> DataFrame:
    """The rows that are in one of the groups, or in none of them; null is a value."""
    renamed = groups.select(*(quote(name).alias(f"_group_{at}") for at, name in enumerate(keys)))
    same: list[Column] = [quote(name).eqNullSafe(F.col(f"_group_{at}")) for at, name in enumerate(keys)]
    return rows.join(renamed, on=reduce(lambda left, right: left & right, same), how=how)


def check_group_columns(table: str, rows: DataFrame, keys: Sequence[str], whose: str) -> None:
    """Raise `ConfigError` for a key that is no column."""
    for name in keys:
        if name not in rows.columns:
            shown = ", ".join(
                column for column in rows.columns if not column.startswith(("_hoodie_", "_headwater_"))
            )
            raise ConfigError(
                f"tables.{table}.group_key: no column {name!r} in {whose}", hint=f"columns: {shown}"
            )


def check_stays_in_groups(table: str, new: DataFrame, groups: DataFrame, keys: Sequence[str]) -> None:
    """Raise `TransformError` when the steps made rows of a group that no row was given of: then a group does
    not depend on its own rows alone."""
    found = take_groups(new, groups, keys, "left_anti").limit(1).collect()
    if found:
        row = found[0].asDict()
        shown = ", ".join(f"{name} = {row[name]}" for name in keys)
        raise TransformError(
            f"table {table}: a row with {shown} comes out, and no row of the source with it went in",
            hint="the columns of `group_key` have to pass the steps as they are; else set `refresh: full`",
        )
