"""The expected tables: the bucket read with json, csv and pyarrow alone, without headwater.

Pure. Deliberately independent: it shares no code with what it checks.
"""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

import pyarrow.parquet as pq

Row = dict[str, object]
# Level, key and line; line 0: the whole object.
Unusable = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Expected:
    """Rows by table, and the unusable parts of the objects."""

    rows: Mapping[str, list[Row]]
    unusable: frozenset[Unusable]


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A table compared with a plain reading of the bucket; the rows are listed as text."""

    table: str
    rows: int
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if no row is missing, extra, or different."""
        return not self.missing and not self.extra


@dataclass(slots=True)
class _Reading:
    objects: list[tuple[str, list[Row]]] = field(default_factory=list)
    unusable: set[Unusable] = field(default_factory=set)


def read_plainly(objects: Sequence[tuple[str, bytes]]) -> Expected:
    """Read `objects`, (key, bytes) pairs in upload order."""
    orders = _read_all(objects, "orders/", _read_json_lines)
    clicks = _read_all(objects, "clicks/", _read_csv)
    products = _read_all(objects, "products/", _read_parquet)
    rows = {
        "orders": _merge(
            (_type_time(row, "updated_at") for _, rows in orders.objects for row in rows),
            "order_id",
            "updated_at",
        ),
        "clicks": [
            row | {"day": key.split("/")[1].removeprefix("day=")}
            for key, rows in clicks.objects
            for row in rows
        ],
        "products": _merge((row for _, rows in products.objects for row in rows), "product_id", None),
    }
    return Expected(rows, frozenset(orders.unusable | clicks.unusable | products.unusable))


def compare_rows(table: str, expected: Sequence[Row], found: Sequence[Row]) -> TableCheck:
    """Compare as multisets; a different row counts as one missing and one extra."""
    wanted, have = Counter(map(_write_row, expected)), Counter(map(_write_row, found))
    return TableCheck(table, len(found), tuple((wanted - have).elements()), tuple((have - wanted).elements()))


def _read_all(
    objects: Sequence[tuple[str, bytes]], prefix: str, read: Callable[[bytes, _Reading, str], list[Row]]
) -> _Reading:
    reading = _Reading()
    for key, stored in objects:
        if not key.startswith(prefix) or not stored:
            continue
        try:
            body = gzip.decompress(stored) if key.endswith(".gz") else stored
        except (EOFError, gzip.BadGzipFile):
            reading.unusable.add(("object", key, 0))
            continue
        reading.objects.append((key, read(body, reading, key)))
    return reading


def _read_json_lines(body: bytes, reading: _Reading, key: str) -> list[Row]:
    rows = []
    for number, line in enumerate(body.decode().splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            reading.unusable.add(("record", key, number))
    return rows


def _read_csv(body: bytes, reading: _Reading, key: str) -> list[Row]:
    del reading, key
    return [
        {name: text or None for name, text in record.items()}
        | {"click_id": int(record["click_id"]), "ms": int(record["ms"]), "at": _parse_time(record["at"])}
        for record in csv.DictReader(io.StringIO(body.decode()))
    ]


def _read_parquet(body: bytes, reading: _Reading, key: str) -> list[Row]:
    del reading, key
    rows: list[Row] = pq.read_table(io.BytesIO(body)).to_pylist()
    return rows


def _merge(rows: Iterator[Row], key: str, ordering: str | None) -> list[Row]:
    """Return the last row of each key; with `ordering`, the one with the highest value."""
    kept: dict[object, Row] = {}
    for row in rows:
        before = kept.get(row[key])
        if before is None or ordering is None or str(row[ordering]) >= str(before[ordering]):
            kept[row[key]] = row
    return list(kept.values())


def _type_time(row: Row, name: str) -> Row:
    return row | {name: _parse_time(str(row[name]))}


def _parse_time(text: str) -> datetime:
    # Python 3.10 does not parse Z.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _write_row(row: Row) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, default=_write_value)


def _write_value(value: object) -> str:
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc).isoformat(timespec="microseconds")
    return str(value)
