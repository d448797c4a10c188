"""Starts a session from the files of `headwater prepare`, which are stored next to the installation.

Jars on the JVM's own class path need neither Ivy resolution nor a copy. Only their classes can be archived,
so that later JVMs map some ten thousand classes instead of loading and linking them (JEP 350).

CPU seconds to the second commit of a new table: 29 unprepared, 26 with jars, 18 with jars and archive. All
files are optional. Ivy resolves missing jars, and a JVM ignores an archive that does not match.
"""

import hashlib
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.lake.prerequisites.packages import find_needed_jar
from headwater.lake.prerequisites.spark_settings import is_local

FOLDER_VARIABLE = "HEADWATER_PREPARED"
"""Names the folder. By default, it is inside the Python environment and is deleted with it."""

_PACKAGES = "spark.jars.packages"
_JARS = "spark.jars"
_OPTIONS = "SPARK_SUBMIT_OPTS"
# Appended to the class path after Spark's own jars, in the same order as `spark.jars`.
_CLASS_PATH = "SPARK_DIST_CLASSPATH"
# Archive options of the user take precedence.
_ARCHIVE_OPTIONS = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-Xshare")
# Agents inspect each class at load time. Java 17 with an application archive and Flight Recorder crashes with
# SIGSEGV (`check_shared_class_file_load_hook`).
_AGENT_OPTIONS = ("-javaagent", "-agentlib", "-agentpath", "StartFlightRecording")
_JAVA_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", _OPTIONS)


@dataclass(frozen=True, slots=True)
class SparkStart:
    """How to start the JVM: `spark.*` settings and environment variables."""

    settings: Mapping[str, str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PreparedStart:
    """The folder of prepared files, any of which may be missing."""

    folder: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> "PreparedStart":
        """Return the folder, whether it exists or not."""
        given = environ.get(FOLDER_VARIABLE)
        return cls(Path(given) if given else Path(sys.prefix) / "share" / "headwater" / "spark")

    def find_jar(self, package: str) -> Path | None:
        """Return the prepared jar of a `group:artifact:version`, if any."""
        jar = self.folder / name_jar(package)
        return jar if jar.is_file() else None

    def name_base(self, java_home: Path) -> Path | None:
        """Return the path of the archive of Java's own classes; None for a Java that includes one."""
        if (java_home / "lib" / "server" / "classes.jsa").is_file():
            return None
        return self.folder / f"java-{_digest(java_home)}.jsa"

    def name_archive(self, java_home: Path) -> Path:
        """Return the path of the archive of Spark's classes; one per Java, which reads only its own."""
        return self.folder / f"spark-{_digest(java_home)}.jsa"

    def plan(
        self,
        settings: Mapping[str, str],
        environ: Mapping[str, str],
        java_home: Path,
        provided: Collection[str] = (),
    ) -> SparkStart:
        """Plan the start with `settings`, accelerated by the prepared files.

        Executors of another process get the prepared jars from the driver (`spark.jars`), except those of
        the packages in `provided`, which they have. Ivy does not resolve those for the driver, either.
        """
        packages = [text.strip() for text in settings.get(_PACKAGES, "").split(",") if text.strip()]
        jars = {package: str(jar) for package in packages if (jar := self.find_jar(package))}
        resolved = [package for package in packages if package not in jars and package not in provided]
        if resolved == packages:
            return SparkStart(settings, {})
        kept = {name: value for name, value in settings.items() if name != _PACKAGES}
        if resolved:
            kept[_PACKAGES] = ",".join(resolved)
        own = settings.get(_JARS, "")
        sent = [jar for package, jar in jars.items() if package not in provided]
        if sent and (own or not is_local(settings["spark.master"])):
            kept[_JARS] = ",".join(filter(None, (own, *sent)))
        if own and sent:
            # Hudi finds classes of these jars, such as a merger, only if one class loader loads both.
            return SparkStart(kept, {})
        return SparkStart(kept, self._plan_environment(settings, environ, java_home, jars.values()))

    def _plan_environment(
        self,
        settings: Mapping[str, str],
        environ: Mapping[str, str],
        java_home: Path,
        jars: Iterable[str],
    ) -> dict[str, str]:
        environment = {_CLASS_PATH: _join_paths(environ.get(_CLASS_PATH, ""), *jars)}
        given = [settings.get(name, "") for name in _JAVA_OPTIONS]
        given += [environ.get(name, "") for name in _JAVA_VARIABLES]
        if not any(option in " ".join(given) for option in (*_ARCHIVE_OPTIONS, *_AGENT_OPTIONS)):
            environment |= self._plan_options(environ.get(_OPTIONS, ""), java_home)
        return environment

    def plan_writing(self, archive: Path, environ: Mapping[str, str], java_home: Path) -> dict[str, str]:
        """Return variables that make a session's JVM write its loaded classes to `archive` at exit."""
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


def name_jar(package: str) -> str:
    """Return Ivy's name of the file for which a `group:artifact:version` is needed."""
    group, artifact, version = find_needed_jar(package).split(":", 2)
    return f"{group}_{artifact}-{version.replace(':', '-')}.jar"


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
