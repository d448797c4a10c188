"""Where the session's jars are looked for. The repository is a server on this machine."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from headwater.config.settings import Settings
from headwater.config.source import GcsSourceConfig
from headwater.lake.prerequisites.jars import Coordinate, find_download_size, plan_jars
from headwater.lake.prerequisites.packages import GCS_CONNECTOR, GCS_PACKAGE, HUDI_BUNDLE, list_excludes
from tests.fixtures.servers.scripted_server import Answer, ScriptedServer, run_scripted_server

HUDI = Coordinate.parse(HUDI_BUNDLE)


def build_settings(lake: str = "/lake", **spark: str) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": "/in"},
            "lake": lake,
            "tables": {"a": {"path": "*.json"}},
            "spark": {"config": spark},
        }
    )


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with run_scripted_server() as script:
        yield script


def test_jars_are_missing_on_a_fresh_machine(tmp_path: Path) -> None:
    plan = plan_jars(build_settings(), tmp_path, "http://central")
    assert plan.missing == plan.wanted == (HUDI,)
    assert plan.repositories == ("http://central",)


@pytest.mark.parametrize(
    "place",
    [
        f".ivy2/cache/{HUDI.group}/{HUDI.artifact}/jars/{HUDI.artifact}-{HUDI.version}.jar",
        f".m2/repository/{HUDI.maven_path}",
    ],
)
def test_jars_are_found_where_ivy_and_maven_keep_them(tmp_path: Path, place: str) -> None:
    touch(tmp_path / place)
    assert plan_jars(build_settings(), tmp_path).missing == ()


def test_configured_ivy_folder_is_searched(tmp_path: Path) -> None:
    touch(tmp_path / f"ivy/cache/{HUDI.group}/{HUDI.artifact}/jars/{HUDI.artifact}-{HUDI.version}.jar")
    settings = build_settings(**{"spark.jars.ivy": str(tmp_path / "ivy")})
    assert plan_jars(settings, tmp_path / "home").missing == ()


def test_an_s3_lake_needs_more_jars(tmp_path: Path) -> None:
    assert len(plan_jars(build_settings("s3a://b/lake"), tmp_path).missing) > 1


def test_large_objects_in_cloud_storage_need_the_shaded_connector(tmp_path: Path) -> None:
    gcs = {"type": "gcs", "bucket": "landing"}
    settings = build_settings()
    assert plan_jars(settings.model_copy(update={"source": GcsSourceConfig(**gcs)}), tmp_path).missing == (
        HUDI,
    )
    source = GcsSourceConfig(**gcs, file_system_scheme="gs")
    settings = settings.model_copy(update={"source": source})
    connector = Coordinate.parse(GCS_CONNECTOR)
    assert plan_jars(settings, tmp_path).missing == (HUDI, connector)
    folder = tmp_path / ".ivy2/cache/com.google.cloud.bigdataoss/gcs-connector/jars"
    touch(folder / f"gcs-connector-{connector.version}-shaded.jar")
    assert plan_jars(settings, tmp_path).missing == (HUDI,)


def test_the_connector_is_that_of_the_pinned_spark() -> None:
    assert GCS_PACKAGE.endswith(f":{version('pyspark')}")


def test_excludes_leave_what_the_other_object_store_needs() -> None:
    assert "org.apache.hadoop:hadoop-aws" in list_excludes({"gs"})
    both = list_excludes({"s3a", "gs"})
    assert "org.apache.hadoop:hadoop-aws" not in both
    assert {"com.amazonaws:aws-java-sdk-bundle", "org.apache.hadoop:hadoop-azure"} <= set(both)
    assert list_excludes(()) == ()


def test_configured_repositories_are_asked_first(tmp_path: Path) -> None:
    settings = build_settings(**{"spark.jars.repositories": "http://mirror"})
    assert plan_jars(settings, tmp_path, "http://central").repositories == ("http://mirror", "http://central")


def test_a_settings_file_decides_by_itself(tmp_path: Path) -> None:
    settings = build_settings(**{"spark.jars.ivySettings": "ivy.xml"})
    assert plan_jars(settings, tmp_path).repositories == ()


def test_the_size_comes_from_the_first_repository_that_has_the_jar(server: ScriptedServer) -> None:
    server.answer = lambda target: Answer(404) if target.startswith("/empty") else Answer(claimed_length=1234)
    repositories = [f"{server.endpoint}/empty", f"{server.endpoint}/full/"]
    assert find_download_size(HUDI, repositories) == 1234
    assert server.targets[-1] == f"/full/{HUDI.maven_path}"


def test_unavailable_jar_has_no_size(server: ScriptedServer) -> None:
    server.answer = lambda _: Answer(404)
    assert find_download_size(HUDI, [server.endpoint, "http://127.0.0.1:9"]) is None
