"""How a session starts from what was prepared; and that nothing changes where nothing was."""

from pathlib import Path

import pytest

from headwater.lake.prerequisites.packages import GCS_PACKAGE
from headwater.lake.prerequisites.prepared_start import PreparedStart, name_jar

HUDI, OTHER = "org.hudi:bundle:1.0", "com.other:thing:2.0"


@pytest.fixture
def prepared(tmp_path: Path) -> PreparedStart:
    found = PreparedStart.find({"HEADWATER_PREPARED": str(tmp_path / "prepared")})
    found.folder.mkdir()
    (found.folder / name_jar(HUDI)).touch()
    return found


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java that brings an archive of its own classes."""
    return write_java(tmp_path / "java")


def write_java(folder: Path, release: str = "17.0.1", *, has_base: bool = True) -> Path:
    (folder / "lib" / "server").mkdir(parents=True)
    (folder / "release").write_text(release)
    if has_base:
        (folder / "lib" / "server" / "classes.jsa").touch()
    return folder


def build_settings(*packages: str, master: str = "local[*]") -> dict[str, str]:
    return {"spark.master": master, "spark.jars.packages": ",".join(packages), "spark.app.name": "a"}


def test_prepared_jars_are_on_the_class_path_and_ivy_is_not_asked(
    prepared: PreparedStart, java_home: Path
) -> None:
    start = prepared.plan(build_settings(HUDI), {}, java_home)
    assert start.settings == {"spark.master": "local[*]", "spark.app.name": "a"}
    assert start.environment == {"SPARK_DIST_CLASSPATH": str(prepared.folder / "org.hudi_bundle-1.0.jar")}


def test_packages_that_are_not_prepared_still_come_by_ivy(prepared: PreparedStart, java_home: Path) -> None:
    start = prepared.plan(build_settings(HUDI, OTHER), {"SPARK_DIST_CLASSPATH": "/own"}, java_home)
    assert start.settings["spark.jars.packages"] == OTHER
    assert start.environment["SPARK_DIST_CLASSPATH"] == f"/own:{prepared.find_jar(HUDI)}"


def test_googles_connector_is_prepared_in_place_of_the_package_that_brings_it(
    prepared: PreparedStart, java_home: Path
) -> None:
    settings = build_settings(HUDI, GCS_PACKAGE)
    assert prepared.plan(settings, {}, java_home).settings["spark.jars.packages"] == GCS_PACKAGE
    name = "com.google.cloud.bigdataoss_gcs-connector-hadoop3-2.2.14-shaded.jar"
    (prepared.folder / name).touch()
    start = prepared.plan(settings, {}, java_home)
    assert "spark.jars.packages" not in start.settings
    assert start.environment["SPARK_DIST_CLASSPATH"].endswith(f"bundle-1.0.jar:{prepared.folder / name}")


CLUSTERS = ["spark://host:7077", "yarn", "k8s://host", "local-cluster[2,1,1024]"]


@pytest.mark.parametrize("master", CLUSTERS)
def test_executors_of_their_own_get_the_prepared_jars_from_the_driver(
    prepared: PreparedStart, java_home: Path, master: str
) -> None:
    jar = str(prepared.find_jar(HUDI))
    start = prepared.plan(build_settings(HUDI, OTHER, master=master), {}, java_home)
    assert start.settings["spark.jars"] == jar
    assert start.settings["spark.jars.packages"] == OTHER
    assert start.environment["SPARK_DIST_CLASSPATH"] == jar


def test_executors_that_have_their_jars_get_none(prepared: PreparedStart, java_home: Path) -> None:
    settings = build_settings(HUDI, OTHER, master="yarn")
    start = prepared.plan(settings, {}, java_home, (HUDI,))
    assert "spark.jars" not in start.settings
    assert start.settings["spark.jars.packages"] == OTHER
    assert start.environment["SPARK_DIST_CLASSPATH"] == str(prepared.find_jar(HUDI))


def test_packages_that_executors_have_are_not_resolved_for_the_driver(
    tmp_path: Path, java_home: Path
) -> None:
    settings = build_settings(HUDI, OTHER, master="yarn")
    start = PreparedStart(tmp_path / "nothing").plan(settings, {}, java_home, (HUDI,))
    assert "spark.jars" not in start.settings
    assert start.settings["spark.jars.packages"] == OTHER


@pytest.mark.parametrize("master", ["local[*]", *CLUSTERS])
def test_hudi_and_the_classes_of_a_users_jar_are_loaded_by_one_loader(
    prepared: PreparedStart, java_home: Path, master: str
) -> None:
    settings = {**build_settings(HUDI, master=master), "spark.jars": "/opt/mergers.jar"}
    start = prepared.plan(settings, {}, java_home)
    assert start.settings["spark.jars"] == f"/opt/mergers.jar,{prepared.find_jar(HUDI)}"
    assert "spark.jars.packages" not in start.settings
    assert start.environment == {}


def test_without_a_prepared_jar_nothing_changes(tmp_path: Path, java_home: Path) -> None:
    settings = build_settings(HUDI)
    start = PreparedStart(tmp_path / "nothing").plan(settings, {"SPARK_SUBMIT_OPTS": "-Da=b"}, java_home)
    assert (start.settings, start.environment) == (settings, {})


def test_archive_option_is_added_to_user_options(prepared: PreparedStart, java_home: Path) -> None:
    archive = prepared.name_archive(java_home)
    archive.touch()
    start = prepared.plan(build_settings(HUDI), {"SPARK_SUBMIT_OPTS": "-Da=b"}, java_home)
    assert start.environment["SPARK_SUBMIT_OPTS"] == f'-Da=b "-XX:SharedArchiveFile={archive}"'


@pytest.mark.parametrize(
    "given", ["-Xshare:off", "-XX:SharedArchiveFile=/own", "-XX:ArchiveClassesAtExit=/x"]
)
def test_who_says_something_about_archives_means_it(
    prepared: PreparedStart, java_home: Path, given: str
) -> None:
    prepared.name_archive(java_home).touch()
    start = prepared.plan(build_settings(HUDI), {"SPARK_SUBMIT_OPTS": given}, java_home)
    assert "SPARK_SUBMIT_OPTS" not in start.environment


@pytest.mark.parametrize("option", ["-javaagent:/a.jar", "-agentpath:/a.so", "-XX:StartFlightRecording=x"])
@pytest.mark.parametrize("place", ["spark.driver.extraJavaOptions", "JAVA_TOOL_OPTIONS"])
def test_a_jvm_with_an_agent_or_a_recording_gets_no_archive(
    prepared: PreparedStart, java_home: Path, option: str, place: str
) -> None:
    prepared.name_archive(java_home).touch()
    start = prepared.plan(build_settings(HUDI) | {place: option}, {place: option}, java_home)
    assert "SPARK_SUBMIT_OPTS" not in start.environment
    assert "SPARK_DIST_CLASSPATH" in start.environment


def test_another_java_gets_none_of_the_archive(
    prepared: PreparedStart, java_home: Path, tmp_path: Path
) -> None:
    prepared.name_archive(java_home).touch()
    newer = write_java(tmp_path / "newer", "17.0.2")
    assert "SPARK_SUBMIT_OPTS" not in prepared.plan(build_settings(HUDI), {}, newer).environment


def test_a_java_without_a_base_uses_the_one_that_was_made_for_it(
    prepared: PreparedStart, tmp_path: Path
) -> None:
    wheel = write_java(tmp_path / "wheel", has_base=False)
    base, archive = prepared.name_base(wheel), prepared.name_archive(wheel)
    assert base is not None
    archive.touch()
    assert "SPARK_SUBMIT_OPTS" not in prepared.plan(build_settings(HUDI), {}, wheel).environment
    base.touch()
    options = prepared.plan(build_settings(HUDI), {}, wheel).environment["SPARK_SUBMIT_OPTS"]
    assert options == f'"-XX:SharedArchiveFile={base}:{archive}"'
    writing = prepared.plan_writing(tmp_path / "new.jsa", {}, wheel)["SPARK_SUBMIT_OPTS"]
    assert f"-XX:ArchiveClassesAtExit={tmp_path / 'new.jsa'}" in writing
    assert f"-XX:SharedArchiveFile={base}" in writing
