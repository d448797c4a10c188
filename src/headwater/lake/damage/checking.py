"""Verifies that all files of completed commits exist and are intact.

Hudi treats a truncated log file as an aborted write and skips it silently. Readers then return older rows,
and a compaction makes the loss permanent. Each commit records the length of its files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headwater.errors import LakeError, TableDamagedError, TableUnsupportedError
from headwater.lake.damage.promises import PromisedFile, Promises, SkippedBlocks
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.table_folder import TableFolder
from headwater.lake.timeline.instants import sort_by_completion

_NAMED = 3
_COUNTED = (".parquet", ".orc")


@dataclass(frozen=True, slots=True)
class CorruptFile:
    """A file that differs from its commit: `gone`, of another `size`, or `unreadable` despite the right size.

    `path` is relative to the table. `promised` and `found` are bytes; `rows` are the rows written to the
    file.
    """

    path: str
    kind: Literal["base", "log"]
    what: Literal["gone", "size", "unreadable"]
    instant: str
    rows: int
    promised: int
    found: int | None

    def describe(self) -> str:
        """Return the corruption as one line."""
        state = "is missing" if self.found is None else "cannot be read"
        if self.what == "size":
            state = f"has {self.found:,} bytes instead of {self.promised:,}"
        return f"{self.path} {state} ({self.rows:,} rows of commit {self.instant})"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of a check; `files` were compared.

    `skipped` are compactions on the active timeline that skipped corrupt blocks. `problems` name unreadable
    commits, whose files were not compared.
    """

    files: int
    damaged: tuple[CorruptFile, ...]
    skipped: tuple[SkippedBlocks, ...]
    problems: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """True if no corruption was found."""
        return not (self.damaged or self.skipped or self.problems)


def check_files(address: TableAddress, *, archived: bool = False, contents: bool = False) -> FileCheck:
    """Compare the files of the latest snapshot with the commits on the active timeline.

    `archived` includes archived commits. `contents` reads every log file and the footer of each base file.
    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    found = _compare_files(address, archived=archived, contents=contents)
    if not found.damaged:
        return found
    # Compaction and cleaning may run between the two listings, and an archived commit may supersede a file.
    # Report only corruption that both passes find.
    again = _compare_files(address, archived=True, contents=contents)
    seen = {one.path for one in found.damaged}
    return replace(found, damaged=tuple(one for one in again.damaged if one.path in seen))


def ensure_intact(address: TableAddress) -> None:
    """Raise `TableDamagedError` if log files of the latest snapshot differ from the active timeline.

    A missing base file does not raise: compaction neither worsens nor repairs it. Tables that only Spark can
    read pass. Raises `TableNotFoundError` and `LakeError`.
    """
    try:
        found = check_files(address)
    except TableUnsupportedError:
        return
    if logs := tuple(one for one in found.damaged if one.kind == "log"):
        raise build_corruption_error(address, logs)


def build_corruption_error(address: TableAddress, damaged: tuple[CorruptFile, ...]) -> TableDamagedError:
    """Build the error that names the corrupt files and possible repairs."""
    named = "; ".join(one.describe() for one in damaged[:_NAMED])
    more = f"; and {len(damaged) - _NAMED:,} more" if len(damaged) > _NAMED else ""
    count = len(damaged)
    summary = "a file differs from its commit" if count == 1 else f"{count:,} files differ from their commits"
    name = address.name
    return TableDamagedError(
        f"table {name}: {summary}: {named}{more}",
        hint="restore the file from a backup or an older version of the object; or run `headwater table "
        f"{name} restore` to a savepoint before that commit; or run `headwater replay --table {name} "
        "--since` with a time before that commit, which re-ingests the objects of the lost rows, and then "
        f"`headwater table {name} compact --accept-loss`",
    )


def _compare_files(address: TableAddress, *, archived: bool, contents: bool) -> FileCheck:
    timeline = TableTimeline(address)
    instants = [*(i for i in timeline.archived if archived and i.is_write), *timeline.completed_writes]
    promises, problems = Promises(), []
    for instant, metadata in timeline.read_metadata(sort_by_completion(instants)).items():
        if isinstance(metadata, LakeError):
            problems.append(metadata.message)
            continue
        promises.add(instant, metadata)
    # Read the timeline first: files that are written concurrently are not expected yet.
    stored = {file.path: file.size for file in timeline.folder.list_data_files()}
    damaged = list(compare_files(promises.files, stored))
    if contents:
        known = {one.path for one in damaged}
        damaged += _read_contents(
            timeline.folder, [file for file in promises.files if file.path not in known]
        )
    active = {instant.requested for instant in timeline.completed_writes}
    return FileCheck(
        files=len(promises.files),
        damaged=tuple(sorted(damaged, key=lambda one: one.path)),
        skipped=tuple(one for one in promises.skipped if one.instant in active),
        problems=tuple(problems),
    )


def compare_files(promised: Sequence[PromisedFile], stored: Mapping[str, int]) -> tuple[CorruptFile, ...]:
    """Return promised files that are absent or have another size; `stored` are sizes in bytes by path."""
    return tuple(one for file in promised if (one := _compare(file, stored.get(file.path))))


def _compare(file: PromisedFile, found: int | None) -> CorruptFile | None:
    if found == file.size:
        return None
    return _build_corrupt_file(file, "gone" if found is None else "size", found)


def _read_contents(folder: TableFolder, files: Sequence[PromisedFile]) -> Iterator[CorruptFile]:
    rows = folder.count_file_rows([file.path for file in files if file.kind == "base"])
    for file in files:
        if file.kind == "log":
            is_read = folder.count_merged_rows("", [file.path]) is not None
        else:
            is_read = rows[file.path] == file.rows or not file.path.endswith(_COUNTED)
        if not is_read:
            yield _build_corrupt_file(file, "unreadable", file.size)


def _build_corrupt_file(
    file: PromisedFile, what: Literal["gone", "size", "unreadable"], found: int | None
) -> CorruptFile:
    return CorruptFile(file.path, file.kind, what, file.instant, file.rows, file.size, found)
