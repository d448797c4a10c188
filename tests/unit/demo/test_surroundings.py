import json
import os
from datetime import datetime

import pytest

from headwater.config.loader import load_settings
from headwater.demo.clouds.s3 import build_notification, write_source
from headwater.demo.landing_zone import LandingZone
from headwater.demo.surroundings import create_workspace, use_emulator_only
from headwater.errors import PlatformError
from headwater.sources.message_parser import parse_message
from tests.fixtures.notification_bodies import s3_record

NOW = datetime(2026, 5, 4, 9, 30)


def test_each_demo_has_a_folder_of_its_own(tmp_path):
    first, second = (create_workspace(tmp_path / "demo", NOW) for _ in range(2))
    assert first.folder != second.folder
    assert first.folder.is_dir()
    assert second.folder.is_dir()


def test_path_that_is_no_folder_is_rejected_with_a_hint(tmp_path):
    (tmp_path / "demo").write_text("")
    with pytest.raises(PlatformError, match="cannot create a folder there") as caught:
        create_workspace(tmp_path / "demo", NOW)
    assert "--dir" in caught.value.hint


def test_written_configuration_is_valid_and_its_lake_is_next_to_it(tmp_path):
    workspace = create_workspace(tmp_path, NOW)
    zone = LandingZone("shop", "http://127.0.0.1:9/0/shop-events")
    workspace.write_config(write_source("http://127.0.0.1:9", zone))
    settings = load_settings(workspace.config_path, {})
    assert settings.lake == str(workspace.folder / "lake")
    modes = {name: (table.effective_mode, table.effective_format) for name, table in settings.tables.items()}
    assert modes == {
        "orders": ("merge", "json"),
        "clicks": ("append", "csv"),
        "products": ("merge", "parquet"),
        "shelf": ("mirror", "json"),
    }


def test_nothing_of_the_users_clouds_counts_during_a_demo_and_all_of_it_after(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "production")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "production.json")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://elsewhere")
    monkeypatch.setenv("HEADWATER__LAKE", "s3a://production")
    monkeypatch.setenv("NO_PROXY", "intranet")
    before = dict(os.environ)
    with use_emulator_only() as environ:
        assert "AWS_PROFILE" not in environ
        assert "AWS_ENDPOINT_URL" not in environ
        assert "AZURE_STORAGE_KEY" not in environ
        assert "GOOGLE_APPLICATION_CREDENTIALS" not in environ
        assert "HEADWATER__LAKE" not in environ
        assert environ["AWS_CONFIG_FILE"] == environ["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
        assert environ["NO_PROXY"] == "intranet,127.0.0.1,localhost"
    assert dict(os.environ) == before


def test_a_notification_for_another_key_is_another_event():
    body = json.dumps({"Records": [s3_record()]})
    (event,) = parse_message(build_notification(body, "orders/gone.json")).events
    assert event.key == "orders/gone.json"
    assert event.event_id != parse_message(body).events[0].event_id
