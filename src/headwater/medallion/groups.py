"""Selects the rows of groups. Rows of a group have equal key values."""

from collections.abc import Sequence
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.config.own_columns import is_own_column
from headwater.errors import ConfigError, TransformError
from headwater.lake.transforms.columns import quote


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
            shown = ", ".join(column for column in rows.columns if not is_own_column(column))
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
