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
        ("   Building pyspark==3.5.8", "Building pyspark==3.5.8"),
        ("Prepared 200 packages in 20.11s", "Prepared 200 packages in 20.11s"),
        (" + zstandard==0.25.0", None),
        ("Requirement already satisfied: six", None),
    ],
)
def test_prints_progress_lines_of_the_installer(line: str, shown: str | None) -> None:
    assert install.show_installer(line) == shown


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


def test_uv_gets_the_mirror_and_certificate_that_pip_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels /more")
    monkeypatch.setenv("PIP_CERT", "/etc/ca.pem")
    settings = install.read_pip_settings()
    assert settings["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert settings["UV_FIND_LINKS"] == "/wheels,/more"
    assert settings["SSL_CERT_FILE"] == "/etc/ca.pem"


def test_pip_installs_what_uv_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$@" > "$0.asked"\n')
    python.chmod(0o755)
    (tmp_path / "bin" / "pip").touch()
    monkeypatch.setattr(install, "CACHE", tmp_path)
    monkeypatch.setattr(install, "find_uv", lambda: "/bin/false")
    install.install_packages(tmp_path, ["-r", "lock.txt"], "dev")
    assert "-m pip install" in (tmp_path / "bin" / "python.asked").read_text()
    assert "uv failed" in capsys.readouterr().out


def test_uv_is_pinned_where_setup_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(install, "CACHE", tmp_path)
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(install, "run_step", lambda command, *_rest: (asked.append(command) or 1, ""))
    assert install.find_uv() is None
    assert asked[0][-1] == str(tmp_path / "uv.txt")
    lines = (tmp_path / "uv.txt").read_text().splitlines()
    assert lines[0].startswith("uv==")
    assert all(line.lstrip().startswith("--hash=sha256:") for line in lines[1:] if "#" not in line)
