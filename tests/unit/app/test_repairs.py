"""What `doctor --fix` repairs, and what it leaves alone."""

from pathlib import Path

from headwater.app.repairs import Repair, apply_repairs, plan_repairs
from headwater.config.settings import Settings
from headwater.errors import PlatformError
from headwater.lake.prerequisites.prepared_start import PreparedStart
from tests.unit.app.test_doctor import write_java

OWN_JARS = {"config": {"spark.jars.packages": ""}}


def build_settings(tmp_path: Path, **changes: object) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "in")},
            "lake": str(tmp_path / "lake"),
            "tables": {"a": {"path": "*.json"}},
            "spark": OWN_JARS,
            **changes,
        }
    )


def test_missing_source_folder_of_a_new_lake_is_created(tmp_path: Path) -> None:
    (repair,) = plan_repairs(build_settings(tmp_path), {})
    assert not (tmp_path / "in").exists()
    (done,) = apply_repairs([repair], lambda _: None)
    assert (tmp_path / "in").is_dir()
    assert (done.name, done.error) == ("source.path", "")
    assert plan_repairs(build_settings(tmp_path), {}) == []


def test_missing_source_folder_of_a_filled_lake_is_left_alone(tmp_path: Path) -> None:
    # It may be unmounted: mirrors would retract the rows of all files that an empty folder lacks.
    (tmp_path / "lake" / "_headwater").mkdir(parents=True)
    assert plan_repairs(build_settings(tmp_path), {}) == []


def test_source_of_a_lake_elsewhere_is_left_alone(tmp_path: Path) -> None:
    assert plan_repairs(build_settings(tmp_path, lake="s3a://acme/lake"), {}) == []


def test_start_is_prepared_once_for_the_java_in_use(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    java = write_java(tmp_path / "java17", "17.0.1")
    environ = {"JAVA_HOME": str(java), "PATH": "", "HEADWATER_PREPARED": str(tmp_path / "prepared")}
    calls: list[str] = []
    settings = build_settings(tmp_path, spark={})
    (repair,) = plan_repairs(settings, environ, lambda: calls.append("prepared"))
    assert "headwater prepare" in repair.action
    apply_repairs([repair], lambda _: None)
    assert calls == ["prepared"]
    archive = PreparedStart.find(environ).name_archive(java)
    archive.parent.mkdir()
    archive.touch()
    assert plan_repairs(settings, environ) == []
    assert plan_repairs(settings, {"PATH": ""} | {"JAVA_HOME": str(tmp_path)}) == []
    assert plan_repairs(build_settings(tmp_path), environ | {"HEADWATER_PREPARED": str(tmp_path)}) == []


def test_failed_repair_is_reported_and_the_others_are_applied(tmp_path: Path) -> None:
    def fail() -> None:
        raise PlatformError("no space", hint="free some")

    def deny() -> None:
        raise PermissionError(13, "Permission denied", "/in")

    calls: list[str] = []
    repairs = [
        Repair("a", "do a", fail),
        Repair("b", "do b", deny),
        Repair("c", "do c", lambda: calls.append("c")),
    ]
    done = apply_repairs(repairs, calls.append)
    assert calls == ["do a", "do b", "do c", "c"]
    assert "no space" in done[0].error
    assert done[1].error == "/in: Permission denied"
    assert done[2].error == ""
