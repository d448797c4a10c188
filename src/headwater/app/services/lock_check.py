"""Checks the configured lock: its class in a jar, its server answering, its location writable."""

import os
import socket
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from headwater.app.lake_check import find_local_path
from headwater.config.hudi.lock import LOCK_CLASSES, LockConfig
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.prerequisites.jars import list_found_jars
from headwater.sources.finding import SetupFinding, to_finding

LOCK = "lock"
LOCK_CLASS = "lock.class"
_CONNECT_SECONDS = 5.0


def check_lock(settings: Settings, environ: Mapping[str, str]) -> list[SetupFinding]:
    """Return findings about the lock; none for a lake without one."""
    lock = settings.lock
    if lock is None:
        return []
    home = Path(environ.get("HOME", str(Path.home())))
    return [check_class(settings, lock, home), *_iter_lock_findings(settings, lock)]


def check_class(settings: Settings, lock: LockConfig, home: Path) -> SetupFinding:
    """Check that Hudi's class for this lock is in one of the session's jars."""
    name = LOCK_CLASSES[lock.provider]
    found = list_found_jars(settings, home)
    readable = 0
    for jar in found:
        try:
            with ZipFile(jar) as content:
                readable += 1
                if f"{name.replace('.', '/')}.class" in content.namelist():
                    return SetupFinding(LOCK_CLASS, "ok", f"{name} is in {jar.name}")
        except (OSError, BadZipFile):
            continue
    if not readable:
        fix = "run headwater doctor --spark to download the jars"
        return SetupFinding(LOCK_CLASS, "warning", f"{name} not checked: no jars on this machine yet", fix)
    names = ", ".join(jar.name for jar in found)
    return SetupFinding(
        LOCK_CLASS,
        "problem",
        f"{name} is not in any of {names}",
        "add the package that contains it to spark.packages, or choose another lock.provider",
    )


def _iter_lock_findings(settings: Settings, lock: LockConfig) -> Iterator[SetupFinding]:
    if lock.provider == "in_process":
        yield SetupFinding(LOCK, "ok", "isolates threads of one process, but not several processes")
    elif lock.provider == "file_system":
        yield check_folder(lock.folder or settings.lake)
    elif lock.provider == "storage":
        yield SetupFinding(LOCK, "ok", "its objects are stored in the lake, which is checked separately")
    elif lock.provider == "dynamodb":
        yield check_dynamodb(lock)
    else:
        yield from (check_server(host, port) for host, port in lock.list_servers())


def check_folder(folder: str) -> SetupFinding:
    """Check that the file system lets only one of two processes create a file."""
    path = find_local_path(folder)
    if path is None:
        detail = f"only Spark can check whether {folder} supports atomic file creation"
        return SetupFinding(LOCK, "warning", detail, "run headwater doctor --spark, which uses the lock")
    parent = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    trial = parent / f".headwater-lock-{uuid.uuid4().hex}"
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError as error:
        fix = f"grant this user write permission for {parent}, or set lock.folder to another location"
        return SetupFinding(LOCK, "problem", f"cannot create a file in {parent}: {error.strerror}", fix)
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return SetupFinding(LOCK, "ok", f"{folder}: only one of two writers creates the lock file")
    finally:
        trial.unlink()
    fix = "set lock.folder to a folder on another file system, or use another lock.provider"
    return SetupFinding(LOCK, "problem", f"{parent} lets two writers create the same lock file", fix)


def check_server(host: str, port: int) -> SetupFinding:
    """Check that a server listens there."""
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        fix = "check lock.address, and that the server is running and reachable from this machine"
        return SetupFinding(LOCK, "problem", f"cannot connect to {host}:{port}: {error}", fix)
    return SetupFinding(LOCK, "ok", f"{host}:{port} is reachable")


def check_dynamodb(lock: LockConfig) -> SetupFinding:
    """Check that the table exists or can be created."""
    from headwater.lake.writers.aws import find_lock_table

    try:
        exists = find_lock_table(lock)
    except HeadwaterError as error:
        return to_finding(LOCK, error)
    if exists:
        return SetupFinding(LOCK, "ok", f"DynamoDB table {lock.table} exists")
    return SetupFinding(LOCK, "ok", f"DynamoDB table {lock.table} does not exist yet; Hudi creates it")
