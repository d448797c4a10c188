"""Setting up says how far it is, repeats nothing, and explains a refusal in one sentence."""

import sys
from pathlib import Path

import pytest

import install


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  Downloading pyspark-3.5.8.tar.gz (317.8 MB)", "Downloading pyspark-3.5.8.tar.gz (317.8 MB)"),
        ("Downloading pyarrow (52.5MiB)", "Downloading pyarrow (52.5MiB)"),
        ("  Downloading idna-3.20-py3-none-any.whl (69 kB)", None),
        ("  Downloading wheel.whl (1.3 MB)", None),
        ("Installing collected packages: a, b, c", "installing 3 packages"),
        ("Requirement already satisfied: six", None),
    ],
)
def test_prints_progress_lines_of_the_installer(line: str, shown: str | None) -> None:
    assert install.show_pip(line) == shown


def test_reads_artifacts_and_paths_from_ivy(tmp_path: Path) -> None:
    ivy = install.IvyOutput()
    jars = tmp_path / "jars"
    part = tmp_path / "cache" / "org" / "name" / "jars" / "name.jar.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 2_000_000)
    assert ivy.describe_download() == ""
    assert ivy.show(f"The jars for the packages stored in: {jars}\n") is None
    assert ivy.jars == jars
    assert ivy.show("downloading some://host/a/b/name-1.2.jar ...\n") == "downloading name-1.2.jar"
    assert ivy.describe_download() == ", 2 MB"


@pytest.mark.parametrize(
    ("output", "sentence", "fix"),
    [
        ("ERROR: No matching distribution found for six", "The package index refused", "PIP_INDEX_URL"),
        ("error: Connection refused (os error 111)", "The package index refused", "HTTPS_PROXY"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "its hash differs", "never install it unchecked"),
        ("error: a compiler is missing", "Installing dev failed: error: a compiler", "whole output"),
    ],
)
def test_explains_a_failed_install(tmp_path: Path, output: str, sentence: str, fix: str) -> None:
    said = str(install.explain_install_failure("dev", output, tmp_path / "log"))
    assert sentence in said
    assert fix in said.split("->")[1]


def test_stamp_is_fresh_only_for_its_inputs(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("six==1.17.0")
    stamps = install.Stamps(tmp_path / "stamps.json")
    assert not stamps.is_fresh("dev", install.digest(lock))
    stamps.write("dev", install.digest(lock))
    assert stamps.is_fresh("dev", install.digest(lock))
    lock.write_text("six==1.18.0")
    assert not stamps.is_fresh("dev", install.digest(lock))


def test_a_broken_stamp_only_costs_a_repetition(tmp_path: Path) -> None:
    path = tmp_path / "stamps.json"
    path.write_text("{half")
    assert not install.Stamps(path).is_fresh("dev", "x")


def test_step_prints_logs_and_returns_the_command_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "step.log"
    command = [sys.executable, "-c", "print('seen'); print('unseen'); raise SystemExit(3)"]
    code, output = install.run_step(command, log, lambda line: line.strip() if line == "seen\n" else None)
    assert (code, output, log.read_text()) == (3, "seen\nunseen\n", "seen\nunseen\n")
    assert capsys.readouterr().out == "    seen\n"
