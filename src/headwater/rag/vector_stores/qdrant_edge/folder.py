"""The files of an index in a folder. Each version is open in one process at a time.

<folder>/<collection>/
    lock      held for milliseconds, while versions are created, opened, made live or removed
    live      the name of the live version
    <version>/
        lock        held by the process that has the version open; its content is the process ID
        spec.json   with it the folder is a version
        state.json  what other processes may know: the last checkpoint, and the number of points then
        shard/
"""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from headwater.errors import HeadwaterError, IndexNotFoundError, IndexUnavailableError, SearchError
from headwater.rag.vector_stores.payload import parse_checkpoint, write_checkpoint_payload
from headwater.rag.vector_stores.protocol import Checkpoint, IndexSpec, VersionState
from headwater.rag.vector_stores.spec import parse_spec, write_spec

_SPEC = "spec.json"
_STATE = "state.json"
_LIVE = "live"
_LOCK = "lock"
LOCK_SECONDS = 10.0


class ClaimedVersion:
    """The folder of a version that this process has claimed, until `release` or its end."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @property
    def shard(self) -> Path:
        """Return the folder of the engine's files."""
        return self.path / "shard"

    def write_state(self, checkpoint: Checkpoint, points: int) -> None:
        """Publish the state to other processes."""
        state = {"checkpoint": write_checkpoint_payload(checkpoint), "points": points}
        _write_file(self.path / _STATE, json.dumps(state))

    def release(self) -> None:
        """Let other processes open the version."""
        os.close(self._lock)


class IndexFolder:
    """All versions of one index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        return sorted(path.parent.name for path in self.path.glob(f"*/{_SPEC}"))

    def find_live(self) -> str | None:
        """Return the live version."""
        try:
            return (self.path / _LIVE).read_text("utf-8")
        except FileNotFoundError:
            return None

    def write_live(self, version: str) -> None:
        """Make a version live atomically."""
        with explained(self.path):
            _write_file(self.path / _LIVE, version)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Exclude other processes inside the block. Raises `IndexUnavailableError` if one does not end."""
        with explained(self.path):
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            until = time.monotonic() + LOCK_SECONDS
            while not _try_lock(lock):
                if time.monotonic() > until:
                    _raise_in_use(f"the index in {self.path}", lock)
                time.sleep(0.02)
            yield
        finally:
            os.close(lock)

    def begin(self, version: str) -> ClaimedVersion:
        """Claim an empty folder for a new version; call it inside `changing`."""
        path = self.path / version
        with explained(path):
            path.mkdir(exist_ok=True)
            claimed = self._claim(version)
            for remaining in path.iterdir():
                if remaining.is_dir():
                    shutil.rmtree(remaining)
                elif remaining.name != _LOCK:
                    remaining.unlink()
        return claimed

    def finish(self, claimed: ClaimedVersion, spec: IndexSpec) -> None:
        """Turn the folder into a version."""
        with explained(claimed.path):
            _write_file(claimed.path / _SPEC, write_spec(spec))

    def claim(self, version: str) -> ClaimedVersion:
        """Claim an existing version; call it inside `changing`.

        Raises `IndexNotFoundError` for an unknown name, `IndexUnavailableError` if another process has it.
        """
        self.check(version)
        return self._claim(version)

    def remove(self, version: str) -> bool:
        """Remove a version; call it inside `changing`. False if another process has it open."""
        try:
            claimed = self._claim(version)
        except IndexUnavailableError:
            return False
        try:
            # A folder without its spec is not a version, even if removing the rest fails.
            (claimed.path / _SPEC).unlink(missing_ok=True)
            shutil.rmtree(claimed.path, ignore_errors=True)
        finally:
            claimed.release()
        return True

    def read_spec(self, version: str) -> IndexSpec:
        """Read the spec of a version."""
        self.check(version)
        with explained(self.path / version):
            return parse_spec((self.path / version / _SPEC).read_text("utf-8"))

    def read_state(self, version: str) -> VersionState | None:
        """Read what the version's last owner has published. Returns None if there is nothing readable."""
        spec = self.read_spec(version)
        try:
            found = json.loads((self.path / version / _STATE).read_text("utf-8"))
            return VersionState(spec, parse_checkpoint(found["checkpoint"]), int(found["points"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def check(self, version: str) -> None:
        """Raise `IndexNotFoundError` for an unknown name."""
        names = self.list_versions()
        if version not in names:
            raise IndexNotFoundError(
                f"the index in {self.path} has no version {version!r}; "
                f"versions: {', '.join(names) or 'none'}",
                hint="run headwater index build",
            )

    def _claim(self, version: str) -> ClaimedVersion:
        path = self.path / version
        with explained(path):
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            if not _try_lock(lock):
                try:
                    _raise_in_use(f"version {version} of the index in {self.path}", lock)
                finally:
                    os.close(lock)
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        return ClaimedVersion(path, lock)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Convert errors of the engine or the disk inside the block to a `SearchError`."""
    try:
        yield
    except HeadwaterError:
        raise
    # The engine raises plain `Exception`.
    except Exception as error:
        raise SearchError(
            f"cannot use the index in {folder}: {error}",
            hint="check for a full disk; if the folder is corrupt, remove it and run headwater index build",
        ) from error


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _raise_in_use(what: str, lock: int) -> NoReturn:
    owner = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "another process"
    raise IndexUnavailableError(
        f"{what} is in use by process {owner}",
        hint="one process has it open, and `headwater serve` syncs it itself; `headwater index build`, "
        "`rollback` and `status` work at the same time; for several servers, set search.store.type: qdrant "
        "or pgvector",
    )


def _write_file(path: Path, text: str) -> None:
    """Write the file atomically."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
