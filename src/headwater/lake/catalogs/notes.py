"""What became of each table in each catalog, in small files of the lake: `status` reads them, and asks no
catalog."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from headwater.lake.layout import catalog_notes_path
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system


@dataclass(frozen=True, slots=True)
class SyncNote:
    """One table in one catalog. Times are ISO 8601, UTC; empty for never.

    `completed` is the commit that it was last made equal to, `sent_at` when anything was sent for that. While
    it fails `error` says why, since `failing_since`.
    """

    catalog: str
    table: str
    completed: str = ""
    sent_at: str = ""
    error: str = ""
    hint: str = ""
    failing_since: str = ""

    def note_success(self, completed: str, now: str, *, has_sent: bool) -> "SyncNote":
        """It is as the table was after that commit."""
        return SyncNote(self.catalog, self.table, completed, now if has_sent else self.sent_at)

    def note_failure(self, error: str, hint: str, now: str) -> "SyncNote":
        """It is not yet."""
        return replace(self, error=error, hint=hint, failing_since=self.failing_since or now)

    def tells_more_than(self, before: "SyncNote | None") -> bool:
        """Whether it is worth a write: that a commit changed nothing there is not."""
        return before is None or replace(self, completed="") != replace(before, completed="")


class NoteFolder:
    """The notes of a lake. Raises `OSError`."""

    def __init__(self, lake: str, storage_options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(to_uri(catalog_notes_path(lake)), storage_options)

    def write(self, note: SyncNote) -> None:
        """A new one, or over the older."""
        if self._system.type_name == "local":
            self._system.create_dir(self._root, recursive=True)
        with self._system.open_output_stream(f"{self._root}/{note.catalog}.{note.table}.json") as file:
            file.write(json.dumps(asdict(note)).encode())

    def read_all(self) -> list[SyncNote]:
        """By catalog and table; without those that are being written."""
        return sorted(self._iter_notes(), key=lambda note: (note.catalog, note.table))

    def _iter_notes(self) -> Iterator[SyncNote]:
        from pyarrow.fs import FileSelector

        for file in self._system.get_file_info(FileSelector(self._root, allow_not_found=True)):
            with suppress(FileNotFoundError, ValueError, TypeError):
                with self._system.open_input_file(file.path) as opened:
                    content = opened.read()
                yield SyncNote(**json.loads(content))
