"""The rows of a data table, prepared for documents."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from headwater.errors import SearchError
from headwater.rag.documents import DocumentRules
from headwater.rag.index_rules import IndexRules
from headwater.rag.indexing.columns import DOT, IndexedColumn, list_columns


def mark_rows(source: DataFrame, rules: IndexRules, documents: DocumentRules) -> DataFrame:
    """Return the columns for documents, with each row's keys and whether it is selected.

    Raises `SearchError` for an invalid condition.
    """
    search = rules.search
    columns = list_columns(to_arrow_schema(source.schema))
    keys = [_select(columns, name) for name in rules.key]
    is_named = F.lit(True)
    for key in keys:
        is_named = is_named & key.isNotNull()
    is_wanted = is_named
    if rules.removed_at in source.columns:
        is_wanted = is_wanted & F.col(rules.removed_at).isNull()
    if search.where:
        is_wanted = is_wanted & F.coalesce(F.expr(f"boolean({search.where})"), F.lit(False))
    names = dict.fromkeys((*search.text, *documents.fields, *([search.tenant] if search.tenant else [])))
    try:
        return source.select(
            *(_select(columns, name).alias(name.replace(".", DOT)) for name in names),
            source_key(),
            F.col("_hoodie_commit_time").alias("commit"),
            F.concat_ws("#", *(key.cast("string") for key in keys)).alias("row_key"),
            is_wanted.alias("is_wanted"),
        )
    except PySparkException as error:
        raise SearchError(
            f"search.where: invalid condition for table {search.table!r}: {_first_line(error)}",
            hint=f"specify a SQL condition; columns: {', '.join(documents.fields)}",
        ) from error


def newest_of_each(rules: IndexRules, split: DataFrame) -> DataFrame:
    """Return the chunks, without the markers of rows that have no chunks.

    Of several rows with the same key, only the chunks of the newest are returned.
    """
    chunks = split.where(F.col("row_key").isNotNull())
    if not rules.can_repeat:
        return chunks
    order = Window.partitionBy("row_key").orderBy(F.desc("commit"), F.desc("source_key"))
    return chunks.withColumn("place", F.rank().over(order)).where("place = 1").drop("place")


def source_key() -> Column:
    """Return the table's own row identity."""
    return F.concat_ws("\x1f", "_hoodie_partition_path", "_hoodie_record_key").alias("source_key")


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns as Arrow names their types, without those of types that Arrow does not have."""
    found = []
    for field in schema:
        try:
            found.append(pa.field(field.name, to_arrow_type(field.dataType)))
        except PySparkTypeError:
            continue
    return pa.schema(found)


def _select(columns: Mapping[str, IndexedColumn], name: str) -> Column:
    """Return a column of the table by name, also one whose type has no kind, such as a binary key."""
    if name not in columns:
        return F.col(f"`{name}`")
    found = columns[name]
    column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in found.path))
    return F.map_values(column) if found.is_map else column


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
