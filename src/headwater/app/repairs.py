"""`doctor --fix`: repairs that are safe on this machine. No data and no resource of a cloud is changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.app.lake_check import find_local_path
from headwater.config.settings import Settings
from headwater.config.source import LocalSourceConfig
from headwater.errors import HeadwaterError, PlatformError
from headwater.lake.layout import OWN_FOLDER
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.prepared_start import PreparedStart

_ARCHIVES_SINCE = 13
_JARS = "spark.jars.packages"


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair: `name` is that of the finding, `action` an imperative sentence."""

    name: str
    action: str
    apply: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a repair; `error` is empty if it was successful."""

    name: str
    action: str
    error: str = ""


def plan_repairs(
    settings: Settings, environ: Mapping[str, str], prepare: Callable[[], None] | None = None
) -> list[Repair]:
    """Return the repairs that this machine needs. Changes nothing.

    `prepare` replaces `headwater prepare`.
    """
    return [
        *_plan_folders(settings),
        *_plan_start(settings, environ, prepare or (lambda: _prepare(settings, environ))),
    ]


def apply_repairs(repairs: Sequence[Repair], on_start: Callable[[str], None]) -> list[Repaired]:
    """Apply all repairs, also after one that fails; calls `on_start` with each action."""
    done = []
    for repair in repairs:
        on_start(repair.action)
        try:
            repair.apply()
        except HeadwaterError as error:
            done.append(Repaired(repair.name, repair.action, str(error)))
        except OSError as error:
            done.append(Repaired(repair.name, repair.action, f"{error.filename}: {error.strerror}"))
        else:
            done.append(Repaired(repair.name, repair.action))
    return done


def _plan_folders(settings: Settings) -> Iterator[Repair]:
    """Plan to create missing source folders of a lake that has ingested nothing yet.

    A missing folder of a filled lake may be unmounted. An empty folder in its place would count as a source
    whose files were all removed, and mirrors would retract their rows.
    """
    lake = find_local_path(settings.lake)
    if lake is None or (lake / OWN_FOLDER).exists():
        return
    for source in settings.sources:
        if isinstance(source, LocalSourceConfig) and not source.path.exists():
            yield Repair("source.path", f"create the folder {source.path}", _build_creation(source.path))


def _build_creation(path: Path) -> Callable[[], None]:
    return lambda: path.mkdir(parents=True, exist_ok=True)


def _plan_start(
    settings: Settings, environ: Mapping[str, str], prepare: Callable[[], None]
) -> Iterator[Repair]:
    """Plan `headwater prepare`, unless Java is missing or the configuration names its own jars."""
    if _JARS in settings.spark.config:
        return
    try:
        java = find_java(environ)
    except PlatformError:
        return
    archive = PreparedStart.find(environ).name_archive(java.path)
    if java.major >= _ARCHIVES_SINCE and not archive.is_file():
        action = "download Spark's and Hudi's jars (90 MB) and archive their classes: headwater prepare"
        yield Repair("start", action, prepare)


def _prepare(settings: Settings, environ: Mapping[str, str]) -> None:
    from headwater.app.machine.preparation import Cloud, prepare

    schemes: Mapping[Cloud, Sequence[str]] = {"gcs": ("gs://",), "azure": ("abfs://", "abfss://")}
    clouds = [
        cloud
        for cloud, starts in schemes.items()
        if settings.lake.startswith(tuple(starts))
        or any(source.type == cloud and source.file_system_scheme for source in settings.sources)
    ]
    prepare(environ, clouds=clouds)
