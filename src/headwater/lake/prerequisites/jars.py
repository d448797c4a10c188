"""Are the session's jars on this machine, as Ivy keeps them, or can they be fetched? Starts no JVM."""

import http.client
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headwater.config.settings import Settings
from headwater.lake.prerequisites.spark_settings import build_spark_settings

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A jar's Maven coordinate."""

    group: str
    artifact: str
    version: str

    @classmethod
    def parse(cls, text: str) -> "Coordinate":
        """From `group:artifact:version`."""
        group, artifact, version = text.split(":", 2)
        return cls(group, artifact, version)

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def maven_path(self) -> str:
        """Below the root of a Maven repository."""
        folder = f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"
        return f"{folder}/{self.artifact}-{self.version}.jar"


@dataclass(frozen=True, slots=True)
class JarPlan:
    """What a session will look for: jars, those not yet here, and where they would come from.

    `repositories` are URLs, in the order of asking; empty when a file of the user's decides.
    """

    wanted: tuple[Coordinate, ...]
    missing: tuple[Coordinate, ...]
    repositories: tuple[str, ...]


def plan_jars(settings: Settings, home: Path, central: str = MAVEN_CENTRAL) -> JarPlan:
    """What the next session needs; `home` is the user's folder."""
    spark = build_spark_settings(settings)
    texts = [text.strip() for text in spark.get("spark.jars.packages", "").split(",")]
    wanted = tuple(Coordinate.parse(text) for text in texts if text.count(":") >= 2)
    ivy = Path(spark.get("spark.jars.ivy", home / ".ivy2"))
    missing = tuple(item for item in wanted if _find_here(item, ivy, home / ".m2" / "repository") is None)
    extra = [url.strip() for url in spark.get("spark.jars.repositories", "").split(",") if url.strip()]
    decided_elsewhere = "spark.jars.ivySettings" in spark
    return JarPlan(wanted, missing, () if decided_elsewhere else (*extra, central))


def find_download_size(coordinate: Coordinate, repositories: Sequence[str]) -> int | None:
    """Bytes of the jar at the first repository that has it (0: not told); None when none has it.

    Goes straight to the repository: the JVM does not know of proxies in the environment either.
    """
    for repository in repositories:
        size = _ask_size(f"{repository.rstrip('/')}/{coordinate.maven_path}")
        if size is not None:
            return size
    return None


def list_found_jars(settings: Settings, home: Path) -> list[Path]:
    """The files of those of a session's jars that are on this machine."""
    plan = plan_jars(settings, home)
    ivy = Path(build_spark_settings(settings).get("spark.jars.ivy", home / ".ivy2"))
    found = (_find_here(item, ivy, home / ".m2" / "repository") for item in plan.wanted)
    return [path for path in found if path is not None]


def _find_here(coordinate: Coordinate, ivy: Path, maven: Path) -> Path | None:
    name = f"{coordinate.artifact}-{coordinate.version}.jar"
    folder = ivy / "cache" / coordinate.group / coordinate.artifact
    places = (folder / "jars" / name, folder / "bundles" / name, maven / coordinate.maven_path)
    return next((place for place in places if place.is_file()), None)


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
