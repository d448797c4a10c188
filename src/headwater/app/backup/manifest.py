"""`Manifest`: what a backup consists of, as JSON. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from headwater.errors import LakeError, UsageError
from headwater.lake.file_store import compute_checksum

MANIFEST_FORMAT = 1
"""Raised whenever an older release could not restore a backup."""


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One file: `path` relative to the lake, `stored` relative to the backup; `size` in bytes.

    `checksum` is the CRC-32 of the content, in hexadecimal digits.
    """

    path: str
    stored: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class TableBackup:
    """One table as of the commit requested at `instant` and completed at `completed`.

    `path` is relative to the lake. `files` are listed in the file `listed_in`, with its size and checksum.
    """

    name: str
    path: str
    table_type: str
    instant: str
    completed: str
    files: int
    bytes: int
    listed_in: BackupFile


@dataclass(frozen=True, slots=True)
class Manifest:
    """A complete backup. `lake` and `source` name where it is from, `lake_format` its own format.

    `configuration` has the names of configured tables, and `search` if there is any. `skipped` are folders of
    the lake with tables that are not configured.
    """

    created_at: datetime
    headwater: str
    lake: str
    lake_format: int
    source: str
    tables: tuple[TableBackup, ...]
    configuration: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """The number of files of all tables."""
        return sum(table.files for table in self.tables)

    @property
    def bytes(self) -> int:
        """The size of all tables in bytes."""
        return sum(table.bytes for table in self.tables)


def format_manifest(manifest: Manifest) -> bytes:
    """Return the content of the manifest."""
    plain = asdict(manifest) | {"created_at": manifest.created_at.isoformat()}
    body = json.dumps({"format": MANIFEST_FORMAT, **plain}, indent=2)
    return json.dumps(
        {"checksum": compute_checksum(body.encode()), "manifest": json.loads(body)}, indent=2
    ).encode()


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Parse a manifest. Raises `UsageError` for a newer format, `LakeError` for a corrupt one."""
    try:
        outer = json.loads(content)
        plain = outer["manifest"]
        if int(plain["format"]) > MANIFEST_FORMAT:
            raise UsageError(
                f"the backup {where} has format {plain['format']}, written by a newer headwater; this "
                f"release knows formats up to {MANIFEST_FORMAT}",
                hint="upgrade headwater",
            )
        if compute_checksum(json.dumps(plain, indent=2).encode()) != outer["checksum"]:
            raise _build_corruption(where, "its checksum differs")
        del plain["format"]
        plain["created_at"] = datetime.fromisoformat(plain["created_at"])
        plain["tables"] = tuple(_parse_table(table) for table in plain["tables"])
        plain["skipped"] = tuple(plain["skipped"])
        return Manifest(**plain)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _build_corruption(where, str(error)) from error


def _parse_table(plain: dict[str, Any]) -> TableBackup:
    return TableBackup(**{**plain, "listed_in": BackupFile(**plain["listed_in"])})


def _build_corruption(where: str, reason: str) -> LakeError:
    return LakeError(
        f"the manifest of the backup {where} is corrupt: {reason}",
        hint="restore an earlier version of that file, or use another backup",
    )


def format_file_list(files: Iterable[BackupFile]) -> bytes:
    """Return one JSON line per file."""
    return "".join(f"{json.dumps(_to_row(file))}\n" for file in files).encode()


def parse_file_list(content: bytes) -> Iterator[BackupFile]:
    """Yield the files of a list; skips an incomplete last line. Raises `ValueError` and `TypeError`."""
    for line in content.decode().split("\n")[:-1]:
        yield BackupFile(*json.loads(line))


def _to_row(file: BackupFile) -> list[object]:
    return [file.path, file.stored, file.size, file.checksum]
