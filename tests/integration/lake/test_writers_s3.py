"""Writers of a lake in a bucket see each other, over the real protocol; and the table of DynamoDB's locks."""

import uuid
from pathlib import Path

import boto3
import pytest

from headwater.app.services.lock_check import check_lock
from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.settings import Settings
from headwater.demo.emulator import CREDENTIALS
from headwater.errors import TableBusyError
from headwater.lake.storage_options import build_storage_options
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def test_second_writer_is_refused_while_the_first_is_there(emulator):
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)
    lake = f"s3a://{bucket}/bronze"
    options = build_storage_options(lake, LakeStorageConfig(endpoint=emulator.endpoint))

    def enter(*tables: str):
        return WriterLease(lake, options, Intent("run", "run", tables)).entered(Patience(0))

    def count_leases() -> int:
        listed = emulator.clients.s3.list_objects_v2(Bucket=bucket, Prefix="bronze/_headwater/writers/")
        return sum(found["Key"].endswith(".json") for found in listed.get("Contents", ()))

    with enter("orders", "events") as first:
        first.check()
        with pytest.raises(TableBusyError, match="events: being written by run"), enter("clicks", "events"):
            pass
        with enter("clicks"):
            assert count_leases() == 2
    assert count_leases() == 0
    with enter("orders", "events"):
        pass


def test_table_of_locks_is_asked_for_before_spark_starts(emulator, tmp_path: Path):
    name = f"locks-{uuid.uuid4().hex[:12]}"
    lock = {"provider": "dynamodb", "table": name, "region": "us-east-1", "endpoint": emulator.endpoint}
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path)},
            "lake": "s3a://b/lake",
            "tables": {"t": {"path": "*.json"}},
            "lock": lock,
            "spark": {"packages": "org.apache.hudi:hudi-aws-bundle:1.2.0"},
        }
    )

    def look() -> tuple[str, str]:
        (found,) = (f for f in check_lock(settings, {"HOME": str(tmp_path)}) if f.name == "lock")
        return found.status, found.detail

    assert look() == ("ok", f"DynamoDB table {name} does not exist yet; Hudi creates it")
    client = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=emulator.endpoint)
    create(client, name, "key")
    assert look() == ("ok", f"DynamoDB table {name} exists")
    client.delete_table(TableName=name)
    create(client, name, "id")
    status, detail = look()
    assert (status, "a lock table requires the single key `key`" in detail) == ("problem", True)


def create(client, name: str, key: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
