"""What HiveServer2 answers to `DESCRIBE FORMATTED`: rows for people, of three texts each. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.lake.catalogs.catalog_table import CatalogColumn, PartitionValues, StorageFormat

Row = Sequence[str | None]
_PADDED = 20
_UNNAMED = "# col_name"
_SECTIONS = {
    "# Partition Information": "keys",
    "# Detailed Table Information": "details",
    "# Detailed Partition Information": "details",
    "Table Parameters:": "properties",
    "Partition Parameters:": "properties of a partition",
    "# Storage Information": "details",
    "Storage Desc Params:": "serde properties",
}
_COUNTED = frozenset(
    {
        "bucketing_version",
        "COLUMN_STATS_ACCURATE",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numPartitions",
        "numRows",
        "rawDataSize",
        "totalSize",
        "transient_lastDdlTime",
    }
)
"""Properties that Hive keeps itself, or makes for the answer."""
_OF_THE_SERDE = "from deserializer"


@dataclass(frozen=True, slots=True)
class Description:
    """A table, or a partition of one, as Hive holds it. `comments` by column, only where there is one;
    `partitions` are not in the answer, they are added."""

    location: str
    columns: tuple[CatalogColumn, ...]
    partition_keys: tuple[CatalogColumn, ...]
    format: StorageFormat
    properties: Mapping[str, str]
    serde_properties: Mapping[str, str]
    comments: Mapping[str, str]
    partitions: Mapping[PartitionValues, str] = field(default_factory=dict)


def parse_description(rows: Iterable[Row]) -> Description:
    """Of the rows in the order in which they came."""
    found: dict[str, list[tuple[str, str, str]]] = {"columns": []}
    section = "columns"
    for row in rows:
        first, second, third = (text or "" for text in row)
        name = first.strip()
        if name in _SECTIONS:
            section = _SECTIONS[name]
        elif name.startswith("# ") and name != _UNNAMED:
            section = name
        elif name != _UNNAMED:
            found.setdefault(section, []).append((name, second, third))
    details = {name: value.strip() for name, value, _ in found.get("details", ()) if name}
    columns = found["columns"]
    return Description(
        location=details.get("Location:", ""),
        columns=_build_columns(columns),
        partition_keys=_build_columns(found.get("keys", ())),
        format=StorageFormat(
            details.get("InputFormat:", ""),
            details.get("OutputFormat:", ""),
            details.get("SerDe Library:", ""),
        ),
        properties=_build_properties(found.get("properties", ())),
        serde_properties=_build_properties(found.get("serde properties", ())),
        comments=_build_comments(columns),
    )


def _build_columns(rows: Iterable[tuple[str, str, str]]) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(name, kind.strip()) for name, kind, _ in rows if name)


def _build_properties(rows: Iterable[tuple[str, str, str]]) -> Mapping[str, str]:
    found = {key.strip(): _read_value(value) for name, key, value in rows if not name and key.strip()}
    return {key: value for key, value in found.items() if key not in _COUNTED}


def _build_comments(rows: Iterable[tuple[str, str, str]]) -> Mapping[str, str]:
    comments: dict[str, str] = {}
    last = ""
    for name, _, comment in rows:
        # Each further line of a comment is a row without a name, where it is not written as an escape.
        line = _read_value(comment.strip())
        text = line if name else f"{comments.get(last, '')}\n{line}".strip()
        last = name or last
        if text and text != _OF_THE_SERDE:
            comments[last] = text
    return comments


def _read_value(shown: str) -> str:
    """Short ones are filled up with blanks, and all are written as in Java's sources: JSON's escapes."""
    text = shown if len(shown) > _PADDED else shown.rstrip()
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text
