"""What `diagnose` and `check_before_run` say of a folder as source; no network, Javas that are scripts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.app.doctor import diagnose, is_healthy
from headwater.app.machine.check import check_jars, check_start, judge_python
from headwater.app.preflight import check_before_run
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, LakeNotWritableError, PlatformError, SourceError
from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.lake.prerequisites.prepared_start import PreparedStart, name_jar

# Port 9 is "discard": nobody listens there.
NO_REPOSITORY = "http://127.0.0.1:9"


def write_java(folder: Path, version: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\necho 'java.home = {folder}' >&2\necho 'java.version = {version}' >&2\n"
    )
    executable.chmod(0o755)
    return folder


def write_jars(home: Path) -> None:
    group, artifact, version = HUDI_BUNDLE.split(":")
    jars = home / ".ivy2" / "cache" / group / artifact / "jars"
    jars.mkdir(parents=True)
    (jars / f"{artifact}-{version}.jar").write_bytes(b"")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine with a Java and the jars."""
    write_jars(tmp_path / "home")
    java = write_java(tmp_path / "java17", "17.0.1")
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": str(tmp_path / "empty"),
        "JAVA_HOME": str(java),
        "HEADWATER_PREPARED": str(tmp_path / "prepared"),
    }


def build_settings(tmp_path: Path, **changes: object) -> Settings:
    (tmp_path / "in").mkdir(exist_ok=True)
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "in")},
            "lake": str(tmp_path / "lake"),
            "tables": {"a": {"path": "*.json"}},
            **changes,
        }
    )


def list_troubles(settings: Settings, environ: dict[str, str]) -> dict[str, str]:
    """Status by name of what is not good; each has a fix."""
    found = diagnose(settings, environ, central=NO_REPOSITORY)
    troubles = [finding for finding in found if finding.status != "ok"]
    assert all(finding.fix for finding in troubles)
    assert is_healthy(found) == all(finding.status == "warning" for finding in troubles)
    return {finding.name: finding.status for finding in troubles}


def test_a_good_machine_has_no_troubles_and_nothing_is_left_behind(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    settings = build_settings(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert list_troubles(settings, environ) == {}
    check_before_run(settings, environ)
    assert sorted(tmp_path.rglob("*")) == before


def test_missing_jars_that_cannot_be_downloaded_are_a_problem(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "empty-home").mkdir()
    environ = {**environ, "HOME": str(tmp_path / "empty-home")}
    assert list_troubles(build_settings(tmp_path), environ) == {"jars": "problem"}


def test_jars_that_a_settings_file_decides_about_are_a_warning(tmp_path: Path) -> None:
    settings = build_settings(tmp_path, spark={"config": {"spark.jars.ivySettings": "ivy.xml"}})
    environ = {"HOME": str(tmp_path), "HEADWATER_PREPARED": str(tmp_path / "prepared")}
    assert check_jars(settings, environ, NO_REPOSITORY).status == "warning"


def test_prepared_jars_need_no_repository_and_prepared_start_is_reported(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "empty-home").mkdir()
    environ = {**environ, "HOME": str(tmp_path / "empty-home")}
    prepared = PreparedStart.find(environ)
    prepared.folder.mkdir()
    (prepared.folder / name_jar(HUDI_BUNDLE)).touch()
    settings = build_settings(tmp_path)
    assert list_troubles(settings, environ) == {}
    assert "headwater prepare" in check_start(environ).detail
    prepared.name_archive(Path(environ["JAVA_HOME"])).touch()
    assert check_start(environ).detail.startswith("prepared: ")


def test_executors_of_a_cluster_get_the_prepared_jars(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "empty-home").mkdir()
    environ = {**environ, "HOME": str(tmp_path / "empty-home")}
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / name_jar(HUDI_BUNDLE)).touch()
    settings = build_settings(tmp_path, spark={"master": "spark://host:7077"})
    assert list_troubles(settings, environ) == {}


def test_driver_without_jars_is_a_warning_if_executors_have_theirs(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "empty-home").mkdir()
    environ = {**environ, "HOME": str(tmp_path / "empty-home")}
    spark = {"master": "spark://host:7077", "executor_jars": "provided"}
    settings = build_settings(tmp_path, spark=spark)
    assert list_troubles(settings, environ) == {"jars": "warning"}
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / name_jar(HUDI_BUNDLE)).touch()
    assert list_troubles(settings, environ) == {}


@pytest.mark.parametrize(
    ("version", "status"),
    [((3, 9, 1), "problem"), ((3, 10, 0), "ok"), ((3, 13, 0), "ok"), ((3, 14, 0), "problem")],
)
def test_python_has_to_be_one_that_pyspark_runs_on(version: tuple[int, int, int], status: str) -> None:
    assert judge_python(version).status == status


