"""Which runs end before optimized code is worth its time."""

from pathlib import Path
from typing import Any

import pytest

from headwater.app import brief_run
from headwater.app.brief_run import is_brief
from headwater.config.settings import Settings
from headwater.lake.prerequisites.spark_settings import build_spark_settings

OPTIONS = "spark.driver.defaultJavaOptions"
QUICK = "-XX:TieredStopAtLevel=1"


def build_settings(tmp_path: Path, **changes: Any) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "in")},
            "lake": str(tmp_path / "lake"),
            "tables": {"a": {"path": "*.json"}},
            **changes,
        }
    )


def put(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def test_small_folder_and_small_lake_are_a_brief_run(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.json", 1_000)
    put(tmp_path / "lake" / "a" / "a.parquet", 1_000)
    assert is_brief(build_settings(tmp_path))
    assert is_brief(build_settings(tmp_path / "new"))


@pytest.mark.parametrize("folder", ["in", "lake"])
def test_large_folder_or_large_lake_is_not(tmp_path: Path, folder: str) -> None:
    put(tmp_path / "in" / "a.json", 1_000)
    put(tmp_path / folder / "deep" / "b.json", brief_run.MOST_BYTES)
    assert is_brief(build_settings(tmp_path)) == (folder == "lake")
    put(tmp_path / folder / "deep" / "c.json", 1)
    assert not is_brief(build_settings(tmp_path))


def test_loops_of_links_are_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "two").symlink_to(tmp_path / "in")
    assert not is_brief(build_settings(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"lake": "s3a://acme/lake"},
        {"source": {"type": "s3", "bucket": "acme"}},
        {"spark": {"master": "spark://cluster:7077"}},
        {"tables": {"a": {"from": {"hudi": "s3a://warehouse/a"}, "record_key": "id"}}},
    ],
    ids=["lake", "bucket", "cluster", "outside table"],
)
def test_anything_elsewhere_may_be_large(tmp_path: Path, changes: dict[str, Any]) -> None:
    (tmp_path / "in").mkdir()
    assert not is_brief(build_settings(tmp_path, **changes))


def test_only_a_brief_session_compiles_quickly_and_options_of_the_user_follow(tmp_path: Path) -> None:
    config = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}
    settings = build_settings(tmp_path, spark={"config": config})
    assert QUICK not in build_spark_settings(settings)[OPTIONS]
    built = build_spark_settings(settings, is_brief=True)
    assert built[OPTIONS].endswith(QUICK)
    # Spark puts the default options before the others, and the JVM takes the last one.
    assert built["spark.driver.extraJavaOptions"] == config["spark.driver.extraJavaOptions"]
