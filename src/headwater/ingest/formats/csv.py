"""CSV: record texts for Spark's parser, with fields re-ordered by the object's header."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from headwater.errors import ObjectSchemaError, ObjectUnreadableError
from headwater.ingest.formats.column_differences import describe_differences
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import has_header
from headwater.ingest.formats.csv_records import is_record, read_records
from headwater.ingest.formats.markers import MALFORMED, MARKER, UNDECODED, mark_undecodable
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import decode_text
from headwater.ingest.hints.separator import describe_separator, find_separator


class CsvFormat:
    """Options: header, sep, quote, escape, comment, encoding, multiLine, lineSep and the like.

    Records are numbered by their first physical line, the header's included.
    """

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return record texts whose fields are in the order of `target.columns`.

        Without `header`, fields go by position. With it, fields of unknown columns are dropped (named in the
        note), missing ones are empty. Raises ObjectSchemaError if no name is known.
        """
        dialect = CsvDialect.from_options(options)
        numbers, records = _read_records(source, options, dialect)
        if not records or not has_header(dialect, options, records[0], target.columns):
            _check_separator(source.uri, options, records[:1], records[1:])
            return Lines(numbers, mark_undecodable(records))
        names = _name_columns(source.uri, dialect, records[0])
        numbers, records = numbers[1:], list(mark_undecodable(records[1:]))
        _check_separator(source.uri, options, names, records)
        known = [name.lower() for name in names]
        if not target.columns or known == [name.lower() for name in target.columns]:
            return Lines(numbers, records)
        order = ColumnOrder.build(source.uri, names, target.columns)
        reorder = _build_reorder(dialect, order, len(names))
        rescue = _build_rescue(dialect, names, order) if target.rescues and order.unknown else None
        rescued = [rescue(record) for record in records] if rescue else ()
        return Lines(numbers, [reorder(record) for record in records], order.note, order.unknown, rescued)

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the names, from the header or Spark's `_c0`, `_c1` ..., and records without the header."""
        dialect = CsvDialect.from_options(options)
        _, records = _read_records(source, options, dialect)
        good = [r for r in records[: max_lines + 1] if not r.startswith(MARKER) and UNDECODED not in r]
        if records and options.flag("header"):
            names = _name_columns(source.uri, dialect, records[0])
            _check_separator(source.uri, options, names, good[1:])
            return Sample(names, tuple(good[1 : max_lines + 1]))
        if not good:
            return Sample(None, ())
        names = tuple(f"_c{index}" for index in range(len(dialect.split(good[0]))))
        return Sample(names, tuple(good[:max_lines]))


def _check_separator(uri: str, options: ReaderOptions, names: Sequence[str], records: Sequence[str]) -> None:
    is_given = options.text("sep", "delimiter") or not names
    sign = None if is_given else find_separator(names, records)
    if sign is not None:
        raise ObjectSchemaError(
            f"{uri} has one column, {names[0]!r}; {describe_separator(sign)}",
            hint="to ingest it as one column, set `options: {sep: ','}`",
        )


def name_columns(dialect: CsvDialect, header: str) -> tuple[str, ...]:
    """Return a header's names with Spark's fixes: `_c2` for an empty one, `id0`, `id3` for equal ones."""
    names = [dialect.unquote(field) for field in dialect.split(header)]
    count = Counter(name.lower() for name in names)
    return tuple(
        f"_c{index}" if not name else f"{name}{index}" if count[name.lower()] > 1 else name
        for index, name in enumerate(names)
    )


def _read_records(
    source: ObjectData, options: ReaderOptions, dialect: CsvDialect
) -> tuple[Sequence[int], list[str]]:
    text = decode_text(source.uri, source.data, options)
    separator = options.separator("lineSep", default="")
    joins_lines = options.flag("multiLine", default=True)
    return read_records(text, dialect, separator, joins_lines=joins_lines)


def _name_columns(uri: str, dialect: CsvDialect, header: str) -> tuple[str, ...]:
    if header.startswith(MARKER) or UNDECODED in header:
        what = "an unclosed quote" if header.startswith(MARKER) else "bytes that cannot be decoded"
        raise ObjectUnreadableError(
            f"{uri} has a header with {what}: {header.removeprefix(MALFORMED).replace(UNDECODED, '?')[:200]}",
            hint="check the reader options `encoding`, `quote` and `escape`",
        )
    return name_columns(dialect, header)


@dataclass(frozen=True, slots=True)
class ColumnOrder:
    """The index of each table column's field; for an absent column, the index after the last."""

    indexes: tuple[int, ...]
    note: str
    unknown: tuple[str, ...] = ()

    @classmethod
    def build(cls, uri: str, names: Sequence[str], columns: Sequence[str]) -> "ColumnOrder":
        """Build the order by name, in any case if the exact name is absent.

        Raises ObjectSchemaError if no name is known.
        """
        exact = {name: index for index, name in reversed(list(enumerate(names)))}
        folded = {name.lower(): index for index, name in reversed(list(enumerate(names)))}
        absent = len(names)
        indexes = tuple(exact.get(c, folded.get(c.lower(), absent)) for c in columns)
        if all(index == absent for index in indexes):
            raise ObjectSchemaError(
                f"the header of {uri} has none of the table's columns: it has {', '.join(names[:20])}; "
                f"the table has {', '.join(columns[:20])}",
                hint="if the objects have no header, set the reader option `header` to false",
            )
        unknown = [name for index, name in enumerate(names) if index not in indexes]
        missing = [c for c, index in zip(columns, indexes, strict=True) if index == absent]
        return cls(indexes, describe_differences(unknown, missing), tuple(unknown))


def _build_rescue(
    dialect: CsvDialect, names: Sequence[str], order: ColumnOrder
) -> Callable[[str], str | None]:
    """Return a function: record -> its fields without a column as JSON; None if none, or if malformed."""
    wanted = [(index, name) for index, name in enumerate(names) if name in order.unknown]

    def rescue(record: str) -> str | None:
        fields = dialect.split_movable(record)
        if fields is None or len(fields) != len(names):
            return None
        found = {name: text for index, name in wanted if (text := dialect.unquote(fields[index]))}
        return json.dumps(found, ensure_ascii=False) if found else None

    return rescue


def _build_reorder(dialect: CsvDialect, order: ColumnOrder, field_count: int) -> Callable[[str], str]:
    pick: Callable[[list[str]], Iterable[str]] = itemgetter(*order.indexes)
    if len(order.indexes) == 1:
        index = order.indexes[0]
        pick = lambda fields: (fields[index],)  # noqa: E731 - itemgetter of one gives no tuple

    def reorder(record: str) -> str:
        if record.startswith(MARKER):
            return record
        fields = dialect.split_movable(record)
        if fields is None or len(fields) != field_count:
            return MALFORMED + record
        fields.append("")
        picked = list(pick(fields))
        found = dialect.delimiter.join(picked)
        if not is_record(found, dialect):
            # The field is blank, or starts with a comment character: quotes keep the record.
            picked[0] = dialect.quote + picked[0] + dialect.quote
            return dialect.delimiter.join(picked)
        # A field that ends with half a delimiter would absorb part of the next field.
        is_ambiguous = len(dialect.delimiter) > 1 and dialect.split(found) != picked
        return MALFORMED + record if is_ambiguous else found

    return reorder
