"""Checks whether the session's jars are in the local Ivy cache or can be downloaded. Starts no JVM."""

import http.client
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headwater.config.settings import Settings
from headwater.lake.prerequisites.packages import find_needed_jar
from headwater.lake.prerequisites.spark_settings import build_spark_settings

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A jar's Maven coordinate."""

    group: str
    artifact: str
    version: str
    classifier: str = ""

    @classmethod
    def parse(cls, text: str) -> "Coordinate":
        """Parse `group:artifact:version` or `group:artifact:version:classifier`."""
        return cls(*text.split(":", 3))

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def file_name(self) -> str:
        """Return the name of the jar in a Maven repository, and in Ivy's cache."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def maven_path(self) -> str:
        """Return the path relative to the root of a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


@dataclass(frozen=True, slots=True)
class JarPlan:
    """The jars of a session, those not yet cached, and the repositories to download them from.

    `repositories` are URLs in resolution order; empty if the user's Ivy settings file decides.
    """

    wanted: tuple[Coordinate, ...]
    missing: tuple[Coordinate, ...]
    repositories: tuple[str, ...]


def plan_jars(settings: Settings, home: Path, central: str = MAVEN_CENTRAL) -> JarPlan:
    """Plan the jars of the next session; `home` is the user's home folder."""
    spark = build_spark_settings(settings)
    texts = [text.strip() for text in spark.get("spark.jars.packages", "").split(",")]
    wanted = tuple(Coordinate.parse(find_needed_jar(text)) for text in texts if text.count(":") >= 2)
    ivy = Path(spark.get("spark.jars.ivy", home / ".ivy2"))
    missing = tuple(item for item in wanted if _find_here(item, ivy, home / ".m2" / "repository") is None)
    extra = [url.strip() for url in spark.get("spark.jars.repositories", "").split(",") if url.strip()]
    decided_elsewhere = "spark.jars.ivySettings" in spark
    return JarPlan(wanted, missing, () if decided_elsewhere else (*extra, central))


def find_download_size(coordinate: Coordinate, repositories: Sequence[str]) -> int | None:
    """Return the size in bytes of the jar in the first repository that has it (0: unknown), else None.

    Connects directly, because the JVM also ignores proxies in the environment.
    """
    for repository in repositories:
        size = _ask_size(f"{repository.rstrip('/')}/{coordinate.maven_path}")
        if size is not None:
            return size
    return None


def list_found_jars(settings: Settings, home: Path) -> list[Path]:
    """Return the cached files of a session's jars."""
    plan = plan_jars(settings, home)
    ivy = Path(build_spark_settings(settings).get("spark.jars.ivy", home / ".ivy2"))
    found = (_find_here(item, ivy, home / ".m2" / "repository") for item in plan.wanted)
    return [path for path in found if path is not None]


def _find_here(coordinate: Coordinate, ivy: Path, maven: Path) -> Path | None:
    folder = ivy / "cache" / coordinate.group / coordinate.artifact
    name = coordinate.file_name
    paths = (folder / "jars" / name, folder / "bundles" / name, maven / coordinate.maven_path)
    return next((path for path in paths if path.is_file()), None)


def _ask_size(url: str) -> int | None:
    parts = urlsplit(url)
    kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
    connection = kind(parts.netloc, timeout=_ANSWER_SECONDS)
    try:
        connection.request("HEAD", parts.path)
        answer = connection.getresponse()
        return int(answer.headers.get("Content-Length", 0)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
