"""Converts rows with a table's previous columns to its current columns."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, LongType, MapType, StructType

from headwater.ingest.columns.column_names import assign_names, rename_for_hudi
from headwater.lake.logical_types.storable import store_frame
from headwater.lake.table import Table

_EXACT = 2**53


def conform_frame(frame: DataFrame, wanted: StructType) -> DataFrame:
    """Return the wanted columns in order, widened or null, then the frame's other columns."""
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
    """Return the columns with types and nested names that Hudi can store; top-level names stay."""
    casts = {}
    for field in frame.schema:
        renamed = rename_for_hudi(assign_names(StructType([field])))[0].dataType
        if renamed != field.dataType:
            casts[field.name] = F.col(f"`{field.name}`").cast(renamed)
    return store_frame(frame.withColumns(casts))


def find_rounded(table: Table, present: StructType, merged: StructType) -> frozenset[str]:
    """Find columns, by lower-case name, that will become doubles but hold numbers too precise for a double.

    Reads only these columns, but in the whole table; reads nothing if no column becomes a double.
    """
    names = dict(zip(present.fieldNames(), rename_for_hudi(present).fieldNames(), strict=True))
    widened = {
        field.name: names[field.name]
        for field in present
        if isinstance(field.dataType, LongType) and isinstance(merged[field.name].dataType, DoubleType)
    }
    if not widened or not table.load_timeline().has_commits():
        return frozenset()
    rows = table.read()
    known = {name: column for name, column in widened.items() if column in rows.columns}
    if not known:
        return frozenset()
    is_large = [F.max(~F.col(f"`{c}`").between(-_EXACT, _EXACT)) for c in known.values()]
    found = rows.agg(*is_large).first()
    return frozenset(name.lower() for name, large in zip(known, found or (), strict=False) if large)


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
    # A cast works by position and requires the same number of fields.
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
