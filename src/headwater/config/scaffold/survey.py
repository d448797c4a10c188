"""Inspects the files of a folder and proposes tables: one per top folder and format."""

import csv
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from wcmatch import glob

from headwater.config.file_format import COMPRESSION_SUFFIXES, FileFormat, infer_format, is_archive
from headwater.config.table_names import build_table_name

# Enough to detect the kinds of files, without listing a whole data lake.
MAX_FILES = 20_000
MAX_LINE_CHARS = 1_000_000
_KEY_NAMES = ("id", "uuid", "key", "pk")
_TIME_NAMES = ("updated_at", "modified_at", "last_modified", "updated", "ts", "timestamp", "event_time")


@dataclass(frozen=True, slots=True)
class TableProposal:
    """A table that the files suggest; `columns` is empty if they were not read."""

    name: str
    path: str
    format: FileFormat
    files: int = 0
    columns: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    @property
    def needs_format(self) -> bool:
        """True if the path's ending does not imply the format."""
        return infer_format(self.path) != self.format

    @property
    def record_key(self) -> str:
        """Return the column that looks like the row key; `id` without any."""
        singular = self.name.removesuffix("s")
        names = {column.lower(): column for column in self.columns}
        wanted = [*_KEY_NAMES, f"{singular}_id", f"{singular}id", f"{self.name}_id"]
        wanted += [name for name in names if name.endswith("_id")]
        return next((names[name] for name in wanted if name in names), "id")

    @property
    def ordering(self) -> str:
        """Return the column that looks like the time of a change; `updated_at` without any."""
        names = {column.lower(): column for column in self.columns}
        return next((names[name] for name in _TIME_NAMES if name in names), "updated_at")


def survey_folder(folder: Path) -> list[TableProposal]:
    """Propose tables for the files in the folder; none when it is empty or missing."""
    groups: dict[tuple[str, FileFormat], list[Path]] = {}
    for path in islice(_iter_files(folder), MAX_FILES):
        found = _detect_format(path)
        if found is not None:
            parts = path.relative_to(folder).parts
            groups.setdefault((parts[0] if len(parts) > 1 else "", found), []).append(path)
    for top, found in list(groups):
        # Documents next to data are no data; a folder with only documents is.
        if found == "document" and (not top or any(o == top and f != "document" for o, f in groups)):
            del groups[top, found]
    proposals: dict[str, TableProposal] = {}
    folders = [top for top, _ in groups]
    for (top, file_format), paths in sorted(groups.items()):
        name = build_table_name(top or (paths[0].name.split(".")[0] if len(paths) == 1 else file_format))
        if (top and folders.count(top) > 1) or name in proposals:
            name = f"{name}_{file_format}"
        proposals[name] = _propose(name, top, file_format, paths)
    return list(proposals.values())


def _iter_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        # `.hoodie` and the like are not data; `_SUCCESS` and `_temporary` are a writer's markers.
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            if not name.startswith((".", "_")):
                yield Path(parent, name)


def _detect_format(path: Path) -> FileFormat | None:
    if is_archive(path.name):
        return None
    found = infer_format(glob.escape(path.name))
    if found == "json" and path.suffix.lower() in (".json", ".gz"):
        first = _read_first_line(path)
        return "json_array" if first.lstrip("\ufeff \t").startswith("[") else found
    return found


def _propose(name: str, top: str, file_format: FileFormat, paths: list[Path]) -> TableProposal:
    endings = sorted({_ending(path) for path in paths})
    ending = endings[0] if len(endings) == 1 else f"{{{','.join(endings)}}}"
    pattern = f"{glob.escape(top)}/**/*.{ending}" if top else f"*.{ending}"
    columns = _read_columns(paths[0], file_format)
    options: tuple[tuple[str, str], ...] = ()
    if file_format == "csv":
        options = (("header", "true"),) if columns else ()
        if "tsv" in ending:
            options += (("sep", '"\\t"'),)
    return TableProposal(name, pattern, file_format, len(paths), columns, options)


def _ending(path: Path) -> str:
    parts = path.name.split(".")
    count = 1
    while count < len(parts) - 1 and parts[-count].lower() in COMPRESSION_SUFFIXES:
        count += 1
    return ".".join(parts[-count:])


def _read_columns(path: Path, file_format: FileFormat) -> tuple[str, ...]:
    """Return column names of a JSON-lines or CSV file; empty when there are none."""
    if file_format == "csv":
        line = _read_first_line(path)
        row = next(csv.reader([line], delimiter="\t" if ".tsv" in path.name.lower() else ","), [])
        is_header = all(cell.strip() and not _is_number(cell) for cell in row) and len(set(row)) == len(row)
        return tuple(cell.strip() for cell in row) if is_header else ()
    if file_format == "json":
        try:
            record = json.loads(_read_first_line(path))
        except ValueError:
            return ()
        return tuple(record) if isinstance(record, dict) else ()
    return ()


def _read_first_line(path: Path) -> str:
    """Return the first line that is not blank; empty for unreadable text."""
    try:
        with _open_text(path) as file:
            lines = (file.readline(MAX_LINE_CHARS) for _ in range(10))
            return next((line.strip() for line in lines if line.strip()), "")
    except (OSError, EOFError, UnicodeDecodeError):
        return ""


def _open_text(path: Path) -> IO[str]:
    if path.suffix.lower() in (".gz", ".gzip"):
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
