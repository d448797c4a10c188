"""`prepare`: stores jars and a class archive alongside the installation, for faster starts."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from headwater.app.application import App
from headwater.app.run import Run
from headwater.config.environment import temporary_environment
from headwater.config.settings import Settings
from headwater.errors import PlatformError
from headwater.lake.jvm import end_session, read_session_settings
from headwater.lake.layout import table_path
from headwater.lake.prerequisites.java import JavaHome, find_java
from headwater.lake.prerequisites.packages import FileSystem, list_packages
from headwater.lake.prerequisites.prepared_start import PreparedStart, name_jar
from headwater.lake.session import build_session
from headwater.lake.table import Table

Cloud = Literal["gcs", "azure"]

_FILE_SYSTEMS: Mapping[Cloud, FileSystem] = {"gcs": "gs", "azure": "abfss"}
# Sources that need these file systems.
_SOURCES: Mapping[Cloud, Mapping[str, object]] = {
    "gcs": {"name": "gcs", "type": "gcs", "bucket": "unused", "file_system_scheme": "gs"},
    "azure": {
        "name": "azure",
        "type": "azure",
        "account": "unused",
        "container": "unused-too",
        "file_system_scheme": "abfss",
        "queue": {"name": "unused"},
    },
}
_ARCHIVES_SINCE = 13
_BASE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Preparation:
    """The prepared files. Without an `archive`, `reason` says why this Java has none."""

    folder: Path
    jars: tuple[Path, ...]
    archive: Path | None
    reason: str | None
    bytes: int
    seconds: float


def prepare(
    environ: Mapping[str, str],
    say: Callable[[str], None] = lambda _: None,
    packages: Sequence[str] = (),
    *,
    clouds: Collection[Cloud] = (),
) -> Preparation:
    """Fetch missing jars, and archive the classes that Spark loads when a pipeline runs.

    `packages` are further Maven coordinates, as in `spark.packages`; `clouds` are those whose file system
    Spark needs, besides S3. Takes about a minute the first time and is immediate afterwards. Calls `say` for
    each step. Raises `PlatformError` without Java, jars, or write permission for the folder.
    """
    started = time.monotonic()
    java, prepared = find_java(environ), PreparedStart.find(environ)
    archive, reason = prepared.name_archive(java.path), None
    own = list_packages({"s3a", *(_FILE_SYSTEMS[cloud] for cloud in clouds)})
    with tempfile.TemporaryDirectory(prefix="headwater-prepare-") as scratch, _explained(prepared.folder):
        prepared.folder.mkdir(parents=True, exist_ok=True)
        if any(prepared.find_jar(package) is None for package in own):
            say(f"Downloading missing jars and copying all jars ({130 if 'gcs' in clouds else 90} MB)")
            _fetch_jars(prepared, java, Path(scratch), own, clouds)
        if missing := [package for package in packages if prepared.find_jar(package) is None]:
            say(f"Downloading {', '.join(missing)}")
            _fetch_packages(prepared, java, Path(scratch), packages)
        if not archive.is_file():
            reason = _explain_no_archive(java)
            if reason is None:
                say("Running a small pipeline to archive the classes that Spark loads")
                reason = _write_archive(prepared, java, environ, Path(scratch))
    jars = tuple(filter(None, map(prepared.find_jar, (*own, *packages))))
    size = sum(path.stat().st_size for path in prepared.folder.iterdir())
    return Preparation(
        prepared.folder, jars, None if reason else archive, reason, size, time.monotonic() - started
    )


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlatformError(
            f"{error.filename or folder}: {error.strerror}",
            hint="run this as the user who installed headwater, or set another folder for all commands: "
            "HEADWATER_PREPARED=FOLDER",
        ) from error


def _fetch_jars(
    prepared: PreparedStart, java: JavaHome, scratch: Path, own: Sequence[str], clouds: Collection[Cloud]
) -> None:
    names = {name_jar(package) for package in own}
    for jar in _resolve(java, scratch, (), clouds):
        if jar.name in names:
            _take(jar, prepared.folder / jar.name)


def _fetch_packages(prepared: PreparedStart, java: JavaHome, scratch: Path, packages: Sequence[str]) -> None:
    """Fetch jars of further packages. The prepared ones are not resolved again, nor what they depend on."""
    jars = _resolve(java, scratch, packages)
    ensure_complete(packages, [jar.name for jar in jars])
    for jar in jars:
        _take(jar, prepared.folder / jar.name)


def ensure_complete(packages: Sequence[str], jars: Iterable[str]) -> None:
    """Raise `PlatformError` if the packages depend on others: a run from prepared jars would lack those."""
    unnamed = sorted(set(jars) - {name_jar(package) for package in packages})
    if unnamed:
        raise PlatformError(
            f"the packages depend on others that are not named: {', '.join(unnamed)}",
            hint="name each of them with --package, and in spark.packages",
        )


def _resolve(
    java: JavaHome, scratch: Path, packages: Sequence[str], clouds: Collection[Cloud] = ()
) -> list[Path]:
    """Start a session, and return the jars that Ivy resolved for it."""
    sources = [_SOURCES[cloud] for cloud in clouds]
    settings = _build_settings(scratch, "s3a://unused", packages, sources)
    spark = build_session(settings, java_home=str(java.path), log_file=scratch / "fetch.log")
    found = read_session_settings(spark).get("spark.jars", "")
    end_session(spark)
    return [Path(unquote(urlsplit(text).path)) for text in found.split(",") if text]


def _take(source: Path, target: Path) -> None:
    # Atomic: a run may start at any moment.
    partial = target.with_suffix(f".{os.getpid()}.partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _explain_no_archive(java: JavaHome) -> str | None:
    if java.major >= _ARCHIVES_SINCE:
        return None
    return f"Java {java.version} does not support class archives; Java 17 does, and starts Spark faster"


def _write_archive(
    prepared: PreparedStart, java: JavaHome, environ: Mapping[str, str], scratch: Path
) -> str | None:
    """Write the archive. Return the reason if it could not be written, else None."""
    base, written = prepared.name_base(java.path), scratch / "spark.jsa"
    if base is not None and not base.is_file() and not _write_base(java, base, scratch):
        return f"{java.path}: this Java has no archive of its own classes"
    with temporary_environment(prepared.plan_writing(written, environ, java.path)):
        _run_sample(environ, scratch)
    if not written.is_file():
        return f"{java.path}: this Java wrote no archive"
    _take(written, prepared.name_archive(java.path))
    return None


def _write_base(java: JavaHome, base: Path, scratch: Path) -> bool:
    written = scratch / "java.jsa"
    command = [str(java.path / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={written}"]
    done = subprocess.run(command, capture_output=True, timeout=_BASE_SECONDS, check=False)
    if done.returncode != 0 or not written.is_file():
        return False
    _take(written, base)
    return True


def _run_sample(environ: Mapping[str, str], scratch: Path) -> None:
    """Create, change and delete objects in tables of both types."""
    source = scratch / "source"
    for name in ("one", "two", "three"):
        _put(source, name, 1)
    app = App(_build_settings(scratch, str(scratch / "lake")), environ=environ)
    _run_once(app)
    _put(source, "one", 2)
    (source / "rows" / "two.json").unlink()
    _run_once(app)
    for name in app.settings.tables:
        Table(app.spark, table_path(app.settings.lake, name)).read().count()
    end_session(app.spark)


def _run_once(app: App) -> None:
    for failure in Run(app).once(threading.Event()).failures.values():
        raise failure


def _put(source: Path, name: str, number: int) -> None:
    rows = "".join(json.dumps({"id": f"{name}-{at}", "number": number * at}) + "\n" for at in range(10))
    for folder in ("rows", "changes"):
        (source / folder).mkdir(parents=True, exist_ok=True)
        (source / folder / f"{name}.json").write_text(rows)


def _build_settings(
    scratch: Path, lake: str, packages: Sequence[str] = (), sources: Sequence[Mapping[str, object]] = ()
) -> Settings:
    (scratch / "source").mkdir(exist_ok=True)
    return Settings.model_validate(
        {
            "source": list(sources) or {"type": "local", "path": str(scratch / "source")},
            "lake": lake,
            "tables": {
                "rows": {"path": "rows/*.json", "mode": "mirror"},
                "changes": {"path": "changes/*.json", "record_key": "id", "table_type": "merge_on_read"},
            },
            "spark": {
                "master": "local[2]",
                "packages": list(packages),
                "config": {"spark.local.dir": str(scratch / "spark")},
            },
        }
    )
