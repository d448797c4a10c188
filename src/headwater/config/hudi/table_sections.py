"""Sections of a table for Hudi's storage: its index and file sizes."""

from typing import Annotated, Literal

from pydantic import ByteSize, Field, WithJsonSchema

from headwater.config.hudi.table_option import STREAMED_METADATA, HudiOption
from headwater.config.section import ByteCount, FieldNames, Section

IndexType = Literal[
    "simple", "global_simple", "bloom", "global_bloom", "bucket", "record_level", "global_record_level"
]

Bytes = Annotated[
    ByteSize,
    Field(ge=0),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}], "examples": ["64MiB", 67108864]}
    ),
]

JavaClassName = Annotated[str, Field(pattern=r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)+$")]


# Hudi's default size. Other tables use small filters that grow, but are slower to query.
_FILTERS = {"hoodie.index.bloom.num_entries": "60000"}
_SORTED_BY_COLUMNS = "org.apache.hudi.execution.bulkinsert.RowCustomColumnsSortPartitioner"


class IndexConfig(Section):
    """How writes locate the file of a key. A `global_` index searches all partitions: a row whose partition
    changes is moved. The others search only the row's partition: the row is duplicated there."""

    type: Annotated[
        IndexType,
        HudiOption(
            "hoodie.index.type",
            words={"record_level": "RECORD_LEVEL_INDEX", "global_record_level": "GLOBAL_RECORD_LEVEL_INDEX"},
            also={
                "bloom": _FILTERS,
                "global_bloom": _FILTERS,
                "record_level": {**STREAMED_METADATA, "hoodie.metadata.record.level.index.enable": "true"},
                "global_record_level": {
                    **STREAMED_METADATA,
                    "hoodie.metadata.global.record.level.index.enable": "true",
                    # Like the other global indexes; by default, a row stays in its first partition.
                    "hoodie.record.index.update.partition.path": "true",
                },
            },
        ),
    ] = Field(
        description="`simple` joins with the keys in the files, `bloom` checks the files' Bloom filters "
        "first, `bucket` computes the file from the key, `record_level` looks keys up in the metadata table."
    )
    buckets: Annotated[int | None, HudiOption("hoodie.bucket.index.num.buckets", "files of a partition")] = (
        Field(
            None,
            ge=1,
            le=100_000,
            description="Number of buckets per partition (bucket); fixed when the table is created.",
        )
    )
    engine: Annotated[
        Literal["simple", "consistent_hashing"] | None, HudiOption("hoodie.index.bucket.engine")
    ] = Field(
        None,
        description="Bucket index engine (bucket): a fixed number of buckets (simple), or one that "
        "clustering can change (consistent_hashing, merge_on_read only). Default: simple.",
    )


def read_auto_index(value: object) -> object:
    """Return None, the default, for `auto`: the table's size decides."""
    return None if value in ("auto", {"type": "auto"}) else value


def refuse_overwrites(value: object) -> object:
    """Reject overwrites: as an `operation`, each batch would delete the rows of the previous one."""
    if value in ("insert_overwrite", "insert_overwrite_table"):
        raise ValueError(
            f"{value!r} would replace the rows of previous batches. Allowed: upsert, insert, bulk_insert; to "
            "overwrite rows from Python, use `headwater.lake.writes`"
        )
    return value


class BulkInsertConfig(Section):
    """Sort order and parallelism of `operation: bulk_insert`."""

    sort: Annotated[
        Literal[
            "none",
            "global_sort",
            "partition_sort",
            "partition_path_repartition",
            "partition_path_repartition_and_sort",
        ],
        HudiOption("hoodie.bulkinsert.sort.mode"),
    ] = Field(
        "none",
        description="Sort mode by partition and key: none; all rows of the batch; the rows of each task; "
        "unsorted, with one task per partition; one task per partition, sorted by partition.",
    )
    sort_by: Annotated[
        FieldNames,
        HudiOption(
            "hoodie.bulkinsert.user.defined.partitioner.sort.columns",
            "columns",
            also={"*": {"hoodie.bulkinsert.user.defined.partitioner.class": _SORTED_BY_COLUMNS}},
        ),
    ] = Field((), description="Sort all rows of the batch by these columns instead, for data skipping.")


class ClusteringConfig(Section):
    """Rewrites small files into larger ones, sorted for data skipping. `services` determines which process
    plans and executes it."""

    after: Annotated[int, HudiOption("hoodie.clustering.inline.max.commits", "commits")] = Field(
        ge=1, description="Number of commits between two plans."
    )
    sort_by: Annotated[FieldNames, HudiOption("hoodie.clustering.plan.strategy.sort.columns", "columns")] = (
        Field((), description="Columns by which the rows are sorted.")
    )
    layout: Annotated[
        Literal["linear", "z-order", "hilbert"],
        HudiOption("hoodie.layout.optimize.strategy", words={"z-order": "ZORDER"}),
    ] = Field(
        "linear",
        description="Sort order: by one column after another (linear), or along a curve over all columns.",
    )
    target_size: Annotated[
        ByteCount, HudiOption("hoodie.clustering.plan.strategy.target.file.max.bytes", "bytes")
    ] = Field(
        ByteSize(128 * 1024**2),
        description="Target file size; files of at least 4/5 of it stay unchanged.",
    )


class FileSizesConfig(Section):
    """Sizes of a table's base files."""

    small: Annotated[Bytes | None, HudiOption("hoodie.parquet.small.file.limit", "bytes")] = Field(
        None,
        description="Files below this size receive new rows; 0: new rows always go to new files. Default: 16 "
        "times the size of the batch, at least 4 and at most 100 MiB.",
    )
    max: Annotated[ByteCount, HudiOption("hoodie.parquet.max.file.size", "bytes")] = Field(
        ByteSize(120 * 1024**2), description="Target file size."
    )
