"""The folder of a JVM's temporary files: what a killed process leaves there, the next one deletes.

An orderly JVM deletes its files. A killed one leaves shuffle files, native libraries and, unless the start
was prepared, a copy of the jars (83 MB): a service that crashes at every start would fill the disk.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

_PROPERTY = "java.io.tmpdir"
_OPTIONS = "spark.driver.extraJavaOptions"
_DEFAULTS = "spark.driver.defaultJavaOptions"
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")

_claimed: list[int] = []
"""Descriptors of lock files: the system releases them with the process, however it ends."""


@lru_cache(maxsize=1)
def claim_temporary_folder() -> Path | None:
    """Return an empty folder for the JVM of this process; the same one at each call.

    It is below the system's folder for temporary files. None if none can be created there.
    """
    parent = Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        found = parent.lstat()
        # Anybody may create files among temporary ones, and under any name.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return None
        return _claim_below(parent)
    except OSError:
        return None


def add_temporary_folder(settings: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a `spark.*` setting with which the JVM puts its temporary files into the claimed folder.

    None if the user has chosen another one, or none can be claimed. Spark's own files also follow
    `spark.local.dir`.
    """
    given = [settings.get(name, "") for name in (_DEFAULTS, _OPTIONS)]
    given += [environ.get(name, "") for name in _VARIABLES]
    if _PROPERTY in " ".join(given):
        return None
    folder = claim_temporary_folder()
    if folder is None:
        return None
    return _OPTIONS, f'{settings.get(_OPTIONS, "")} "-D{_PROPERTY}={folder}"'.strip()


def _claim_below(parent: Path) -> Path:
    """Take the first folder that no running process has, and empty those of all processes that have ended."""
    claimed = None
    for number in count():
        folder = parent / str(number)
        is_new = not folder.exists()
        if (lock := _lock(parent / f"{number}.lock")) is not None:
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)
            if claimed is None:
                _claimed.append(lock)
                folder.mkdir(mode=0o700)
                claimed = folder
            else:
                os.close(lock)
        if claimed is not None and is_new:
            return claimed
    raise AssertionError("unreachable: there is always a further number")


def _lock(path: Path) -> int | None:
    """Return the descriptor of the locked file; None if another process has locked it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
