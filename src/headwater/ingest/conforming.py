"""Rows with a table's columns of before, as rows with its columns of now."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.ingest.inference.column_names import assign_names, rename_for_hudi
from headwater.lake.logical_types.storable import store_frame


def conform_frame(frame: DataFrame, wanted: StructType) -> DataFrame:
    """The wanted columns, in their order: widened from the frame's, or null where it has none; then the
    frame's others.
    """
    known = {field.name.lower(): field for field in frame.schema}
    columns = []
    for field in wanted:
        source = known.get(field.name.lower())
        value = (
            F.lit(None).cast(field.dataType)
            if source is None
            else _conform(F.col(f"`{source.name}`"), source.dataType, field.dataType)
        )
        columns.append(value.alias(field.name))
    names = {field.name.lower() for field in wanted}
    return frame.select(*columns, *(f"`{name}`" for name in frame.columns if name.lower() not in names))


def make_storable(frame: DataFrame) -> DataFrame:
    """The columns by types and nested names that Hudi can store; top-level names stay as they are."""
    casts = {}
    for field in frame.schema:
        renamed = rename_for_hudi(assign_names(StructType([field])))[0].dataType
        if renamed != field.dataType:
            casts[field.name] = F.col(f"`{field.name}`").cast(renamed)
    return store_frame(frame.withColumns(casts))


def _conform(value: Column, found: DataType, wanted: DataType) -> Column:
    if found == wanted:
        return value
    if isinstance(found, StructType) and isinstance(wanted, StructType):
        return _conform_struct(value, found, wanted)
    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        return F.transform(value, lambda item: _conform(item, found.elementType, wanted.elementType))
    if isinstance(found, MapType) and isinstance(wanted, MapType):
        return F.transform_values(value, lambda _, item: _conform(item, found.valueType, wanted.valueType))
    return value.cast(wanted)


def _conform_struct(value: Column, found: StructType, wanted: StructType) -> Column:
    # A cast goes by position and wants as many fields.
    known = {field.name.lower(): field for field in found}
    fields = []
    for field in wanted:
        source = known.get(field.name.lower())
        inside = (
            F.lit(None).cast(field.dataType)
            if source is None
            else _conform(value.getField(source.name), source.dataType, field.dataType)
        )
        fields.append(inside.alias(field.name))
    return F.when(value.isNotNull(), F.struct(*fields))
