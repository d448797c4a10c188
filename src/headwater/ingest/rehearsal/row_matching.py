"""Finds the row of one frame that corresponds to a row of another: by key, or within their object."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, NumericType

from headwater.ingest.lineage import OBJECT, ROW
from headwater.ingest.rehearsal.differences import is_data
from headwater.ingest.writing.difference import build_comparable

MATCH = "_match"
LABEL = "_label"
"""How the report names a row: its key, or its object and number."""
VALUES = "_values"
"""Struct of the data columns, each in a form that Spark can compare."""
_OF_NOW = "_of_now"
_CONTENT = "_content"


def build_key(columns: Sequence[str]) -> Column:
    """Return the key of a row as text: the same for the number 1 and the text "1"."""
    texts = (F.col(f"`{name}`").cast("string").alias(name) for name in columns)
    return F.to_json(F.struct(*texts), {"ignoreNullFields": "false"})


def has_unique_keys(frame: DataFrame, columns: Sequence[str]) -> bool:
    """True if the frame has the columns, and no two rows with the same values in them."""
    if not columns or not set(columns) <= set(frame.columns):
        return False
    return frame.groupBy(build_key(columns).alias(MATCH)).count().where("count > 1").isEmpty()


def build_values(now: DataFrame, new: DataFrame) -> tuple[Column, Column]:
    """Return the values of both, with the data columns of both in one order; see `VALUES`."""
    names = [name for name in dict.fromkeys((*now.columns, *new.columns)) if is_data(name)]
    pairs = [_build_pair(now, new, name) for name in names]
    before, after = (
        [pair[side].alias(name) for pair, name in zip(pairs, names, strict=True)] for side in (0, 1)
    )
    return F.struct(*before), F.struct(*after)


def _build_pair(now: DataFrame, new: DataFrame, name: str) -> tuple[Column, Column]:
    if name not in now.columns:
        return _build_null(new, name), build_comparable(new, name)
    if name not in new.columns:
        return build_comparable(now, name), _build_null(now, name)
    kinds = [frame.schema[name].dataType for frame in (now, new)]
    if kinds[0] == kinds[1]:
        return build_comparable(now, name), build_comparable(new, name)
    if all(isinstance(kind, NumericType) for kind in kinds):
        whole = all(isinstance(kind, IntegralType) for kind in kinds)
        number = F.col(f"`{name}`").cast("bigint" if whole else "double")
        return number, number
    return _to_text(now, name), _to_text(new, name)


def _build_null(frame: DataFrame, name: str) -> Column:
    return F.lit(None).cast(frame.select(build_comparable(frame, name)).schema[0].dataType)


def _to_text(frame: DataFrame, name: str) -> Column:
    return build_comparable(frame, name).cast("string")


def match_by_key(now: DataFrame, new: DataFrame, key: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """Return both with columns `MATCH`, `LABEL` and `VALUES`; rows with the same key have one match."""
    label = build_key(key)
    before, after = build_values(now, new)
    return (
        now.select(label.alias(MATCH), label.alias(LABEL), before.alias(VALUES)),
        new.select(label.alias(MATCH), label.alias(LABEL), after.alias(VALUES)),
    )


def match_in_objects(now: DataFrame, new: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return both as `match_by_key` does.

    Within an object, rows with the same values match, as often as both have them. The others match by their
    numbers. A table without the columns of an object counts as one object.
    """
    before, after = build_values(now, new)
    both = now.select(F.lit(True).alias(_OF_NOW), *_locate(now), before.alias(VALUES)).unionByName(
        new.select(F.lit(False).alias(_OF_NOW), *_locate(new), after.alias(VALUES))
    )
    both = both.withColumn(_CONTENT, F.sha2(F.to_json(VALUES, {"ignoreNullFields": "false"}), 256))
    same = Window.partitionBy("object", _CONTENT)
    copies = F.row_number().over(Window.partitionBy("object", _CONTENT, _OF_NOW).orderBy("row"))
    fewer = F.least(
        F.sum(F.col(_OF_NOW).cast("int")).over(same), F.sum((~F.col(_OF_NOW)).cast("int")).over(same)
    )
    both = both.withColumn("copy", copies).withColumn("is_equal", F.col("copy") <= fewer)
    # An append has a row of that number from each content of the object.
    rest = Window.partitionBy("object", _OF_NOW, "is_equal", "row").orderBy(_CONTENT)
    rank = F.when(F.col("is_equal"), F.concat_ws(":", _CONTENT, F.col("copy"))).otherwise(
        F.concat_ws(":", F.col("row"), F.row_number().over(rest))
    )
    label = F.concat_ws(" ", "object", F.concat(F.lit("record "), F.col("row")))
    found = both.select(
        _OF_NOW,
        F.concat_ws(" ", rank, "object").alias(MATCH),
        label.alias(LABEL),
        VALUES,
    )
    return found.where(_OF_NOW).drop(_OF_NOW), found.where(~F.col(_OF_NOW)).drop(_OF_NOW)


def _locate(frame: DataFrame) -> tuple[Column, Column]:
    has_objects = OBJECT in frame.columns and ROW in frame.columns
    found = (F.col(OBJECT), F.col(ROW)) if has_objects else (F.lit("table"), F.lit(0).cast("bigint"))
    return found[0].alias("object"), found[1].alias("row")
