"""`StoreIO`: pyiceberg's file access through a `FileStore`, with the credentials of the lake."""

from io import BytesIO
from typing import cast

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from headwater.lake.file_store import FileStore


class StoreIO(FileIO):
    """Small files below the folder of a store, each read and written completely. Raises `LakeError`."""

    def __init__(self, store: FileStore) -> None:
        super().__init__()
        self._store = store

    def new_input(self, location: str) -> InputFile:
        """Return a file to read."""
        return _StoredFile(location, self._store)

    def new_output(self, location: str) -> OutputFile:
        """Return a file to write."""
        return _WrittenFile(location, self._store)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file. Idempotent."""
        name = location if isinstance(location, str) else location.location
        self._store.delete(_find_path(name, self._store))


class _StoredFile(InputFile):
    def __init__(self, location: str, store: FileStore) -> None:
        super().__init__(location)
        self._store = store

    def __len__(self) -> int:
        return len(self._read())

    def exists(self) -> bool:
        return self._store.read_if_there(_find_path(self.location, self._store)) is not None

    def open(self, seekable: bool = True) -> InputStream:
        del seekable
        return cast("InputStream", BytesIO(self._read()))

    def _read(self) -> bytes:
        return self._store.read(_find_path(self.location, self._store))


class _WrittenFile(OutputFile):
    def __init__(self, location: str, store: FileStore) -> None:
        super().__init__(location)
        self._store = store
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def exists(self) -> bool:
        return self.to_input_file().exists()

    def to_input_file(self) -> InputFile:
        return _StoredFile(self.location, self._store)

    def create(self, overwrite: bool = False) -> OutputStream:
        del overwrite
        return cast("OutputStream", _Buffer(self))

    def complete(self, content: bytes) -> None:
        """Write the content."""
        self._size = len(content)
        self._store.write(_find_path(self.location, self._store), content)


class _Buffer(BytesIO):
    """Writes its content when it is closed: a failure in between leaves no file."""

    def __init__(self, file: _WrittenFile) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            self._file.complete(self.getvalue())
        super().close()


def _find_path(location: str, store: FileStore) -> str:
    return location.removeprefix(store.url).lstrip("/")
