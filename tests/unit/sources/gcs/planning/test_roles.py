"""The three roles have what they need, where they need it."""

from typing import get_args

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.planning.roles import Permissions, build_role_permissions
from headwater.sources.gcs.resource_names import Addresses
from headwater.sources.provisioner import Role

BUCKET = "//storage.googleapis.com/projects/_/buckets/acme"
LAKE = "//storage.googleapis.com/projects/_/buckets/lake"


def build(lake: str = "gs://lake/bronze", **fields: object) -> dict[Role, Permissions]:
    source = GcsSourceConfig.model_validate({"type": "gcs", "bucket": "acme", **fields})
    return build_role_permissions(source, lake, Addresses.of(source, "p"))


def test_each_role_is_granted_on_its_resources() -> None:
    found = build()
    assert tuple(found) == get_args(Role)
    assert set(found["set-up"]) == {"//cloudresourcemanager.googleapis.com/projects/p", BUCKET}
    subscription = "//pubsub.googleapis.com/projects/p/subscriptions/headwater-acme"
    assert set(found["ingest"]) == {subscription, BUCKET, LAKE}
    assert set(found["serve"]) == {LAKE}


def test_a_lake_outside_google_needs_nothing_there() -> None:
    assert LAKE not in build("s3a://lake/bronze")["ingest"]
    assert build("s3a://lake/bronze")["serve"] == {}


def test_only_ingesting_and_cleaning_write() -> None:
    assert "storage.objects.delete" not in build()["ingest"][BUCKET]
    assert "storage.objects.delete" in build()["ingest"][LAKE]
    assert "storage.objects.delete" in build(clean_source="delete")["ingest"][BUCKET]
    assert all("create" not in right for right in build(clean_source="delete")["ingest"][BUCKET])
    moved = build(clean_source="move", clean_source_move_to="gs://archive/landing/")["ingest"]
    archive = "//storage.googleapis.com/projects/_/buckets/archive"
    assert moved[archive] == ["storage.objects.create", "storage.objects.delete"]
    assert not any("delete" in right for right in build()["serve"][LAKE])


def test_source_and_lake_in_one_bucket_have_the_permissions_of_both() -> None:
    found = build("gs://acme/lake")["ingest"][BUCKET]
    assert {"storage.objects.create", "storage.objects.delete", "storage.objects.list"} <= set(found)
