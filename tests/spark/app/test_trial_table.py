"""The table that `headwater doctor --spark` writes."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.trial_table import try_table
from headwater.config.settings import Settings
from headwater.errors import LakeNotWritableError


def build_app(spark: SparkSession, lake: str) -> App:
    settings = Settings.model_validate(
        {"source": {"type": "local", "path": "/in"}, "lake": lake, "tables": {"a": {"path": "*.json"}}}
    )
    return App(settings, environ={}, spark=spark)


def test_a_tiny_table_is_written_read_and_removed(spark: SparkSession, lake: str) -> None:
    assert try_table(build_app(spark, lake)) > 0
    assert [path for path in Path(lake).rglob("*") if path.is_file()] == []


def test_lake_without_write_access_is_reported(spark: SparkSession, lake: str) -> None:
    Path(lake).write_text("in the way")
    with pytest.raises(LakeNotWritableError):
        try_table(build_app(spark, lake))
