"""Sections of a table for Hudi's storage: its index and file sizes."""

from typing import Annotated, Literal

from pydantic import ByteSize, Field, WithJsonSchema

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


class IndexConfig(Section):
    """How writes locate the file of a key. A `global_` index searches all partitions: a row whose partition
    changes is moved. The others search only the row's partition: the row is duplicated there."""

    type: IndexType = Field(
        description="`simple` joins with the keys in the files, `bloom` checks the files' Bloom filters "
        "first, `bucket` computes the file from the key, `record_level` looks keys up in the metadata table."
    )
    buckets: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="Number of buckets per partition (bucket); fixed when the table is created.",
    )
    engine: Literal["simple", "consistent_hashing"] | None = Field(
        None,
        description="Bucket index engine (bucket): a fixed number of buckets (simple), or one that "
        "clustering can change (consistent_hashing, merge_on_read only). Default: simple.",
    )


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

    sort: Literal[
        "none",
        "global_sort",
        "partition_sort",
        "partition_path_repartition",
        "partition_path_repartition_and_sort",
    ] = Field(
        "none",
        description="Sort mode by partition and key: none; all rows of the batch; the rows of each task; "
        "unsorted, with one task per partition; one task per partition, sorted by partition.",
    )
    sort_by: FieldNames = Field(
        (), description="Sort all rows of the batch by these columns instead, for data skipping."
    )


class ClusteringConfig(Section):
    """Rewrites small files into larger ones, sorted for data skipping. `services` determines which process
    plans and executes it."""

    after: int = Field(ge=1, description="Number of commits between two plans.")
    sort_by: FieldNames = Field((), description="Columns by which the rows are sorted.")
    layout: Literal["linear", "z-order", "hilbert"] = Field(
        "linear",
        description="Sort order: by one column after another (linear), or along a curve over all columns.",
    )
    target_size: ByteCount = Field(
        ByteSize(128 * 1024**2),
        description="Target file size; files of at least 4/5 of it stay unchanged.",
    )


class FileSizesConfig(Section):
    """Sizes of a table's base files."""

    small: Bytes = Field(
        ByteSize(100 * 1024**2),
        description="Files below this size receive new rows; 0: new rows always go to new files.",
    )
    max: ByteCount = Field(ByteSize(120 * 1024**2), description="Target file size.")
