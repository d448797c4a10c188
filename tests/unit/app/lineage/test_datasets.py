"""Names of datasets are those that OpenLineage's own library gives the same places."""

from pathlib import Path

import pytest
from openlineage.client.naming import dataset as naming

from headwater.app.lineage.datasets import name_dataset


@pytest.mark.parametrize(
    ("place", "theirs"),
    [
        ("s3a://lake/bronze/orders", naming.S3("lake", "bronze/orders")),
        ("s3://lake/bronze/orders/", naming.S3("lake", "bronze/orders")),
        ("gs://lake/orders", naming.GCS("lake", "orders")),
        ("abfss://data@acme.dfs.core.windows.net/orders", naming.ABFSS("data", "acme", "orders")),
        ("kafka://broker:9092/orders", naming.Kafka("broker", "9092", "orders")),
        ("hdfs://master:8020/lake/orders", naming.HDFS("master", "8020", "/lake/orders")),
        ("/lake/orders", naming.LocalFileSystem("/lake/orders")),
        ("file:///lake/orders", naming.LocalFileSystem("/lake/orders")),
    ],
)
def test_dataset_location_has_its_openlineage_name(place: str, theirs: naming.DatasetNaming) -> None:
    found = name_dataset(place)
    assert (found.namespace, found.name) == (theirs.get_namespace(), theirs.get_name())


def test_bucket_and_local_folder() -> None:
    assert (name_dataset("s3://landing/").namespace, name_dataset("s3://landing/").name) == (
        "s3://landing",
        "/",
    )
    assert name_dataset("lake").name == str(Path("lake").absolute())
