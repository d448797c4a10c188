"""Which of Google's default credentials the JVM is pointed to."""

from pathlib import Path
from typing import Any

import pytest

from headwater.config.settings import Settings
from headwater.lake.prerequisites.google_credentials import find_google_credentials

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
FILE = "application_default_credentials.json"


def build_settings(**source: Any) -> Settings:
    source = {"type": "gcs", "bucket": "landing", "file_system_scheme": "gs", **source}
    return Settings.model_validate({"source": source, "lake": "/lake", "tables": {"t": {"path": "*.json"}}})


@pytest.fixture
def login(tmp_path: Path) -> Path:
    """The file of `gcloud auth application-default login`."""
    file = tmp_path / ".config" / "gcloud" / FILE
    file.parent.mkdir(parents=True)
    file.touch()
    return file


def test_the_file_of_gcloud_is_named_to_the_jvm(login: Path, tmp_path: Path) -> None:
    assert find_google_credentials(build_settings(), {"HOME": str(tmp_path)}) == {VARIABLE: str(login)}
    elsewhere = {"HOME": "/nowhere", "CLOUDSDK_CONFIG": str(login.parent)}
    assert find_google_credentials(build_settings(), elsewhere) == {VARIABLE: str(login)}


def test_named_credentials_and_those_of_the_machine_stay(login: Path, tmp_path: Path) -> None:
    assert find_google_credentials(build_settings(), {"HOME": str(tmp_path), VARIABLE: "/key.json"}) == {}
    assert find_google_credentials(build_settings(), {"HOME": "/nowhere"}) == {}


def test_a_session_without_cloud_storage_is_given_none(login: Path, tmp_path: Path) -> None:
    settings = build_settings(file_system_scheme=None)
    assert find_google_credentials(settings, {"HOME": str(tmp_path)}) == {}
