"""Parses HiveServer2's answer to `DESCRIBE FORMATTED`: human-readable rows of three columns. Pure."""

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
"""Properties that Hive manages itself or adds to the answer."""
_OF_THE_SERDE = "from deserializer"


@dataclass(frozen=True, slots=True)
class Description:
    """A table or partition as Hive stores it.

    `comments` are by column, only where one exists. `partitions` are not part of the answer; the caller adds
    them.
    """

    location: str
    columns: tuple[CatalogColumn, ...]
    partition_keys: tuple[CatalogColumn, ...]
    format: StorageFormat
    properties: Mapping[str, str]
    serde_properties: Mapping[str, str]
    comments: Mapping[str, str]
    partitions: Mapping[PartitionValues, str] = field(default_factory=dict)


def parse_description(rows: Iterable[Row]) -> Description:
    """Parse the rows of an answer in their original order."""
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
        # Unescaped further lines of a multi-line comment arrive as rows without a name.
        line = _read_value(comment.strip())
        text = line if name else f"{comments.get(last, '')}\n{line}".strip()
        last = name or last
        if text and text != _OF_THE_SERDE:
            comments[last] = text
    return comments


def _read_value(shown: str) -> str:
    """Return the original text: Hive pads short values and escapes all values as in Java source."""
    text = shown if len(shown) > _PADDED else shown.rstrip()
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text
