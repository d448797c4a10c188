"""The manifest of an S3 Inventory report: its files and their columns. Pure.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html
"""

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, get_args

from headwater.errors import UsageError

InventoryFormat = Literal["CSV", "Parquet", "ORC"]

# Our name -> the name in a CSV file's schema, and in the columns of Parquet and ORC.
COLUMNS = {
    "key": ("Key", "key"),
    "version_id": ("VersionId", "version_id"),
    "is_latest": ("IsLatest", "is_latest"),
    "is_delete_marker": ("IsDeleteMarker", "is_delete_marker"),
    "size": ("Size", "size"),
    "last_modified": ("LastModifiedDate", "last_modified_date"),
    "etag": ("ETag", "e_tag"),
}
REQUIRED = ("key", "size", "last_modified", "etag")


@dataclass(frozen=True, slots=True)
class InventoryFile:
    """One data file; `key` is in the destination bucket, `md5` in hexadecimal digits, `size` in bytes."""

    key: str
    size: int
    md5: str


@dataclass(frozen=True, slots=True)
class InventoryManifest:
    """A report, which lists the `bucket` approximately as of `created_at`.

    `csv_columns` are the names of all columns of a CSV file, in order; empty for other formats.
    """

    bucket: str
    destination: str
    created_at: datetime
    format: InventoryFormat
    csv_columns: tuple[str, ...]
    files: tuple[InventoryFile, ...]


def parse_manifest(text: str, name: str) -> InventoryManifest:
    """Parse a `manifest.json`; errors call it `name`. Raises `UsageError`."""
    try:
        data = json.loads(text)
        file_format = data["fileFormat"]
        if file_format not in get_args(InventoryFormat):
            raise UsageError(
                f"{name}: unknown inventory format {file_format!r}",
                hint=f"supported formats: {', '.join(get_args(InventoryFormat))}",
            )
        schema = tuple(column.strip() for column in data["fileSchema"].split(","))
        return InventoryManifest(
            bucket=data["sourceBucket"],
            destination=data["destinationBucket"].rpartition(":")[2],
            created_at=datetime.fromtimestamp(int(data["creationTimestamp"]) / 1000, timezone.utc),
            format=file_format,
            csv_columns=schema if file_format == "CSV" else (),
            files=tuple(
                InventoryFile(entry["key"], int(entry["size"]), entry["MD5checksum"].lower())
                for entry in data["files"]
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{name} is not the manifest of an S3 Inventory report: {type(error).__name__}: {error}",
            hint="specify the address of its manifest.json: "
            "s3://DESTINATION/PREFIX/BUCKET/CONFIG/2026-01-01T00-00Z/manifest.json",
        ) from error


def check_columns(names: "tuple[str, ...] | list[str]", which: int, name: str) -> dict[str, str]:
    """Map our names to the file's for its existing columns; `which` spelling: 0 CSV, 1 Parquet and ORC.

    Raises `UsageError` if a column required for the comparison is missing.
    """
    found = {ours: spelled[which] for ours, spelled in COLUMNS.items() if spelled[which] in names}
    missing = [COLUMNS[ours][0] for ours in REQUIRED if ours not in found]
    if missing:
        raise UsageError(
            f"{name}: the inventory has no {', '.join(missing)}",
            hint="add the fields Size, LastModifiedDate and ETag to the inventory's configuration",
        )
    return found
