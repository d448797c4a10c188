"""Addresses of blobs; the rest of the source is in the contract tests."""

import pytest

from headwater.config.source import AzureSourceConfig
from headwater.errors import UsageError
from headwater.sources.azure.source import AzureSource

QUEUE = {"name": "events"}


def build() -> AzureSource:
    config = {"type": "azure", "account": "acmelake", "container": "landing", "queue": QUEUE}
    return AzureSource(AzureSourceConfig.model_validate(config))


@pytest.mark.parametrize(
    "address",
    [
        "a b/ü#1?.json",
        "abfs://landing/a b/ü#1?.json",
        "az://landing/a b/ü#1?.json",
        "abfss://landing@acmelake.dfs.core.windows.net/a b/ü#1?.json",
        "https://acmelake.blob.core.windows.net/landing/a%20b/%C3%BC%231%3F.json",
        "http://127.0.0.1:10000/acmelake/landing/a%20b/%C3%BC%231%3F.json",
    ],
)
def test_every_form_of_an_address_names_the_blob(address: str) -> None:
    assert build().parse_address(address) == "a b/ü#1?.json"


@pytest.mark.parametrize(
    "address",
    [
        "abfs://other/a.json",
        "abfss://landing@other.dfs.core.windows.net/a.json",
        "https://acmelake.blob.core.windows.net/other/a.json",
        "s3://landing/a.json",
    ],
)
def test_an_address_elsewhere_is_rejected(address: str) -> None:
    with pytest.raises(UsageError, match="landing") as raised:
        build().parse_address(address)
    assert "abfs://landing/NAME" in raised.value.hint
