"""Iceberg views as real processes: killed before the last step; and in a bucket."""

import json
import os
import uuid
from pathlib import Path

import pytest

from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.lake.file_store import FileStore
from headwater.lake.iceberg_view.view import IcebergView
from headwater.lake.layout import TableAddress
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.product import Product
from tests.fixtures.iceberg_readers import read_by_duckdb, read_by_pyiceberg
from tests.fixtures.lakes import FIXTURE_LAKE

TABLE = "archived"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_run_after_a_kill_between_both_commits_shows_all_rows(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    orders = {"path": "*.json", "mode": "mirror", "iceberg": True}
    source = {"type": "local", "path": str(landing)}
    product = Product(tmp_path, source, {"orders": orders}, os.environ)
    address = str(product.lake / "_headwater/iceberg/orders")
    (landing / "a.json").write_text('{"id": 1}\n')
    product.run_once().expect(0)
    assert read_by_duckdb(address, "id") == [{"id": 1}]
    (landing / "b.json").write_text('{"id": 2}\n')
    killed = product.run_once(crash_point="before_view_version")
    assert killed.was_killed, killed.stderr
    assert len(product.records("orders")) == 2
    assert read_by_duckdb(address, "id") == [{"id": 1}]
    view = product.read_json("status")["tables"]["orders"]["iceberg"]
    assert (view["address"], view["lag_commits"], view["error"]) == (address, 1, "")
    assert "iceberg     orders: shows the commit of" in product.command("status").expect(0).stdout
    product.run_once().expect(0)
    assert sorted(row["id"] for row in read_by_duckdb(address)) == [1, 2]
    assert sorted(row["id"] for row in read_by_pyiceberg(address)) == [1, 2]
    found = product.read_json("doctor")
    assert "shows the newest commit" in json.dumps(found)


def test_view_in_a_bucket_has_the_rows_of_the_table(
    emulator: EmulatorSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)
    for path in (FIXTURE_LAKE / TABLE).rglob("*"):
        if path.is_file():
            key = f"bronze/{path.relative_to(FIXTURE_LAKE)}"
            emulator.clients.s3.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
    options = {
        "aws_endpoint": emulator.endpoint,
        "aws_allow_http": "true",
        "aws_region": REGION,
        "aws_access_key_id": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    }
    table = f"s3a://{bucket}/bronze/{TABLE}"
    store = FileStore(f"s3a://{bucket}/bronze/_headwater/iceberg/{TABLE}", lambda: options)
    view = IcebergView(TableAddress(TABLE, table, options), store)
    done = view.update()
    assert done is not None
    assert done.is_changed
    rows = read_by_pyiceberg(
        store.url,
        **{
            "s3.endpoint": emulator.endpoint,
            "s3.access-key-id": CREDENTIALS["AWS_ACCESS_KEY_ID"],
            "s3.secret-access-key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            "s3.region": REGION,
        },
    )
    assert store.url.startswith("s3://")
    assert len(rows) == SnapshotReader(table, options).count_rows() > 0
    again = view.update(at_once=True)
    assert again is not None
    assert not again.is_changed
