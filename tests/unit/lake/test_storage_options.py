"""Options of readers without a JVM: which store, and whose credentials."""

import pytest

from headwater.config.lake_storage import LakeStorageConfig
from headwater.lake.storage_options import build_storage_options

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
LAKE = "gs://acme-lake/bronze"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_folder_needs_no_options() -> None:
    assert build_storage_options("/lake", LakeStorageConfig()) == {}


def test_cloud_storage_gets_the_file_of_credentials_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_storage_options(LAKE, LakeStorageConfig()) == {}
    monkeypatch.setenv(VARIABLE, "/key.json")
    options = build_storage_options(LAKE, LakeStorageConfig(endpoint="https://storage.example.com"))
    assert options == {
        "google_base_url": "https://storage.example.com",
        "google_application_credentials": "/key.json",
    }


def test_an_emulator_of_cloud_storage_gets_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/key.json")
    options = build_storage_options(LAKE, LakeStorageConfig(endpoint="http://127.0.0.1:4443"))
    assert options["google_skip_signature"] == "true"
    assert "google_application_credentials" not in options
