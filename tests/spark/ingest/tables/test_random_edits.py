"""A mirror has the rows of its files after any edits of them, while the types of their columns change."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.folder_lake import FolderLake

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

Record = dict[str, Any]
COLUMNS = ("a", "b", "c", "d")
FAMILIES = {
    "number": ("int", "float", "big", "null"),
    "text": ("text", "int", "null", "bool"),
    "list": ("list", "null", "texts"),
    "struct": ("struct", "null"),
    "deep": ("deep", "null"),
}
STRUCT = pa.struct([("p", pa.int64()), ("q", pa.string()), ("r", pa.float64())])
ARROW_TYPES = {
    "int": pa.int32(),
    "float": pa.float64(),
    "big": pa.decimal128(30, 2),
    "null": pa.null(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "list": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "struct": STRUCT,
    "deep": pa.list_(pa.struct([("k", STRUCT), ("z", pa.list_(pa.int64()))])),
}
TEXTS = ("a", "ü", "null", "007", "1.5", "true", " x ", "a,b", 'q"q', "l\nn")


class Files:
    """Writes files of random records in one format, whose columns change their types within a family."""

    def __init__(self, random: Random, extension: str) -> None:
        self._random = random
        self.extension = extension
        self._families = {column: random.choice(sorted(FAMILIES)) for column in COLUMNS}
        self._kinds = {column: random.choice(FAMILIES[name]) for column, name in self._families.items()}
        self._next_id = 0

    def build(self) -> bytes:
        for column, family in self._families.items():
            if self._random.random() < 0.35:
                self._kinds[column] = self._random.choice(FAMILIES[family])
        columns = [column for column in COLUMNS if self._random.random() < 0.8]
        records = []
        for _ in range(self._random.randrange(5)):
            self._next_id += 1
            values = {
                one: self._build_value(self._kinds[one]) for one in columns if self._random.random() < 0.9
            }
            records.append({"id": self._next_id, **values})
        return self._encode(columns, records)

    def _build_value(self, kind: str) -> Any:
        random = self._random
        if random.random() < 0.15:
            return None
        builders: Mapping[str, Callable[[], Any]] = {
            "int": lambda: random.randrange(-5, 1000),
            "float": lambda: random.choice((0.5, -2.25, 1e10, 3.0)),
            "big": lambda: random.choice((2**40, 2**62, 10**20, 7)),
            "text": lambda: random.choice(TEXTS),
            "bool": lambda: random.random() < 0.5,
            "null": lambda: None,
            "list": lambda: [self._build_value("int") for _ in range(random.randrange(3))],
            "texts": lambda: [self._build_value("text") for _ in range(random.randrange(3))],
            "struct": lambda: {
                name: self._build_value(one)
                for name, one in (("p", "int"), ("q", "text"), ("r", "float"))
                if random.random() < 0.7
            },
            "deep": lambda: [
                {"k": self._build_value("struct"), "z": self._build_value("list")}
                for _ in range(random.randrange(3))
            ],
        }
        return builders[kind]()

    def _encode(self, columns: list[str], records: list[Record]) -> bytes:
        if self.extension == "json":
            return "".join(json.dumps(record) + "\n" for record in records).encode()
        if self.extension == "csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, ["id", *columns], lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: _to_field(one) for key, one in record.items()} for record in records)
            return text.getvalue().encode()
        types = {"id": pa.int64(), **{column: ARROW_TYPES[self._kinds[column]] for column in columns}}
        values = {
            name: [_to_arrow(record.get(name), kind) for record in records] for name, kind in types.items()
        }
        sink = io.BytesIO()
        pq.write_table(pa.table({name: pa.array(values[name], kind) for name, kind in types.items()}), sink)
        return sink.getvalue()


def _to_field(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _to_arrow(value: Any, kind: pa.DataType) -> Any:
    return Decimal(value) if value is not None and pa.types.is_decimal(kind) else value


def iter_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file with their numbers, as the reference reads them."""
    if path.suffix == ".json":
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield number, json.loads(line)
    elif path.suffix == ".csv":
        with path.open(newline="") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            number = reader.line_num + 1
            for fields in reader:
                yield number, {name: field or None for name, field in zip(header, fields, strict=True)}
                number = reader.line_num + 1
    else:
        yield from enumerate(pq.read_table(path).to_pylist(), 1)


