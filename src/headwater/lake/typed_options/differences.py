"""What a table was made with against what a write wants: Hudi cannot change it on a table that exists.

Some of it Hudi refuses in words of its own, some of it after the commit, and some of it not at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.errors import TableMismatchError

_NEWEST_VERSION = "9"
_WRITE_VERSION = "hoodie.write.table.version"
_MAY_UPGRADE = "hoodie.write.auto.upgrade"


@dataclass(frozen=True, slots=True)
class _Fixed:
    """One of a table's properties, the option that makes it so, and what each means where it is absent.

    `is_open`: a write that says nothing takes the table's. With `value` only this one counts: has it, or not.
    `is_word`: Hudi has it in upper case.
    """

    name: str
    stored: str
    given: str
    default: str = ""
    is_open: bool = False
    value: str = ""
    is_word: bool = False

    def read(self, found: Mapping[str, str], key: str) -> str:
        """What `found` says under the key, as the configuration has it: `day:SIMPLE` is day."""
        text = found.get(key, self.default)
        if self.value:
            return "true" if text == self.value else "false"
        if self.is_word:
            return text.lower()
        return ",".join(part.partition(":")[0].strip() for part in text.split(","))


_FIXED = (
    _Fixed("the table's name", "hoodie.table.name", "hoodie.table.name"),
    _Fixed("table_type", "hoodie.table.type", "hoodie.datasource.write.table.type", is_word=True),
    _Fixed("record_key", "hoodie.table.recordkey.fields", "hoodie.datasource.write.recordkey.field"),
    _Fixed("partition", "hoodie.table.partition.fields", "hoodie.datasource.write.partitionpath.field"),
    _Fixed("ordering", "hoodie.table.ordering.fields", "hoodie.table.ordering.fields", is_open=True),
    _Fixed(
        "merge_mode", "hoodie.record.merge.mode", "hoodie.write.record.merge.mode", is_open=True, is_word=True
    ),
    _Fixed(
        "partial_updates",
        "hoodie.table.legacy.payload.class",
        "hoodie.datasource.write.payload.class",
        value="org.apache.hudi.common.model.PartialUpdateAvroPayload",
    ),
    _Fixed(
        "base_file_format",
        "hoodie.table.base.file.format",
        "hoodie.table.base.file.format",
        "PARQUET",
        is_word=True,
    ),
)
_FIXED_OF_PARTITIONS = (
    _Fixed(
        "the hive style of partitions",
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.datasource.write.hive_style_partitioning",
        "false",
    ),
    _Fixed(
        "the URL encoding of partitions",
        "hoodie.datasource.write.partitionpath.urlencode",
        "hoodie.datasource.write.partitionpath.urlencode",
        "false",
    ),
    _Fixed(
        "drop_partition_columns",
        "hoodie.datasource.write.drop.partition.columns",
        "hoodie.datasource.write.drop.partition.columns",
        "false",
    ),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that a table has otherwise than a write wants it; both as texts, empty for none."""

    name: str
    there: str
    here: str

    def __str__(self) -> str:
        return f"{self.name} is {self.there or 'none'} there and {self.here or 'none'} here"


def check_is_same_table(path: str, properties: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Refuse a write whose options are not those that the table at `path` was made with.

    `properties` are the table's own (`hoodie.properties`), `options` all those of the write. Raises
    `TableMismatchError` that names what differs.
    """
    differences = list(iter_differences(properties, options))
    if differences:
        raise TableMismatchError(
            f"{path} holds a table that is not the configured one: {'; '.join(map(str, differences))}",
            hint="set these back to what the table has; or leave the table as it is and configure one of "
            "another name, which is built anew from the events; or remove the folder to build it there",
        )
    there, wanted = properties.get("hoodie.table.version", ""), options.get(_WRITE_VERSION, _NEWEST_VERSION)
    if there != wanted and options.get(_MAY_UPGRADE) != "true":
        raise TableMismatchError(
            f"{path} holds a table of version {there or 'unknown'}, and this write is for version {wanted}",
            hint="all that reads and writes it must know that version: `headwater table NAME upgrade` says "
            f"what changes and does it, `hoodie: {{{_MAY_UPGRADE}: true}}` lets the next write upgrade it, "
            f"`hoodie: {{{_WRITE_VERSION}: {there}}}` writes it as it is",
        )


def read_write_version(options: Mapping[str, str], there: int) -> int:
    """The version that writes with these options are for, of a table that has the version `there`."""
    if options.get(_MAY_UPGRADE) == "true":
        return there
    told = options.get(_WRITE_VERSION, _NEWEST_VERSION)
    return int(told) if told.isdecimal() else there


def iter_differences(properties: Mapping[str, str], options: Mapping[str, str]) -> Iterator[Difference]:
    """Where the properties of a table are not what the options of a write say."""
    # As tables of before version 9 have it.
    older = properties.get("hoodie.table.precombine.field", "")
    properties = {"hoodie.table.ordering.fields": older, **properties}
    is_partitioned = bool(properties.get("hoodie.table.partition.fields"))
    for one in (*_FIXED, *(_FIXED_OF_PARTITIONS if is_partitioned else ())):
        there, here = one.read(properties, one.stored), one.read(options, one.given)
        if there != here and (here or not one.is_open):
            yield Difference(one.name, there, here)
