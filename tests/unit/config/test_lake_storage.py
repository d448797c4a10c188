"""Which keys of `lake_storage` fit the lake, and the one endpoint that Spark has for Cloud Storage."""

from typing import Any

import pytest
from pydantic import ValidationError

from headwater.config.settings import Settings


def build(storage: dict[str, Any], lake: str = "gs://acme-lake/bronze", **source: Any) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "gcs", "bucket": "landing", **source},
            "lake": lake,
            "lake_storage": storage,
            "tables": {"t": {"path": "*.json"}},
        }
    )


@pytest.mark.parametrize("key", [{"region": "eu-west-1"}, {"path_style": True}])
def test_keys_of_s3_are_rejected_for_a_lake_in_cloud_storage(key: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="applies only to a lake at s3a://"):
        build(key)
    build(key, "s3a://acme-lake")


def test_spark_has_one_endpoint_of_cloud_storage() -> None:
    own, other = {"endpoint": "http://127.0.0.1:1"}, {"endpoint": "http://127.0.0.1:2"}
    build(own, **own, file_system_scheme="gs")
    build(own, **other)
    build({}, "/lake", **other, file_system_scheme="gs")
    with pytest.raises(ValidationError, match="Spark has one endpoint for all buckets of Cloud Storage"):
        build(own, **other, file_system_scheme="gs")
