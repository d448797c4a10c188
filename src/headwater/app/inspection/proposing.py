"""From the groups of a listing and their samples to proposals of tables."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import ParseError

import pyarrow as pa
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from headwater.app.inspection.csv_dialect import inspect_csv
from headwater.app.inspection.findings import Findings
from headwater.app.inspection.grouping import (
    Group,
    find_parent,
    find_partition_columns,
    join_siblings,
    name_groups,
    split_by_name,
)
from headwater.app.inspection.json_layout import inspect_json
from headwater.app.inspection.keys import choose_key
from headwater.app.inspection.sampled_rows import (
    MOST_ROWS,
    SampledRows,
    are_similar,
    count_rows,
    from_records,
    list_columns,
)
from headwater.app.inspection.sampling import SampledFile, Sampler
from headwater.config.scaffold.proposal import TableProposal
from headwater.errors import ObjectError
from headwater.ingest.formats import ColumnsFormat, ObjectData, load_format, sample_lines
from headwater.ingest.formats.arrow_types import to_spark_schema
from headwater.ingest.formats.reader_options import ReaderOptions

_COLUMNS_FORMATS = ("parquet", "orc", "avro")
_COMPARED_FILES = 1


@dataclass(frozen=True, slots=True)
class _Inspected:
    """A group with what its sample shows."""

    group: Group
    findings: Findings
    files: int
    rows: tuple[SampledRows, ...]


def propose_tables(groups: Sequence[Group], sampler: Sampler) -> list[TableProposal]:
    """Read samples, and propose a table for each group.

    Sibling folders with similar columns become one table; files in the top folder whose names and columns
    differ become several.
    """
    inspected = [one for group in groups for one in _split(group, sampler)]
    joined = list(_join(inspected, sampler))
    names = name_groups([(one.group, one.findings.format) for one in joined])
    found = [_propose(name, one) for name, one in zip(names, joined, strict=True)]
    return sorted(found, key=lambda proposal: proposal.name)


def _split(group: Group, sampler: Sampler) -> Iterator[_Inspected]:
    parts = split_by_name(group)
    if len(parts) > 1:
        heads = [list_columns(_inspect(part, sampler, _COMPARED_FILES).rows) for part in parts]
        if not all(are_similar(heads[0], one) for one in heads):
            for part in parts:
                yield _inspect(part, sampler)
            return
    yield _inspect(group, sampler)


def _join(inspected: Sequence[_Inspected], sampler: Sampler) -> Iterator[_Inspected]:
    """Join the tables of sibling folders below the top ones if their columns are similar."""

    def place(one: _Inspected) -> tuple[str, str]:
        return find_parent(one.group), one.group.format

    for (parent, _), siblings in groupby(sorted(inspected, key=place), key=place):
        found = list(siblings)
        columns = [list_columns(one.rows) for one in found]
        if parent and len(found) > 1 and all(are_similar(columns[0], one) for one in columns):
            yield _inspect(join_siblings([one.group for one in found]), sampler)
        else:
            yield from found


def _inspect(group: Group, sampler: Sampler, count: int = MOST_ROWS) -> _Inspected:
    findings = Findings(group.format)
    read = _READERS.get(group.format)
    if read is None:
        return _Inspected(group, findings, 0, ())
    files = sampler.read(group.objects, count, group.format)
    if sampler.failures:
        findings.check("path", f"{len(sampler.failures)} files were not readable: {sampler.failures[0]}.")
    rows = tuple(read(files, findings)) if files or group.format == "csv" else ()
    if not files:
        findings.check("path", "no file was read: all are empty, unreadable, or larger than the limit.")
    return _Inspected(group, findings, len(files), rows)


def _propose(name: str, one: _Inspected) -> TableProposal:
    group, findings = one.group, one.findings
    keys = [listed.key for listed in group.objects]
    read = _describe(one, len(keys))
    checks = dict(findings.checks)
    columns = list_columns(one.rows)
    partitions = tuple(column for column in find_partition_columns(keys) if column not in columns)
    if group.format == "text":
        checks["path"] = "each line is one row with a column `value`. For CSV: `format: csv` and its options."
    choice = choose_key(name, one.rows, read)
    checks |= choice.list_checks()
    return TableProposal(
        name,
        group.path,
        findings.format,
        files=len(keys),
        read=read,
        options=tuple(findings.options.items()),
        mode=choice.mode or ("mirror" if findings.format == "document" else ""),
        record_key=choice.record_key,
        ordering=choice.ordering,
        partition_columns=partitions,
        alternatives=choice.alternatives,
        facts={"record_key": choice.fact} if choice.fact else {},
        checks=checks,
    )


def _describe(one: _Inspected, files: int) -> str:
    """Return how much was read, such as `1,200 rows of 3 of 12 files`."""
    if not one.rows:
        return ""
    of = "1 file" if files == 1 else f"{files:,} files"
    of = of if one.files == files else f"{one.files} of {of}"
    rows = count_rows(one.rows)
    described = f"{rows:,} row{'' if rows == 1 else 's'} of {of}"
    return described if all(file.is_complete for file in one.rows) else f"the first {described}"


def _read_columns(files: Sequence[SampledFile], findings: Findings) -> list[SampledRows]:
    found = []
    reader = load_format(findings.format)
    for file in files:
        try:
            source = ObjectData(file.listed.key, file.data)
            if not isinstance(reader, ColumnsFormat):
                continue
            table = reader.read_table(source, ReaderOptions({}), 1 << 30)
            to_spark_schema(table.schema)
        except (ObjectError, pa.ArrowException) as error:
            findings.check("path", f"{file.listed.key} was not readable: {str(error).rstrip('.')}.")
            continue
        part = table.slice(0, MOST_ROWS)
        columns: dict[str, Sequence[Any]] = {
            name: _to_values(part.column(at)) for at, name in enumerate(part.column_names)
        }
        found.append(
            SampledRows(file.listed.key, part.num_rows, columns, is_complete=part.num_rows == table.num_rows)
        )
    return found


def _to_values(column: pa.ChunkedArray) -> Sequence[Any]:
    # Nested columns are no keys: their values are not needed.
    return [()] * len(column) if pa.types.is_nested(column.type) else column.to_pylist()


def _inspect_xml(files: Sequence[SampledFile], findings: Findings) -> list[SampledRows]:
    """Set the tag of a row, the most frequent one below the root; return the rows."""
    tags: Counter[str] = Counter()
    for file in files:
        try:
            tags.update(child.tag.rpartition("}")[2] for child in fromstring(file.data))
        except (ParseError, DefusedXmlException, ValueError) as error:
            findings.check("path", f"{file.listed.key} is not readable XML: {error}.")
    if not tags:
        return []
    tag = tags.most_common(1)[0][0]
    others = ", ".join(other for other in tags if other != tag)
    findings.set_option("rowTag", tag, f"other elements below the root: {others}." if others else "")
    return list(_iter_xml_rows(files, findings.options))


def _iter_xml_rows(files: Sequence[SampledFile], options: Mapping[str, str]) -> Iterator[SampledRows]:
    for file in files:
        with suppress(ObjectError):
            _, lines = sample_lines(file.data, file.listed.key, "xml", options, MOST_ROWS)
            yield from_records(file.listed.key, map(json.loads, lines))


_READERS: dict[str, Callable[[Sequence[SampledFile], Findings], list[SampledRows]]] = {
    "csv": inspect_csv,
    "json": inspect_json,
    "xml": _inspect_xml,
    **dict.fromkeys(_COLUMNS_FORMATS, _read_columns),
}
