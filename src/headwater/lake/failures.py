"""Converts failures of Hudi, Hadoop and Spark into headwater errors. Pure, except for reading free disk
space."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from headwater.errors import (
    LakeError,
    LakeNotWritableError,
    TableBusyError,
    TableDamagedError,
    TableMismatchError,
    WriteConflictError,
)
from headwater.lake.options import TABLE_PROPERTIES_FILE
from headwater.lake.prerequisites.run_log import describe_run_log

_REFUSALS = (
    "Permission denied",
    "AccessDenied",
    "Read-only file system",
    "Mkdirs failed",
    "ParentNotDirectoryException",
)
# The last message stands for a file-size limit of a process or file system.
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large")
# The first of these frames below the exception identifies the writer. Spark (sort, shuffle, cache) and Hudi
# (spilling merges) write temporary files; Hadoop writes the lake.
_WRITING = re.compile(
    r"\bat (?:(?P<lake>org\.apache\.(?:hadoop\.fs|hudi\.(?:hadoop|io|storage))\.)"
    r"|(?P<temporary>org\.apache\.spark\.(?:storage|shuffle|io|unsafe|util\.collection)\."
    r"|\S*(?:UnsafeExternalSorter|UnsafeSorterSpill|ExternalSpillableMap|BitCaskDiskMap|RocksDbDiskMap)))"
)
_OVERLAPS = ("HoodieWriteConflictException", "HoodieEarlyConflictDetectionException", "overlapping writes")
_LOCK_FAILURE = re.compile(
    r"HoodieLockException|Unable to acquire (?:the )?lock"
    # A lock provider connects to its server in its constructor.
    r"|Unable to instantiate class \S+LockProvider"
)
# Raised between the start of an index build and the creation of the first index files.
_INDEX_BEGINS = ("FileGroup count for MDT partition", "should be part of inflight metadata partitions")
# Hudi deletes `hoodie.properties` before it rewrites the file. Until then, the folder is not a table.
_PROPERTIES_CHANGE = "Hoodie table not found in path Table does not exist"
_MISSING_FILE = re.compile(r"FileNotFoundException: (?:File )?(\S+)")
_MISSING_FILES = ("FileNotFoundException", "iceberg.exceptions.NotFoundException", "DELTA_FILE_NOT_FOUND")
_CORRUPT_FILE = re.compile(
    r"(?:CorruptedLogFileException: |reading logfile )HoodieLogFile\(pathStr=(?P<log>[^,]+),"
    r"|Checksum error: (?P<checked>\S+) at \d"
    r"|RuntimeException: (?P<base>\S+) is not a Parquet file"
)
# Hudi does not name the file.
_CORRUPT_LOG = (
    "Exception when reading log file",
    "Invalid magic",
    "Invalid log format version",
    "Invalid block",
)
_CONFLICT = re.compile(
    r"Config conflict\(key\s+current value\s+existing value\):\n(.*?)(?=\n\s+at |\Z)", re.DOTALL
)
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"^[\w.]*(?:Error|Exception)\b.*$", re.MULTILINE)
_OLD_LISTS = re.compile(r"ClassCastException: .* is not a group")
_UNTYPED = re.compile(r"lacking writer type: (VECTOR|BLOB) for field: '[^']*\.(\w+)'")
_CONFLICTING = re.compile(r"^(\S+):\t(.*?)\t(.*)$", re.MULTILINE)


def explain_lake_failure(path: str, error: Exception, temporary: Sequence[str] = ()) -> LakeError:
    """Convert an exception of Hudi or Hadoop to an error with a hint. `temporary` are Spark's spill
    folders."""
    text = str(error)
    if any(sign in text for sign in _REFUSALS):
        return LakeNotWritableError(
            f"the lake is not writable: {path}",
            hint="check the permissions of this user or role on that location",
        )
    if no_space := explain_no_space(path, text, temporary):
        return no_space
    if "No FileSystem for scheme" in text or ("ClassNotFoundException" in text and "fs." in text):
        return LakeError(
            f"Spark has no file system for {path}",
            hint="add its connector to `spark.packages` in the configuration",
        )
    if conflict := _explain_conflict(path, text):
        return conflict
    if _LOCK_FAILURE.search(text):
        return TableBusyError(
            f"{path}: cannot acquire the table's lock",
            hint="another writer holds it, or the lock server does not answer; run `headwater doctor`",
        )
    if missing := _MISSING_FILE.search(text):
        return LakeError(
            f"{path}: a file of the table is missing: {missing[1]}",
            hint="restore it. For a data table, `headwater verify` lists the objects whose rows are "
            "missing, and `headwater verify --repair` re-ingests them",
        )
    if found := explain_corruption(path, text) or _explain_mismatch(path, text):
        return found
    return LakeError(f"{path}: {find_root_cause(text)[:500]}", hint=describe_run_log())


def is_missing_file(text: str) -> bool:
    """True if a read failed because a file of the table does not exist, in any table format."""
    return any(sign in text for sign in _MISSING_FILES)


def find_root_cause(text: str) -> str:
    """Return the message of the innermost cause in a Java stack trace, or of a Python traceback inside it."""
    _, is_python, traceback = text.partition(_TRACEBACK)
    if is_python and (raised := _PYTHON_ERROR.findall(traceback)):
        return str(raised[-1])
    causes = [line.strip() for line in text.splitlines() if line.strip().startswith("Caused by: ")]
    if causes:
        return causes[-1].removeprefix("Caused by: ")
    named = (line.strip(" :") for line in text.splitlines() if "Exception" in line or "Error" in line)
    return next(named, text[:300])


def has_old_lists(text: str) -> bool:
    """True if a write failed because lists in a file of the table have the structure of older releases."""
    return bool(_OLD_LISTS.search(text))


def _explain_conflict(path: str, text: str) -> WriteConflictError | None:
    again = "try again; `run` retries automatically"
    if any(sign in text for sign in _OVERLAPS):
        happened = "another writer changed the same files concurrently; this write was not committed"
        return WriteConflictError(f"{path}: {happened}", hint=again)
    if any(sign in text for sign in _INDEX_BEGINS):
        happened = "another process has just started to build an index; this write was not committed"
        return WriteConflictError(f"{path}: {happened}", hint=again)
    if _PROPERTIES_CHANGE in text:
        hint = f"{again}. If no other process is running, the file is missing: restore it"
        return WriteConflictError(f"{path}: another process is changing {TABLE_PROPERTIES_FILE}", hint=hint)
    return None


def explain_no_space(path: str, text: str, temporary: Sequence[str] = ()) -> LakeNotWritableError | None:
    """Return the error for a full disk or quota with the free space, or None for any other message."""
    if not is_no_space(text):
        return None
    if temporary and _is_temporary(text):
        return explain_full_temporary(path, temporary)
    return LakeNotWritableError(
        f"no space left under {path}{measure_free(path)}; this write was not committed",
        hint="free space there (`headwater table NAME clean` deletes superseded files), or move the lake; "
        "then start again: the run resumes where it stopped",
    )


def _is_temporary(text: str) -> bool:
    sign = next(sign for sign in _NO_SPACE if sign in text)
    writing = _WRITING.search(text, text.index(sign))
    return writing is not None and writing.lastgroup == "temporary"


def is_no_space(text: str) -> bool:
    """True if the message reports a full file system or quota."""
    return any(sign in text for sign in _NO_SPACE)


def explain_full_temporary(what: str, temporary: Sequence[str]) -> LakeNotWritableError:
    """Build the error for full spill folders of Spark."""
    folders = ", ".join(f"{folder}{measure_free(folder)}" for folder in temporary)
    return LakeNotWritableError(
        f"{what}: no space left for Spark's temporary files{f' in {folders}' if folders else ''}; "
        "this batch was not committed",
        hint="free space there, or set a larger folder: `spark: {config: {spark.local.dir: FOLDER}}`; then "
        "start again: the run resumes where it stopped",
    )


def explain_corruption(path: str, text: str) -> TableDamagedError | None:
    """Return the error for a corrupt file of the table by a message of Hudi or hudi-rs, else None."""
    named = _CORRUPT_FILE.search(text)
    if not named and not any(sign in text for sign in _CORRUPT_LOG):
        return None
    problem = (
        f"a file of the table is corrupt: {named[named.lastgroup or 0]}" if named else "a log file is corrupt"
    )
    return TableDamagedError(
        f"{path}: {problem}",
        hint="`headwater table NAME check --contents` lists corrupt files, their commits and possible "
        "repairs",
    )


def measure_free(path: str) -> str:
    """Return the free space of a local folder as text; empty for an object store."""
    parts = urlsplit(path)
    if parts.scheme not in {"", "file"}:
        return ""
    folder = Path(parts.path).absolute()
    try:
        found = shutil.disk_usage(next(parent for parent in (folder, *folder.parents) if parent.exists()))
    except OSError:
        return ""
    return f" ({found.free / 1e6:,.1f} of {found.total / 1e6:,.1f} MB free)"


def _explain_mismatch(path: str, text: str) -> LakeError | None:
    """Return the error for a write that does not match the existing table, else None."""
    if conflict := _CONFLICT.search(text):
        differing = "; ".join(
            f"{key} is {there}, not {asked}" for key, asked, there in _CONFLICTING.findall(conflict[1])
        )
        return LakeError(
            f"{path}: the table was created with other settings: {differing}",
            hint="restore these settings, or create the table at another location",
        )
    if untyped := _UNTYPED.search(text):
        kind, column = untyped[1].lower(), untyped[2]
        return TableMismatchError(
            f"{path}: column {column} is a {kind} in the table, but not in the rows to write",
            hint="declare it in the table's `columns`; `headwater table NAME describe` shows its type",
        )
    return None
