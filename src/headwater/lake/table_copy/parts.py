"""Which actions and files belong to a copy of a table. Pure."""

from collections.abc import Collection, Iterable, Sequence

from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.options import TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE, TABLE_PROPERTY_KEYS
from headwater.lake.properties import parse_properties
from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.instants import Instant, sort_by_completion

SKIPPED_FOLDERS = frozenset({"metadata", ".temp", ".heartbeat", ".locks", "lock"})
"""Folders in `.hoodie` that belong to running writers, and the metadata table.

That is a table of its own, with another state at any moment. Hudi's next write rebuilds it from the files.
"""
_SKIPPED_FILES = frozenset(
    {f"{TABLE_METADATA_FOLDER}/lock", TABLE_PROPERTIES_FILE, f"{TABLE_PROPERTIES_FILE}.backup"}
)
_PARTITION_FILE = ".hoodie_partition_metadata"
_NEVER_REWRITTEN = (".hashing_meta", ".hashing_meta.commit")
_METADATA_TABLE_KEYS = tuple(
    TABLE_PROPERTY_KEYS[name] for name in ("metadata_partitions", "metadata_partitions_building")
)


def cut_timeline(first: Iterable[Instant], second: Iterable[Instant]) -> tuple[Instant, ...]:
    """Return the completed actions up to the newest of the first listing, in order of completion.

    A listing is not atomic: it may have a commit, and lack one that completed before. The second listing has
    all that completed before anything in the first one. Pending actions are left out. Their files are
    incomplete, and plans of a clean hold complete paths: a copy would execute them on the original table.
    """
    last = max((i.completed for i in first if i.state == "completed"), default="")
    return tuple(sort_by_completion(i for i in second if i.state == "completed" and i.completed <= last))


def find_oldest_write(active: Iterable[Instant]) -> str:
    """Return the requested time of the oldest write on the active timeline, completed or not."""
    return min((i.requested for i in active if i.is_write), default="")


def select_data_files(
    files: Iterable[StoredFile], completed: Collection[str], oldest: str
) -> list[StoredFile]:
    """Return the files that completed actions wrote, older states included.

    `completed` are requested times; what was requested before `oldest` is archived, and complete.
    """
    return [file for file in files if is_part(file.name, completed, oldest)]


def is_part(name: str, completed: Collection[str], oldest: str) -> bool:
    """True if a file of this name belongs to the copy, see `select_data_files`."""
    parsed = parse_data_file_name(name)
    if parsed is None:
        # Hadoop's checksums of local files; other writers of the folder create them again.
        return not name.endswith(".crc")
    return parsed.instant in completed or parsed.instant < oldest


def split_table_files(files: Iterable[StoredFile]) -> tuple[list[StoredFile], list[StoredFile]]:
    """Return files in `.hoodie` outside the timeline: those written once, and those rewritten in place."""
    fixed: list[StoredFile] = []
    changing: list[StoredFile] = []
    for file in files:
        if file.name.endswith(".crc") or file.path in _SKIPPED_FILES:
            continue
        is_fixed = file.name == _PARTITION_FILE or file.name.endswith(_NEVER_REWRITTEN)
        (fixed if is_fixed else changing).append(file)
    return fixed, changing


def drop_metadata_table(properties: bytes) -> bytes:
    """Return the content of `hoodie.properties` for a table whose metadata table was left out.

    Readers then list the folders. Index definitions are kept, and the next write builds all indexes again.
    """
    lines = properties.decode("utf-8", "replace").splitlines(keepends=True)
    kept = [line for line in lines if not parse_properties(line).keys() & set(_METADATA_TABLE_KEYS)]
    return "".join(kept).encode()


def list_timeline_files(instants: Sequence[Instant]) -> list[StoredFile]:
    """Return all files of these actions on the active timeline."""
    return [file for instant in instants for file in instant.files.values()]
