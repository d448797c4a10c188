"""Transforms a batch's records to records of the same form, without those that fail checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.config.table import TableConfig
from headwater.config.table.column_types import list_column_types
from headwater.config.table.typed_options import list_needed_columns, list_ordering
from headwater.ingest.columns.conforming import make_storable
from headwater.ingest.columns.row_address import RowAddress
from headwater.ingest.columns.schema import check_names, check_ordering
from headwater.ingest.lineage import LINEAGE_COLUMNS, ObjectLineage, with_lineage
from headwater.ingest.reading.bad_records import build_bad_record, build_failed_check
from headwater.ingest.reading.object_reader import OUTCOME_SCHEMA
from headwater.lake.checks.judging import Checks
from headwater.lake.logical_types.columns import check_convertible, convert_frame
from headwater.lake.transforms.chain import Chain, check_storable
from headwater.lake.transforms.checking import SOURCE
from headwater.lake.transforms.columns import quote

_DETAIL = "_headwater_detail"


@dataclass(frozen=True, slots=True)
class RecordTransform:
    """Applies a table's transforms, and the checks that send rows to quarantine.

    Transforms see the data columns, those of the key's path, and lineage. They cannot change the last two,
    nor rescued data: the table gets their values as without transforms.
    """

    table: str
    config: TableConfig
    chain: Chain
    checks: Checks

    @property
    def is_active(self) -> bool:
        """True if there is a transform, or a check that rejects rows."""
        return bool(self.config.transform) or self.checks.routes

    def apply(
        self, records: DataFrame, lineages: Sequence[ObjectLineage], carried: Sequence[str] = ()
    ) -> DataFrame:
        """Return a lazy frame `(object_index, row_number, record, corrupt, outcome)` and columns `carried`.

        `lineages` are those of its objects. Transforms do not see what is carried. Raises `TransformError`,
        and `ConfigError` if key fields are missing in the result.
        """
        after = self.chain.apply(self.build_input(records, lineages, carried), SOURCE)
        own = self._list_own()
        after = make_storable(after)
        check_storable(self.table, after, [name for name in after.columns if name.lower() in own])
        names = [name for name in after.columns if name.lower() not in own]
        self._check_keys(after.select(*map(quote, names)))
        types = list_column_types(self.config)
        check_convertible(self.table, after.schema, types)
        after = convert_frame(after, types)
        packed = after.select(
            F.col(f"{SOURCE}.object_index").alias("object_index"),
            F.col(f"{SOURCE}.row_number").alias("row_number"),
            F.struct(*self._list_fields(names)).alias("record"),
            F.lit(None).cast("string").alias("corrupt"),
            F.lit(None).cast(OUTCOME_SCHEMA).alias("outcome"),
            self.checks.build_failure_column(after).alias(_DETAIL),
            *(F.col(f"{SOURCE}.{name}").alias(name) for name in carried),
        )
        schema = StructType([field for field in after.schema if field.name in names])
        bad = build_bad_record(schema, RowAddress.of(self.config), types)
        corrupt = F.coalesce(bad, build_failed_check(F.col(_DETAIL)))
        packed = packed.withColumn("corrupt", corrupt).drop(_DETAIL)
        return packed.unionByName(self._pass_by(records, packed, carried))

    def build_input(
        self, records: DataFrame, lineages: Sequence[ObjectLineage], carried: Sequence[str] = ()
    ) -> DataFrame:
        """Build the input of the first transform: good records as rows, with the column `SOURCE`."""
        rescued = self.config.effective_rescued_data_column
        kept = ["object_index", "row_number", *([f"record.{rescued}"] if rescued else []), *carried]
        rows = records.where(is_good()).select(
            "object_index", "row_number", F.struct(*kept).alias(SOURCE), "record.*"
        )
        return with_lineage(rows, lineages, self.config.partition_columns)

    def list_data_columns(self, frame: DataFrame) -> list[str]:
        """List columns of a frame of rows that are neither lineage nor from the key."""
        own = self._list_own()
        return [name for name in frame.columns if name.lower() not in own]

    def _list_own(self) -> frozenset[str]:
        rescued = self.config.effective_rescued_data_column
        own = (SOURCE, *LINEAGE_COLUMNS, *self.config.partition_columns, *([rescued] if rescued else []))
        return frozenset(name.lower() for name in own)

    def _list_fields(self, names: Sequence[str]) -> list[Column]:
        rescued = self.config.effective_rescued_data_column
        return [
            *(quote(name) for name in names),
            *([F.col(f"{SOURCE}.{rescued}").alias(rescued)] if rescued else []),
        ]

    def _check_keys(self, data: DataFrame) -> None:
        config = self.config
        check_names(self.table, data.schema, list_needed_columns(config), config.partition_columns)
        check_ordering(self.table, data.schema, list_ordering(config))

    def _pass_by(self, records: DataFrame, like: DataFrame, carried: Sequence[str]) -> DataFrame:
        """Select outcomes, and records that were bad before."""
        return records.where(~is_good()).select(
            "object_index",
            "row_number",
            F.lit(None).cast(like.schema["record"].dataType).alias("record"),
            "corrupt",
            "outcome",
            *carried,
        )


def is_good() -> Column:
    """True for rows of such a frame that are records for the table."""
    return F.col("outcome").isNull() & F.col("corrupt").isNull()


def number_rows(records: DataFrame) -> DataFrame:
    """Renumber good records in each object from 1: records made from one record shared its number."""
    in_object = Window.partitionBy("object_index").orderBy("row_number", F.to_json("record"))
    number = F.row_number().over(in_object).cast("long")
    good = records.where(is_good()).withColumn("row_number", number)
    return good.unionByName(records.where(~is_good()))
