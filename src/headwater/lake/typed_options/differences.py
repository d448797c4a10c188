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
    """One of a table's properties, the option that makes it so, and what each means where it is absent."""

    name: str
    stored: str
    given: str
    default: str = ""


_FIXED = (
    _Fixed("the table's name", "hoodie.table.name", "hoodie.table.name"),
    _Fixed("table_type", "hoodie.table.type", "hoodie.datasource.write.table.type"),
    _Fixed("record_key", "hoodie.table.recordkey.fields", "hoodie.datasource.write.recordkey.field"),
    _Fixed("partition", "hoodie.table.partition.fields", "hoodie.datasource.write.partitionpath.field"),
    _Fixed("ordering", "hoodie.table.ordering.fields", "hoodie.table.ordering.fields"),
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
            hint="all that reads and writes it must know that version: "
            f"`hoodie: {{{_MAY_UPGRADE}: true}}` lets the next write upgrade it, "
            f"`hoodie: {{{_WRITE_VERSION}: {there}}}` writes it as it is",
        )


def iter_differences(properties: Mapping[str, str], options: Mapping[str, str]) -> Iterator[Difference]:
    """Where the properties of a table are not what the options of a write say."""
    is_partitioned = bool(properties.get("hoodie.table.partition.fields"))
    for one in (*_FIXED, *(_FIXED_OF_PARTITIONS if is_partitioned else ())):
        there = _read(properties.get(one.stored, one.default))
        here = _read(options.get(one.given, one.default))
        # A write that names no ordering takes the table's.
        if there != here and (here or one.name != "ordering"):
            yield Difference(one.name, there, here)


def _read(value: str) -> str:
    """A value as the configuration has it: `COPY_ON_WRITE` is copy_on_write, `day:SIMPLE` is day."""
    if value in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        return value.lower()
    return ",".join(part.partition(":")[0].strip() for part in value.split(","))
