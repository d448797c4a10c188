"""Row-level checks as conditions on columns."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.config.processing.checks import CheckConfig
from headwater.errors import ConfigError, TransformError
from headwater.lake.transforms.columns import find_columns, quote


def build_violation(frame: DataFrame, check: CheckConfig) -> Column:
    """Return a condition that is true for rows that fail a `not_null` or `range` check.

    Raises `ConfigError` for an unknown column.
    """
    names = find_checked(frame, check)
    if check.range is None:
        return reduce(lambda left, right: left | right, (quote(name).isNull() for name in names))
    value, bounds = quote(names[0]), check.range
    is_low = value < F.lit(bounds.min) if bounds.min is not None else F.lit(False)
    is_high = value > F.lit(bounds.max) if bounds.max is not None else F.lit(False)
    return F.coalesce(is_low | is_high, F.lit(False))


def find_checked(frame: DataFrame, check: CheckConfig) -> list[str]:
    """Return the frame's names of a check's columns. Raises `ConfigError` for an unknown column."""
    try:
        return find_columns(frame, check.columns, carried="")
    except TransformError as error:
        raise ConfigError(error.message, hint=error.hint) from error


def describe_violation(check: CheckConfig) -> str:
    """Describe the violation of a row."""
    if check.range is None:
        return f"null in {' or '.join(check.not_null)}"
    bounds = check.range
    parts = [f"below {bounds.min}" if bounds.min is not None else ""]
    parts += [f"above {bounds.max}" if bounds.max is not None else ""]
    return f"{bounds.column} is {' or '.join(part for part in parts if part)}"
