"""`flatten`: converts structs to columns, and optionally array elements to rows."""

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from headwater.config.processing.transform import FlattenConfig
from headwater.errors import TransformError
from headwater.lake.transforms.columns import find_columns, quote


class Flatten:
    """Converts a column `address` with a field `city` to `address_city`, at all depths.

    Arrays named in `explode` first become rows, in the given order; then their structs are flattened.
    """

    def __init__(self, config: FlattenConfig) -> None:
        self._config = config

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        for name in find_columns(frame, self._config.explode, carried):
            if not isinstance(frame.schema[name].dataType, ArrayType):
                kind = frame.schema[name].dataType.simpleString()
                raise TransformError(
                    f"`explode` of {name!r}: it is not an array, but {kind}", hint="use it only for arrays"
                )
            others = [quote(other) for other in frame.columns if other != name]
            frame = frame.select(*others, F.explode_outer(quote(name)).alias(name))
        chosen = find_columns(frame, self._config.columns, carried)
        flat = {name for name in frame.columns if name != carried and (not chosen or name in chosen)}
        columns: list[tuple[str, Column]] = []
        for field in frame.schema:
            value = quote(field.name)
            if field.name in flat:
                columns += self._iter_leaves(field.name, value, field.dataType)
            else:
                columns.append((field.name, value))
        _refuse_doubles([name for name, _ in columns])
        return frame.select(*(value.alias(name) for name, value in columns))

    def _iter_leaves(self, name: str, value: Column, kind: DataType) -> Iterator[tuple[str, Column]]:
        if not isinstance(kind, StructType):
            yield name, value
            return
        for field in kind:
            below = f"{name}{self._config.separator}{field.name}"
            yield from self._iter_leaves(below, value.getField(field.name), field.dataType)


def _refuse_doubles(names: list[str]) -> None:
    lowered = [name.lower() for name in names]
    doubles = sorted({name for name in names if lowered.count(name.lower()) > 1})
    if doubles:
        raise TransformError(
            f"two columns would be named {', '.join(map(repr, doubles))}",
            hint="set another `separator`, or rename or drop one of them in an earlier transform",
        )
