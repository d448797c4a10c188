"""What a killed process left among the JVM's temporary files is deleted; what others use is not."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.lake.prerequisites import temporary_folder
from headwater.lake.prerequisites.temporary_folder import add_temporary_folder, claim_temporary_folder

OTHER = """
import sys, time
from headwater.lake.prerequisites.temporary_folder import claim_temporary_folder
folder = claim_temporary_folder()
(folder / "spark-1").mkdir()
(folder / "spark-1/jar").write_bytes(b"0" * 1000)
print(folder, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    locks: list[int] = []
    monkeypatch.setattr(temporary_folder, "_claimed", locks)
    claim_temporary_folder.cache_clear()
    yield tmp_path / f"headwater-{os.getuid()}"
    claim_temporary_folder.cache_clear()
    for lock in locks:
        os.close(lock)


def start_other() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_folder_of_a_killed_process_is_emptied_and_those_of_others_are_not(parent: Path) -> None:
    (first, killed), (second, used), (third, also_killed) = start_other(), start_other(), start_other()
    try:
        assert [folder.relative_to(parent).name for folder in (killed, used, also_killed)] == ["0", "1", "2"]
        kill(first)
        kill(third)
        claimed = claim_temporary_folder()
        assert claimed == killed
        assert list(claimed.iterdir()) == []
        assert (used / "spark-1/jar").exists()
        assert not also_killed.exists()
        assert claim_temporary_folder() == claimed
    finally:
        for process in (first, second, third):
            kill(process)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_somebody_else_may_have_put_there_is_not_used(parent: Path, kind: str) -> None:
    if kind == "link":
        parent.symlink_to(parent.parent)
    else:
        parent.touch()
    assert claim_temporary_folder() is None
    assert add_temporary_folder({}, {}) is None


def test_the_jvm_gets_the_folder_after_the_options_of_the_user(parent: Path) -> None:
    options = {"spark.driver.extraJavaOptions": "-Dmine=1"}
    expected = f'-Dmine=1 "-Djava.io.tmpdir={parent / "0"}"'
    assert add_temporary_folder(options, {}) == ("spark.driver.extraJavaOptions", expected)


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        ({"spark.driver.extraJavaOptions": "-Djava.io.tmpdir=/data"}, {}),
        ({"spark.driver.defaultJavaOptions": "-Djava.io.tmpdir=/data"}, {}),
        ({}, {"JAVA_TOOL_OPTIONS": "-Djava.io.tmpdir=/data"}),
    ],
)
def test_a_folder_that_the_user_chose_stays(settings, environ) -> None:
    assert add_temporary_folder(settings, environ) is None
