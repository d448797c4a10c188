"""What is shown of a table in a bucket is what is shown of the same table in a folder."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.config.lake_storage import LakeStorageConfig
from headwater.demo.emulator import CREDENTIALS
from headwater.errors import LakeError, TableNotFoundError
from headwater.lake import inspection
from headwater.lake.layout import TableAddress
from headwater.lake.storage_options import build_storage_options
from tests.fixtures.inspection.addresses import NOW, find_fixture

TABLES = ("orders_cow", "orders_mor", "odd_partitions", "archived", "managed")


@pytest.fixture(scope="module")
def bucket(emulator) -> str:
    name = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=name)
    for table in TABLES:
        root = Path(find_fixture(table).path)
        for path in root.rglob("*"):
            if path.is_file():
                key = f"bronze/{table}/{path.relative_to(root)}"
                emulator.clients.s3.put_object(Bucket=name, Key=key, Body=path.read_bytes())
    return name


@pytest.fixture
def find_stored(emulator, bucket, monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)

    def find(table: str, bucket: str = bucket) -> TableAddress:
        lake = f"s3a://{bucket}/bronze"
        options = build_storage_options(lake, LakeStorageConfig(endpoint=emulator.endpoint))
        return TableAddress(table, f"{lake}/{table}", options)

    return find


@pytest.mark.parametrize("table", TABLES)
def test_output_is_the_same_as_on_local_disk(find_stored, table):
    there, here = find_stored(table), find_fixture(table)
    actions = [inspection.list_actions(address, NOW, archived=True) for address in (there, here)]
    assert actions[0] == actions[1]
    layouts = [inspection.read_layout(address, older=True, rows=True) for address in (there, here)]
    assert layouts[0] == layouts[1]
    assert inspection.list_partitions(there) == inspection.list_partitions(here)
    assert inspection.read_growth(there) == inspection.read_growth(here)
    assert replace(inspection.describe(there, NOW), path=here.path) == inspection.describe(here, NOW)
    newest, *_ = inspection.list_commits(here, NOW, limit=1)
    assert inspection.load_commit(there, newest.instant, NOW) == inspection.load_commit(
        here, newest.instant, NOW
    )


def test_absent_table_is_reported(find_stored):
    with pytest.raises(TableNotFoundError, match="no Hudi table exists there"):
        inspection.describe(find_stored("coming"), NOW)


def test_absent_bucket_is_reported(find_stored):
    with pytest.raises(LakeError, match="the bucket does not exist"):
        inspection.list_actions(find_stored("orders_cow", "not-there"), NOW)