def test_lake_on_an_unsupported_file_system_is_left_to_spark(tmp_path: Path, environ: dict[str, str]) -> None:
    settings = build_settings(tmp_path, lake="hdfs://name/lake")
    assert list_troubles(settings, environ) == {"lake": "warning"}
    check_before_run(settings, environ)


def remove_source(tmp_path: Path) -> None:
    (tmp_path / "in").rmdir()


def put_a_file_for_the_source(tmp_path: Path) -> None:
    (tmp_path / "in").rmdir()
    (tmp_path / "in").write_text("a file")


def put_a_file_for_the_lake(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("in the way")


@pytest.mark.parametrize(
    ("spoil", "name", "expected"),
    [
        (remove_source, "source.path", SourceError),
        (put_a_file_for_the_source, "source.path", SourceError),
        (put_a_file_for_the_lake, "lake", LakeNotWritableError),
    ],
)
def test_unusable_locations_are_reported_by_doctor_and_stop_a_run(
    tmp_path: Path,
    environ: dict[str, str],
    spoil: Callable[[Path], None],
    name: str,
    expected: type[HeadwaterError],
) -> None:
    settings = build_settings(tmp_path)
    spoil(tmp_path)
    assert list_troubles(settings, environ) == {name: "problem"}
    with pytest.raises(expected) as caught:
        check_before_run(settings, environ)
    assert type(caught.value) is expected
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_source_that_may_not_be_read_is_a_problem(tmp_path: Path, environ: dict[str, str]) -> None:
    settings = build_settings(tmp_path)
    (tmp_path / "in").chmod(0)
    assert list_troubles(settings, environ) == {"source.path": "problem"}


def test_missing_java_is_reported_and_stops_a_run(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The machine that runs this test may have a Java in one of the usual places.
    monkeypatch.setattr("headwater.lake.prerequisites.java._USUAL_PATHS", ())
    monkeypatch.setattr("headwater.lake.prerequisites.java.is_installed", lambda _: False)
    settings = build_settings(tmp_path)
    environ = {**environ, "JAVA_HOME": str(write_java(tmp_path / "java8", "1.8.0_1"))}
    assert list_troubles(settings, environ) == {"java": "problem"}
    with pytest.raises(PlatformError, match=r"1\.8\.0_1"):
        check_before_run(settings, environ)


def test_files_that_will_be_deleted_for_good_are_a_warning(tmp_path: Path, environ: dict[str, str]) -> None:
    source = {"type": "local", "path": str(tmp_path / "in"), "clean_source": "delete"}
    assert list_troubles(build_settings(tmp_path, source=source), environ) == {
        "source.clean_source": "warning"
    }
    moved = {**source, "clean_source": "move", "clean_source_move_to": str(tmp_path / "archive")}
    assert list_troubles(build_settings(tmp_path, source=moved), environ) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_files_that_may_not_be_taken_away_are_a_problem(tmp_path: Path, environ: dict[str, str]) -> None:
    source = {"type": "local", "path": str(tmp_path / "in"), "clean_source": "delete"}
    settings = build_settings(tmp_path, source=source)
    (tmp_path / "in").chmod(0o500)
    assert list_troubles(settings, environ) == {"source.clean_source": "problem"}


def test_a_table_that_the_next_write_would_refuse_for_its_version_is_a_problem(tmp_path, environ):
    settings = build_settings(tmp_path, tables={"a": {"path": "*.json"}, "b": {"path": "*.json"}})
    for name, version in (("a", 6), ("b", 9)):
        folder = tmp_path / "lake" / name / ".hoodie"
        folder.mkdir(parents=True)
        folder.joinpath("hoodie.properties").write_text(
            f"hoodie.table.name={name}\nhoodie.table.version={version}\nhoodie.table.type=COPY_ON_WRITE\n"
        )
    found = [one for one in diagnose(settings, environ, central=NO_REPOSITORY) if one.name == "table.version"]
    assert [(one.status, one.detail) for one in found] == [
        ("problem", "table a has table version 6; this configuration writes version 9")
    ]
    assert "headwater table a upgrade --dry-run" in str(found[0].fix)


def test_the_tables_of_a_lake_that_does_not_answer_are_not_read(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    settings = build_settings(tmp_path, lake=str(tmp_path / "file" / "lake"))

    def read(_: Settings) -> list[object]:
        raise AssertionError("it was read")

    monkeypatch.setattr("headwater.app.doctor.check_versions", read)
    found = diagnose(settings, environ, central=NO_REPOSITORY)
    assert "lake" in [one.name for one in found if one.status == "problem"]
