"""Moves files of a folder to another folder, or deletes them."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import ConfigError, ObjectMissingError, SourceError
from headwater.sources.cleaner import CleanResult, CleanTarget
from headwater.sources.lister import ListedObject
from headwater.sources.local.lister import build_file_etag
from headwater.sources.local.object_store import resolve_key
from headwater.sources.object_store import ObjectRef

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig


class LocalCleaner:
    """Keeps empty folders: a writer may be about to use them."""

    def __init__(self, root: Path, target: CleanTarget) -> None:
        if target.action == "tag":
            raise SourceError("files have no tags", hint="set source.clean_source to move, delete or off")
        self._root = root
        self._target = target

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner.clean`."""
        try:
            # Ensures that the file is inside the folder; a link is removed, not its target.
            resolve_key(ObjectRef("local", str(self._root), listed.key))
            path = self._root / listed.key
            if build_file_etag(path.stat()) != listed.etag:
                return "changed"
            self._act(path, listed.key)
        except (FileNotFoundError, NotADirectoryError, ObjectMissingError):
            return "gone"
        except OSError as error:
            raise SourceError(
                f"{listed.key!r} in {self._root} could not be cleaned: {error}",
                hint="grant the user that runs headwater write permission, or set clean_source to off",
            ) from error
        return "cleaned"

    def close(self) -> None:
        """Do nothing."""

    def _act(self, path: Path, key: str) -> None:
        if self._target.action == "move":
            moved = Path(self._target.move_to) / key
            moved.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink():
                _move(path, moved)
                return
            shutil.copy2(path, moved)
        path.unlink()


def _move(path: Path, moved: Path) -> None:
    try:
        path.replace(moved)
    except OSError:
        if not path.exists():
            raise
        # Another file system: written under a hidden name first, so that no reader sees a partial file.
        partial = moved.with_name(f".{moved.name}.part")
        shutil.copy2(path, partial)
        partial.replace(moved)
        path.unlink()


def build_local_cleaner(source: "SourceConfig") -> LocalCleaner:
    """Build the cleaner of a folder. Raises `ConfigError` if nothing is to be cleaned."""
    if source.type != "local" or source.clean_source == "off":
        raise ConfigError(f"no files to clean: type {source.type!r}, clean_source {source.clean_source!r}")
    return LocalCleaner(source.path, CleanTarget(source.clean_source, str(source.clean_source_move_to or "")))
