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
    """How Hudi finds the file in which a key lies. A `global_` index looks in all partitions: a row whose
    partition changes moves. The others look in the row's partition only: there the row is a second one."""

    type: IndexType = Field(
        description="`simple` joins with the keys in the files, `bloom` asks the files' filters first, "
        "`bucket` computes the file from the key, `record_level` looks keys up in the metadata table."
    )
    buckets: int | None = Field(
        None, ge=1, le=100_000, description="Files of a partition (bucket); fixed once the table is there."
    )
    engine: Literal["simple", "consistent_hashing"] | None = Field(
        None,
        description="How keys get into buckets (bucket): a fixed number of them, or one that clustering can "
        "change (merge_on_read only). Default: simple.",
    )


def refuse_overwrites(value: object) -> object:
    """Reject overwrites: as an `operation`, each batch would delete the rows of the previous one."""
    if value in ("insert_overwrite", "insert_overwrite_table"):
        raise ValueError(
            f"{value!r} would let each batch replace the rows of those before it. Allowed: upsert, insert, "
            "bulk_insert; rows are overwritten from Python, with `headwater.lake.writes`"
        )
    return value


class BulkInsertConfig(Section):
    """In which order `operation: bulk_insert` writes the rows of a batch, and into how many files."""

    sort: Literal[
        "none",
        "global_sort",
        "partition_sort",
        "partition_path_repartition",
        "partition_path_repartition_and_sort",
    ] = Field(
        "none",
        description="By partition and key: not at all; all rows of the batch; those of each task; not, but "
        "the rows of a partition go to one task; so, and sorted by partition there.",
    )
    sort_by: FieldNames = Field(
        (), description="Instead: all rows of the batch by these columns; queries skip files by them."
    )


class ClusteringConfig(Section):
    """Small files of a table become large ones, sorted so that queries pass most of them over. Who plans it
    and who does it is said by `services`."""

    after: int = Field(ge=1, description="It is planned every so many commits.")
    sort_by: FieldNames = Field((), description="Rows of the new files are sorted by these columns.")
    layout: Literal["linear", "z-order", "hilbert"] = Field(
        "linear", description="By the first of them and then the others (linear), or by all alike."
    )
    target_size: ByteCount = Field(
        ByteSize(128 * 1024**2),
        description="Files grow to about this; those of four fifths and more stay as they are.",
    )


class FileSizesConfig(Section):
    """Bytes of a table's base files."""

    small: Bytes = Field(
        ByteSize(100 * 1024**2),
        description="New rows go into files smaller than this; 0: always into new files.",
    )
    max: ByteCount = Field(ByteSize(120 * 1024**2), description="Files grow to about this.")
