"""Whether writes with the configuration's options can continue a table that another writer made. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.errors import TableMismatchError
from headwater.lake.typed_options.differences import Difference, check_version, iter_differences
from headwater.lake.typed_options.key_generators import find_generator_difference, find_prefix

REBUILD = "or give the table another name, to build it from its objects"
_STEPS = {
    "the table's name": "rename the table in the configuration",
    "merge_mode": "set `merge_mode` to the one of the table, commit_time or event_time, if it is one of them",
    "the Hive style of partition folders": "set `partition_style`: hive is true, plain is false",
    "the URL encoding of partition folders": "set `url_encode_partitions`",
    "the key generator": "record keys would differ: set `hoodie.datasource.write.keygenerator.class` below "
    f"`hoodie`, if that class writes your `partition`, {REBUILD}",
}

_META_FIELDS = "hoodie.populate.meta.fields"
_MERGE_MODE = "hoodie.record.merge.mode"
_GIVEN_MERGE_MODE = "hoodie.write.record.merge.mode"
_BY_COMMIT_TIME, _BY_EVENT_TIME = "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"
_ORDERING = "hoodie.table.ordering.fields"
_ZONE = "hoodie.table.timeline.timezone"
_PARTITIONS = "hoodie.table.partition.fields"
_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """A table as its files describe it.

    `pending` are the instants of incomplete writes, `newest` is that of the newest action, read as UTC.
    `sample_key` is the record key of any row; None without rows.
    """

    properties: Mapping[str, str]
    columns: Sequence[str]
    pending: Sequence[str] = ()
    newest: datetime | None = None
    sample_key: str | None = None


def iter_table_problems(
    name: str, table: ExistingTable, options: Mapping[str, str], now: datetime
) -> Iterator[str]:
    """Yield how the table differs from what writes with these options expect, and what to do."""
    if table.pending:
        yield (
            f"the commit {table.pending[0]} is in progress; stop the job that writes the table; if it was "
            "killed, start it once more and stop it after a commit"
        )
    try:
        check_version("the folder", table.properties, options)
    except TableMismatchError as error:
        yield f"{error.message}; run `headwater table {name} upgrade` first"
    if table.properties.get(_META_FIELDS) == "false":
        yield f"it has no metadata columns ({_META_FIELDS}=false), by which rows are found; {REBUILD[3:]}"
    yield from map(_explain, _iter_differences(table.properties, options))
    prefix = find_prefix(options)
    if prefix and table.sample_key is not None and not table.sample_key.startswith(prefix):
        yield (
            f"a record key is {table.sample_key!r} in the table, and here they begin with {prefix!r}; set "
            f"`hoodie.write.complex.keygen.new.encoding: true` below `hoodie`, {REBUILD}"
        )
    foreign = [column for column in table.columns if column.startswith("_hoodie_cloud_")]
    if foreign:
        yield f"headwater cannot write HoodieStreamer's column {foreign[0]}; drop it, {REBUILD}"
    if table.newest is not None and table.newest > now:
        yield (
            f"its newest commit has the time {table.newest:%Y-%m-%d %H:%M:%S}, in UTC a time in the future; "
            "headwater writes in UTC, and no later commit may have an earlier time; adopt it after it"
        )


def _iter_differences(properties: Mapping[str, str], options: Mapping[str, str]) -> Iterator[Difference]:
    for one in iter_differences(properties, options):
        if not (one.name == "ordering" and _needs_no_order(properties, options)):
            yield one
    there, here = properties.get(_MERGE_MODE, ""), options.get(_GIVEN_MERGE_MODE, _BY_EVENT_TIME)
    if options.get(_ORDERING) and _GIVEN_MERGE_MODE not in options and there not in ("", here):
        # A write without the option keeps the mode of the table.
        yield Difference("merge_mode", there.lower(), here.lower())
    if generator := find_generator_difference(properties, options):
        yield generator


def _needs_no_order(properties: Mapping[str, str], options: Mapping[str, str]) -> bool:
    """True if neither the table nor the write compares rows, and the table names no fields to compare."""
    modes = {properties.get(_MERGE_MODE), options.get(_GIVEN_MERGE_MODE)}
    return modes == {_BY_COMMIT_TIME} and not properties.get(_ORDERING)


def _explain(difference: Difference) -> str:
    there, here = difference.there or difference.nothing, difference.here or difference.nothing
    value = f"[{there.replace(',', ', ')}]" if "," in there else there
    step = f"set `{difference.name}: {value}`" if difference.there else f"remove `{difference.name}`"
    step = _STEPS.get(difference.name, f"{step}, {REBUILD}")
    if difference.name == "ordering" and not difference.there:
        step = "set `merge_mode: commit_time`"
    return f"{difference.name} is {there} in the table and {here} in the configuration; {step}"


def list_updates(properties: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a write with these options expects, and that can change in any table.

    Instants of all tables are in UTC: Hudi generates them in one time zone per process. The style of folders
    matters only in partitioned tables, and the ordering only where rows are compared.
    """
    keys = [_ZONE] if properties.get(_PARTITIONS) else [_ZONE, _HIVE_STYLE]
    keys += [_ORDERING] if _needs_no_order(properties, options) else []
    return {key: options[key] for key in keys if key in options and properties.get(key) != options[key]}
