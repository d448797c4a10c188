"""The sync state of each table in each catalog, in small files of the lake. `status` reads them without
querying a catalog."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from headwater.lake.layout import catalog_notes_path
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system


@dataclass(frozen=True, slots=True)
class SyncNote:
    """The sync state of one table in one catalog. Times are ISO 8601 in UTC, empty for never.

    `completed` is the commit that was last synced; `sent_at` is when a change was last sent. While the sync
    fails, `error` holds the reason and `failing_since` the start.
    """

    catalog: str
    table: str
    completed: str = ""
    sent_at: str = ""
    error: str = ""
    hint: str = ""
    failing_since: str = ""

    def note_success(self, completed: str, now: str, *, has_sent: bool) -> "SyncNote":
        """Return the note after a successful sync of that commit."""
        return SyncNote(self.catalog, self.table, completed, now if has_sent else self.sent_at)

    def note_failure(self, error: str, hint: str, now: str) -> "SyncNote":
        """Return the note after a failed sync."""
        return replace(self, error=error, hint=hint, failing_since=self.failing_since or now)

    def differs_from(self, before: "SyncNote | None") -> bool:
        """True if the note is worth a write. A commit that changed nothing in the catalog is not."""
        return before is None or replace(self, completed="") != replace(before, completed="")


class NoteFolder:
    """The sync notes of a lake. Raises `OSError`."""

    def __init__(self, lake: str, storage_options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(to_uri(catalog_notes_path(lake)), storage_options)

    def write(self, note: SyncNote) -> None:
        """Write or replace a note."""
        if self._system.type_name == "local":
            self._system.create_dir(self._root, recursive=True)
        with self._system.open_output_stream(f"{self._root}/{note.catalog}.{note.table}.json") as file:
            file.write(json.dumps(asdict(note)).encode())

    def read_all(self) -> list[SyncNote]:
        """Return all notes by catalog and table; skips notes that are being written."""
        return sorted(self._iter_notes(), key=lambda note: (note.catalog, note.table))

    def _iter_notes(self) -> Iterator[SyncNote]:
        from pyarrow.fs import FileSelector

        for file in self._system.get_file_info(FileSelector(self._root, allow_not_found=True)):
            with suppress(FileNotFoundError, ValueError, TypeError):
                with self._system.open_input_file(file.path) as opened:
                    content = opened.read()
                yield SyncNote(**json.loads(content))
