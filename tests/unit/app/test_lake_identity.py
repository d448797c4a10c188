"""Which source a lake was filled from: what is refused, and which way forward is offered."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from headwater.app.lake_identity import check_format, check_sources, ensure_usable_lake, name_sources
from headwater.app.objects.explain import parse_uri
from headwater.app.scope import build_scope, rename_moved
from headwater.capture.captured_event import CapturedEvent
from headwater.cli.main import app
from headwater.config.settings import Settings
from headwater.errors import UsageError
from tests.fixtures.events import START, build_event
from tests.fixtures.lakes import BUCKET, FIXTURE_LAKE


def build_settings(lake: Path = FIXTURE_LAKE, **source: Any) -> Settings:
    return Settings.model_validate({"source": source, "lake": str(lake), "tables": {"a": {"path": "*.json"}}})


def with_known_bucket(settings: Settings) -> Settings:
    """The bucket of the shipped lake, whose name no configuration may have."""
    return settings.model_copy(update={"source": settings.sources[0].model_copy(update={"bucket": BUCKET})})


def test_a_lake_without_events_takes_any_source(tmp_path: Path) -> None:
    ensure_usable_lake(build_settings(tmp_path / "new", type="s3", bucket="acme"))


def test_a_lake_that_names_no_source_takes_one_of_its_events() -> None:
    ensure_usable_lake(with_known_bucket(build_settings(type="s3", bucket="acme")))


def test_another_bucket_is_refused_and_both_ways_forward_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        ensure_usable_lake(build_settings(type="s3", bucket="acme"))
    assert caught.value.message.endswith(f"was filled from the bucket {BUCKET}; source.bucket is now acme")
    assert f"moved_from: {BUCKET}" in caught.value.hint
    assert "set lake to another location" in caught.value.hint


def test_a_source_can_be_added_but_none_that_has_events_taken_away() -> None:
    known = (
        with_known_bucket(build_settings(type="s3", bucket="acme"))
        .sources[0]
        .model_copy(update={"name": "known"})
    )
    other = build_settings(type="s3", bucket="acme", name="other").sources[0]
    both = build_settings(type="s3", bucket="acme").model_copy(update={"source": (other, known)})
    ensure_usable_lake(both)
    assert name_sources(both) == f"s3:{BUCKET}\ns3:acme"
    third = other.model_copy(update={"name": "third", "bucket": "third"})
    with pytest.raises(UsageError, match="not among the configured sources") as caught:
        ensure_usable_lake(both.model_copy(update={"source": (other, third)}))
    assert "add it to source again" in caught.value.hint
    assert f"moved_from: {BUCKET}" in caught.value.hint


def test_another_bucket_with_the_same_objects_is_taken() -> None:
    ensure_usable_lake(build_settings(type="s3", bucket="acme", moved_from=BUCKET))


def test_a_bucket_does_not_become_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"source\.type is now local") as caught:
        ensure_usable_lake(build_settings(type="local", path=tmp_path))
    assert "moved_from" not in caught.value.hint


def test_another_folder_is_refused(tmp_path: Path) -> None:
    settings = build_settings(type="local", path=tmp_path / "new")
    check_sources(settings, [])
    with pytest.raises(UsageError, match=r"from the folder /old; source\.path is now"):
        check_sources(settings, ["local:/old"])


@pytest.mark.parametrize("known", [{}, {"format": "1"}])
def test_a_lake_of_this_or_an_older_format_is_continued(known: dict[str, str]) -> None:
    check_format("lake", known)


@pytest.mark.parametrize("found", ["2", "17", "1.5"])
def test_a_lake_of_a_newer_format_is_refused(found: str) -> None:
    with pytest.raises(UsageError, match=rf"^the lake s3a://x has format {found}, .*up to 1\n") as caught:
        check_format("s3a://x", {"format": found})
    assert "upgrade headwater" in caught.value.hint


def test_another_prefix_is_the_same_source() -> None:
    ensure_usable_lake(with_known_bucket(build_settings(type="s3", bucket="acme", prefix="in/")))


@pytest.mark.parametrize("command", [["run", "--once"], ["routing", "--apply"], ["verify", "--repair"]])
def test_commands_that_write_exit_with_2(tmp_path: Path, command: list[str]) -> None:
    lake = shutil.copytree(FIXTURE_LAKE, tmp_path / "lake")
    (tmp_path / "landing").mkdir()
    config = tmp_path / "headwater.yaml"
    config.write_text(
        f"source: {{type: local, path: landing}}\nlake: {lake}\ntables: {{a: {{path: '*.json'}}}}\n"
    )
    done = CliRunner().invoke(app, ["-c", str(config), *command])
    assert done.exit_code == 2, done.stderr
    assert "was filled from the bucket /landing" in done.stderr


def test_moved_objects_keep_their_name_in_the_lake() -> None:
    settings = build_settings(type="s3", bucket="new", moved_from="old")
    (source,) = settings.sources
    assert (source.known_location, source.location) == ("old", "new")
    assert build_scope(settings, "a").buckets == {"old"}
    for address in ("s3://new/k#1", "s3://old/k#1", "k#1"):
        assert parse_uri(address, settings) == (source, "k#1")
    captured = [CapturedEvent(build_event(bucket=bucket), START, "m") for bucket in ("new", "other", "old")]
    assert [found.event.bucket for found in rename_moved(settings, captured)] == ["old", "other", "old"]
    renamed = rename_moved(settings, captured[:1])[0]
    assert renamed.event.event_id == captured[2].event.event_id
    assert replace(renamed, event=captured[0].event) == captured[0]


def test_moved_files_are_found_by_either_path(tmp_path: Path) -> None:
    settings = build_settings(type="local", path=tmp_path / "new", moved_from=tmp_path / "old")
    for address in (str(tmp_path / "new/a/k"), str(tmp_path / "old/a/k"), "a/k"):
        assert parse_uri(address, settings) == (settings.sources[0], "a/k")
    with pytest.raises(UsageError, match="not in the source folder"):
        parse_uri(str(tmp_path / "k"), settings)


def test_moved_from_requires_a_name() -> None:
    with pytest.raises(ValidationError):
        build_settings(type="s3", bucket="new", moved_from="")
