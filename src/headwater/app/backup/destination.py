"""`BackupFolder`: the files of a backup at its destination, complete or not.

backup.json           the lake that owns the destination
manifest.json         the complete backup, replaced by the next one
lists/ATTEMPT/        the files of each table in a complete backup
data/                 files that are written once, under their paths in the lake
changing/ATTEMPT/     files that tables rewrite in place, as they were
journal/              files that an attempt has copied so far
"""

import json
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from headwater.app.backup.manifest import (
    BackupFile,
    Manifest,
    format_file_list,
    format_manifest,
    parse_file_list,
    parse_manifest,
)
from headwater.errors import LakeError, UsageError
from headwater.lake.file_store import FileStore, compute_checksum
from headwater.lake.layout import OWN_FOLDER

MANIFEST = "manifest.json"
_OWNER = "backup.json"
_DATA, _JOURNAL = "data", "journal"
_OURS = (_DATA, _JOURNAL, "lists", "changing")


@dataclass(slots=True)
class BackupFolder:
    """One destination. Its methods raise `LakeError`."""

    store: FileStore
    attempt: str
    _journaled: int = field(default=0)

    @property
    def url(self) -> str:
        """The address of the destination."""
        return self.store.url

    def claim(self, lake: str) -> None:
        """Make the destination that of the lake, or check that it is.

        Raises `UsageError` for the backup of another lake, and for a folder with other files.
        """
        owner = self._read_owner()
        if owner is None:
            others = [file.path for file in self.store.list_files() if not _is_lease(file.path)]
            if others:
                raise UsageError(
                    f"{self.url} is not empty, and holds no backup: {', '.join(sorted(others)[:3])}",
                    hint="choose an empty location",
                )
            self.store.write(_OWNER, json.dumps({"lake": lake}).encode())
        elif owner != lake:
            raise UsageError(
                f"{self.url} holds a backup of another lake: {owner}",
                hint="choose a separate location for each lake",
            )

    def _read_owner(self) -> str | None:
        content = self.store.read_if_there(_OWNER)
        if content is None:
            return None
        try:
            return str(json.loads(content)["lake"])
        except (ValueError, KeyError, TypeError) as error:
            raise LakeError(
                f"{self.url}/{_OWNER} is corrupt: {error}", hint="choose an empty location"
            ) from error

    def load_known(self) -> dict[str, BackupFile]:
        """Return files written once that are there from earlier attempts, by their paths in the lake.

        A file counts that a manifest or journal names, and that has its size there.
        """
        named = {file.path: file for file in self._iter_named() if file.stored.startswith(f"{_DATA}/")}
        sizes = {file.path: file.size for file in self.store.list_files(_DATA)} if named else {}
        return {path: file for path, file in named.items() if sizes.get(file.stored) == file.size}

    def _iter_named(self) -> Iterable[BackupFile]:
        manifest = self.find_manifest()
        if manifest is not None:
            for table in manifest.tables:
                yield from self.read_list(table.listed_in)
        for file in self.store.list_files(_JOURNAL):
            yield from parse_file_list(self.store.read(file.path))

    def find_manifest(self) -> Manifest | None:
        """Return the manifest of the complete backup; None without one."""
        content = self.store.read_if_there(MANIFEST)
        return None if content is None else parse_manifest(content, self.url)

    def read_list(self, listed_in: BackupFile) -> list[BackupFile]:
        """Read a table's list of files. Raises `LakeError` if it is missing or corrupt."""
        content = self.store.read_if_there(listed_in.stored)
        if (
            content is None
            or len(content) != listed_in.size
            or compute_checksum(content) != listed_in.checksum
        ):
            state = "is missing" if content is None else "is corrupt"
            raise LakeError(
                f"the backup {self.url} is incomplete: {listed_in.stored} {state}",
                hint="recover that file from an older version of the object, or use another backup",
            )
        return list(parse_file_list(content))

    def write_list(self, table: str, files: Sequence[BackupFile]) -> BackupFile:
        """Write a table's list of files."""
        return self._write(f"lists/{self.attempt}/{table}.jsonl", format_file_list(files))

    def locate(self, path: str) -> str:
        """Return where a file that is written once is stored, by its path in the lake."""
        return f"{_DATA}/{path}"

    def write_changing(self, path: str, content: bytes) -> BackupFile:
        """Write a file that its table rewrites in place, by its path in the lake."""
        return self._write(f"changing/{self.attempt}/{path}", content, path)

    def _write(self, stored: str, content: bytes, path: str = "") -> BackupFile:
        self.store.write(stored, content)
        return BackupFile(path, stored, len(content), compute_checksum(content))

    def note_copied(self, files: Sequence[BackupFile]) -> None:
        """Record copied files, so that a later attempt does not copy them again."""
        if files:
            self.store.write(
                f"{_JOURNAL}/{self.attempt}-{self._journaled:06d}.jsonl", format_file_list(files)
            )
            self._journaled += 1

    def complete(self, manifest: Manifest, files: Collection[str], threads: int) -> None:
        """Write the manifest, which makes the backup complete; then delete what it does not need.

        `files` are all stored files that it names.
        """
        self.store.write(MANIFEST, format_manifest(manifest))
        needed = {*files, *(table.listed_in.stored for table in manifest.tables)}
        unneeded = [
            file.path for folder in _OURS for file in self.store.list_files(folder) if file.path not in needed
        ]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(self.store.delete, unneeded))


def _is_lease(path: str) -> bool:
    return path.startswith(f"{OWN_FOLDER}/")