def normalize(value: Any) -> Any:
    """Return a value whose type does not matter: `1`, `1.0` and `"1"` are equal, and a list and its text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _normalize_text(value)
    if isinstance(value, (int, float, Decimal)):
        return format(Decimal(str(value)).normalize(), "f")
    if isinstance(value, Mapping):
        found = {key: normalize(one) for key, one in sorted(value.items())}
        return {key: one for key, one in found.items() if one is not None} or None
    return [normalize(one) for one in value] if isinstance(value, list) else value


def _normalize_text(text: str) -> Any:
    if text in ("True", "False"):
        return text.lower()
    try:
        found = json.loads(text, parse_constant=str)
    except ValueError:
        return text
    return text if isinstance(found, str) else normalize(found)


def edit(random: Random, lake: FolderLake, files: Files) -> None:
    """Write, remove or move a file."""
    names = [f"{number}.{files.extension}" for number in range(6)]
    name, other, kind = random.choice(names), random.choice(names), random.random()
    path = lake.source / name
    if kind < 0.2 and path.exists():
        lake.announce(name, kind="removed")
    elif kind < 0.35 and path.exists() and name != other:
        content = path.read_bytes()
        lake.announce(name, kind="removed")
        lake.put(other, content)
    else:
        lake.put(name, files.build())


def find_rows(lake: FolderLake) -> dict[tuple[str, int], Any]:
    """Return the table's rows by file and number of the record."""
    found: dict[tuple[str, int], Any] = {}
    if not lake.table("t").load_timeline().exists():
        return found
    for row in (row.asDict(recursive=True) for row in lake.table("t").read().collect()):
        place = Path(row["_headwater_object"]).name, row["_headwater_row"]
        assert place not in found
        found[place] = normalize({name: one for name, one in row.items() if not name.startswith("_")})
    return found


def list_wanted(lake: FolderLake) -> dict[tuple[str, int], Any]:
    """Return the rows that the files demand."""
    found = {
        (path.name, number): normalize(record)
        for path in sorted(lake.source.iterdir())
        for number, record in iter_records(path)
    }
    known = set(lake.columns("t")) if lake.table("t").load_timeline().exists() else set()
    # Lists without any value have no type yet.
    return {
        place: {name: one for name, one in row.items() if name in known or any(_iter_values(one))}
        for place, row in found.items()
    }


def _iter_values(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _iter_values(one)
    elif value is not None:
        yield value


def list_kept_out(lake: FolderLake, places: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the places whose record or file is in quarantine."""
    items = set(lake.quarantine_of("t", "level", "key", "line"))
    return {one for one in places if ("object", one[0], None) in items or ("record", *one) in items}


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("extension", ["json", "csv", "parquet"])
def test_a_mirror_has_the_rows_of_its_files(spark, tmp_path: Path, extension: str, seed: int) -> None:
    random = Random(seed)
    options = {"header": "true"} if extension == "csv" else {}
    lake = FolderLake(spark, tmp_path, t={"path": f"*.{extension}", "mode": "mirror", "options": options})
    files, seen = Files(random, extension), 0
    for _ in range(8):
        for _ in range(random.randrange(1, 4)):
            edit(random, lake, files)
        lake.ingest("t")
        found, wanted = find_rows(lake), list_wanted(lake)
        missing = list_kept_out(lake, wanted) - found.keys()
        assert found == {place: row for place, row in wanted.items() if place not in missing}
        seen += len(found)
    assert seen
