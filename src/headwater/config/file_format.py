"""File formats, and the formats that path endings imply."""

from collections.abc import Collection, Mapping
from typing import Literal

import bracex

FileFormat = Literal[
    "json",
    "json_array",
    "csv",
    "parquet",
    "avro",
    "avro_records",
    "protobuf",
    "orc",
    "text",
    "binary",
    "xml",
    "xlsx",
    "document",
]

_FORMAT_BY_SUFFIX: dict[str, FileFormat] = {
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "avro": "avro",
    "orc": "orc",
    "txt": "text",
    "log": "text",
    "xml": "xml",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "pdf": "document",
    "html": "document",
    "htm": "document",
    "md": "document",
    "markdown": "document",
    "docx": "document",
}
COMPRESSION_SUFFIXES = ("gz", "gzip", "bz2", "zst", "zstd")
ARCHIVE_SUFFIXES = ("zip", "tar", "tgz", "tbz2", "tzst", "7z")
PACKED_SUFFIXES = (*COMPRESSION_SUFFIXES, *ARCHIVE_SUFFIXES)


def infer_format(path: str) -> FileFormat | None:
    """Return the format that a path glob's ending implies; None if ambiguous.

    Compression and archives are ignored: `.csv.zip` and `.csv.gz` imply CSV.
    """
    formats = {_infer_one_format(expanded) for expanded in bracex.iexpand(path)}
    return formats.pop() if len(formats) == 1 else None


def _infer_one_format(path: str) -> FileFormat | None:
    return _FORMAT_BY_SUFFIX.get(_find_ending(path, PACKED_SUFFIXES))


def is_archive(key: str) -> bool:
    """True if a key's ending is that of an archive, of which each member is read: `.zip`, `.tar.gz`."""
    return _find_ending(key, COMPRESSION_SUFFIXES) in ARCHIVE_SUFFIXES


def _find_ending(path: str, ignored: Collection[str]) -> str:
    """Return the last ending of a name that is none of the ignored ones, in lower case; empty without any."""
    parts = path.lower().rsplit("/", 1)[-1].split(".")
    while len(parts) > 1 and parts[-1] in ignored:
        parts.pop()
    return parts[-1] if len(parts) > 1 else ""


RECORD_ENCODINGS: Mapping[FileFormat, str] = {"avro_records": "avro", "protobuf": "protobuf"}
"""Formats whose records can be decoded only with the table's schema, and the kind of that schema."""

FIXED_COLUMNS = frozenset({"text", "binary", "document"})
"""Formats whose columns are fixed."""
