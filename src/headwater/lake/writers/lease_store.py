"""`LeaseStore`: the leases of a lake's writers, one file each."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone

from headwater.lake.layout import writers_path
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system, replace_file
from headwater.lake.writers.lease import Lease, is_alive, parse_lease
from headwater.lake.writers.process import find_process_scope


class LeaseStore:
    """The folder of leases in a lake. All methods raise `OSError`."""

    def __init__(self, lake: str, storage_options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(to_uri(writers_path(lake)), storage_options)
        self._is_local = self._system.type_name == "local"

    def write(self, lease: Lease) -> None:
        """Write or renew a lease. A reader sees the previous content or the new one."""
        if self._is_local:
            self._system.create_dir(self._root, recursive=True)
        replace_file(self._system, self._path(lease.token), lease.to_bytes())

    def has(self, token: str) -> bool:
        """True if the lease still exists."""
        return bool(self._system.get_file_info(self._path(token)).is_file)

    def remove(self, token: str) -> None:
        """Delete a lease. Idempotent."""
        if self.has(token):
            with suppress(FileNotFoundError):
                self._system.delete_file(self._path(token))

    def read_others(self, mine: Lease) -> Iterator[tuple[str, Lease | None, float]]:
        """Yield token, lease and seconds since renewal of other writers, by the file system's clock.

        Raises `FileNotFoundError` if the own lease is missing.
        """
        from pyarrow.fs import FileSelector

        files = {file.base_name: file for file in self._system.get_file_info(FileSelector(self._root))}
        own = files.pop(_name(mine.token), None)
        if own is None:
            raise FileNotFoundError(self._path(mine.token))
        for name, file in files.items():
            if name.endswith(".json"):
                token = name.removesuffix(".json")
                silent = (own.mtime - file.mtime).total_seconds()
                yield token, self._read(token), silent

    def read_living(self) -> Iterator[Lease]:
        """Yield the leases of active writers; none for a lake without leases."""
        from pyarrow.fs import FileSelector

        place, now = find_process_scope(), datetime.now(timezone.utc)
        for file in self._system.get_file_info(FileSelector(self._root, allow_not_found=True)):
            if file.base_name.endswith(".json"):
                lease = self._read(file.base_name.removesuffix(".json"))
                if lease and is_alive(lease, place, (now - file.mtime).total_seconds()):
                    yield lease

    def _read(self, token: str) -> Lease | None:
        try:
            with self._system.open_input_file(self._path(token)) as file:
                return parse_lease(file.read())
        except FileNotFoundError:
            return None

    def _path(self, token: str) -> str:
        return f"{self._root}/{_name(token)}"


def _name(token: str) -> str:
    return f"{token}.json"
