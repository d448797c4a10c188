"""Transforms that rename, cast, drop and keep columns, and the lookup of user-specified columns."""

from collections.abc import Mapping, Sequence

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.config.problems.nearest import find_nearest
from headwater.errors import TransformError


class Rename:
    """Renames columns; their positions, types and values stay the same."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        found = find_columns(frame, list(self._names), carried)
        new_names = dict(zip(found, self._names.values(), strict=True))
        return frame.select(*(quote(name).alias(new_names.get(name, name)) for name in frame.columns))


class Cast:
    """Casts columns to other types; values that cannot be cast become null."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        found = find_columns(frame, list(self._types), carried)
        for name, kind in zip(found, self._types.values(), strict=True):
            try:
                frame = frame.withColumn(name, quote(name).cast(kind))
            except ParseException as error:
                raise TransformError(
                    f"{kind!r} is not a type", hint="use a type of Spark SQL, such as bigint"
                ) from error
        return frame


class Drop:
    """Drops columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        return frame.drop(*find_columns(frame, self._names, carried))


class Keep:
    """Drops all other columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        found = find_columns(frame, self._names, carried)
        return frame.select(*(quote(name) for name in (*found, *([carried] if carried else []))))


def find_columns(frame: DataFrame, names: Sequence[str], carried: str | None) -> list[str]:
    """Return the frame's columns of these names in any case. Raises `TransformError` with all unknown
    ones."""
    known = {name.lower(): name for name in frame.columns if name != carried}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        shown = []
        for name in unknown:
            meant = find_nearest(name, list(known.values()))
            shown.append(f"{name!r}" + (f" (did you mean {meant!r}?)" if meant else ""))
        raise TransformError(
            f"no column {', '.join(shown)}; the columns are {', '.join(known.values())}",
            hint="`headwater transform NAME --sample FILE` shows the columns after each transform",
        )
    return [known[name.lower()] for name in names]


def quote(name: str) -> Column:
    """Return the column with exactly this name, including special characters."""
    return F.col("`" + name.replace("`", "``") + "`")
