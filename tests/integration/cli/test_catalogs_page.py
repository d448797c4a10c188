"""The examples of docs/how-to/catalogs.md: a table in a bucket and Glue, both on the emulator."""

import re
import shlex
from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.demo.emulator import CREDENTIALS
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.lakes import FIXTURE_LAKE

PAGE = (Path(__file__).parents[3] / "docs/how-to/catalogs.md").read_text("utf-8")
CONFIGURATION = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
EXAMPLES = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command, shown in re.findall(r"\$ headwater (.*?)\n((?:(?!\$ ).*\n)*)", block)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emulator: EmulatorSession) -> Path:
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL_GLUE": emulator.endpoint}.items():
        monkeypatch.setenv(name, value)
    emulator.clients.s3.create_bucket(Bucket="acme-lake")
    root = FIXTURE_LAKE / "orders_cow"
    for path in root.rglob("*"):
        if path.is_file():
            key = f"bronze/orders/{path.relative_to(root)}"
            emulator.clients.s3.put_object(Bucket="acme-lake", Key=key, Body=path.read_bytes())
    (tmp_path / "headwater.yaml").write_text(
        CONFIGURATION + f"lake_storage: {{endpoint: '{emulator.endpoint}'}}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_command_output_matches_the_page(emulator: EmulatorSession) -> None:
    assert len(EXAMPLES) == 3
    for command, shown in EXAMPLES:
        done = CliRunner().invoke(app, shlex.split(command))
        assert (done.exit_code, done.stdout) == (0, shown), done.stderr
    glue = boto3.client("glue", region_name="eu-central-1")
    table = glue.get_table(DatabaseName="shop", Name="orders")["Table"]
    # Athena knows no `s3a://`.
    assert table["StorageDescriptor"]["Location"] == "s3://acme-lake/bronze/orders"
    partitions = glue.get_partitions(DatabaseName="shop", TableName="orders")["Partitions"]
    places = sorted(partition["StorageDescriptor"]["Location"] for partition in partitions)
    assert places == ["s3://acme-lake/bronze/orders/region=eu", "s3://acme-lake/bronze/orders/region=us"]
    assert table["StorageDescriptor"]["SerdeInfo"]["Parameters"]["path"] == "s3a://acme-lake/bronze/orders"
