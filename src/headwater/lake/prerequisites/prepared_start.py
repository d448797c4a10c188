"""What `headwater prepare` keeps beside the installation, and how a session on this machine starts from it.

Jars on the JVM's own class path are neither resolved by Ivy nor copied, and only classes from there can be
kept in an archive that later JVMs map instead of reading, checking and linking some ten thousand classes
(JEP 350). Measured, to the second commit of a new table: 29 CPU seconds without, 26 with the jars, 18 with
both. Nothing needs it: what is not there comes by Ivy, and a JVM passes over an archive that does not fit.
"""

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "HEADWATER_PREPARED"
"""Names the folder; else it is in the Python environment, and goes when that goes."""

_PACKAGES = "spark.jars.packages"
_OPTIONS = "SPARK_SUBMIT_OPTS"
# Goes to the end of the class path, below Spark's own jars: the order that `spark.jars` has, too.
_CLASS_PATH = "SPARK_DIST_CLASSPATH"
# Who already says something about archives means it.
_ARCHIVE_OPTIONS = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-Xshare")
# What looks at each class as it is loaded: Java 17 with an archive of the application's classes and its own
# recorder ends in a SIGSEGV (`check_shared_class_file_load_hook`).
_AGENT_OPTIONS = ("-javaagent", "-agentlib", "-agentpath", "StartFlightRecording")
_JAVA_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", _OPTIONS)


@dataclass(frozen=True, slots=True)
class SparkStart:
    """How the JVM is started: `spark.*` settings, and variables of its environment."""

    settings: Mapping[str, str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PreparedStart:
    """The folder with what was prepared; any part of it may be missing."""

    folder: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> "PreparedStart":
        """Where it is, or would be."""
        given = environ.get(FOLDER_VARIABLE)
        return cls(Path(given) if given else Path(sys.prefix) / "share" / "headwater" / "spark")

    def find_jar(self, package: str) -> Path | None:
        """The jar of a `group:artifact:version`, if it was prepared."""
        jar = self.folder / name_jar(package)
        return jar if jar.is_file() else None

    def name_base(self, java_home: Path) -> Path | None:
        """Where the archive of Java's own classes is; None for a Java that brings one."""
        if (java_home / "lib" / "server" / "classes.jsa").is_file():
            return None
        return self.folder / f"java-{_digest(java_home)}.jsa"

    def name_archive(self, java_home: Path) -> Path:
        """Where the archive of what Spark loads is: one for each Java, which reads only its own."""
        return self.folder / f"spark-{_digest(java_home)}.jsa"

    def plan(self, settings: Mapping[str, str], environ: Mapping[str, str], java_home: Path) -> SparkStart:
        """The start with `settings`, made quicker by what is there.

        Executors in processes of their own get their jars from Spark, so that only `local` is changed. Hudi
        finds classes of `spark.jars`, such as a merger, only if Spark loads both.
        """
        packages = [text.strip() for text in settings.get(_PACKAGES, "").split(",") if text.strip()]
        jars = {package: jar for package in packages if (jar := self.find_jar(package))}
        if not jars or settings.get("spark.jars") or not is_local(settings["spark.master"]):
            return SparkStart(settings, {})
        others = {_PACKAGES: ",".join(package for package in packages if package not in jars)}
        kept = {name: value for name, value in settings.items() if name != _PACKAGES}
        environment = {_CLASS_PATH: _join_paths(environ.get(_CLASS_PATH, ""), *map(str, jars.values()))}
        given = [settings.get(name, "") for name in _JAVA_OPTIONS]
        given += [environ.get(name, "") for name in _JAVA_VARIABLES]
        if not any(option in " ".join(given) for option in (*_ARCHIVE_OPTIONS, *_AGENT_OPTIONS)):
            environment |= self._plan_options(environ.get(_OPTIONS, ""), java_home)
        return SparkStart(kept | (others if others[_PACKAGES] else {}), environment)

    def plan_writing(self, archive: Path, environ: Mapping[str, str], java_home: Path) -> dict[str, str]:
        """Variables with which a session's JVM writes what it has loaded to `archive` when it ends."""
        options = _add_option(environ.get(_OPTIONS, ""), f"-XX:ArchiveClassesAtExit={archive}")
        if base := self.name_base(java_home):
            options = _add_option(options, f"-XX:SharedArchiveFile={base}")
        return {_OPTIONS: options}

    def _plan_options(self, given: str, java_home: Path) -> dict[str, str]:
        archive, base = self.name_archive(java_home), self.name_base(java_home)
        parts = [archive] if base is None else [base, archive]
        if not all(part.is_file() for part in parts):
            return {}
        return {_OPTIONS: _add_option(given, f"-XX:SharedArchiveFile={_join_paths(*map(str, parts))}")}


def is_local(master: str) -> bool:
    """Whether driver and executors are one JVM."""
    return master == "local" or master.startswith("local[")


def name_jar(package: str) -> str:
    """The file's name as Ivy has it, for a `group:artifact:version`."""
    group, artifact, version = package.split(":", 2)
    return f"{group}_{artifact}-{version}.jar"


def _add_option(given: str, option: str) -> str:
    return f'{given} "{option}"'.strip()


def _join_paths(*paths: str) -> str:
    return os.pathsep.join(filter(None, paths))


def _digest(java_home: Path) -> str:
    try:
        release = (java_home / "release").read_bytes()
    except OSError:
        release = str(java_home).encode()
    return hashlib.sha256(release).hexdigest()[:12]
