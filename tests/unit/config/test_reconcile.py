"""The `reconcile` section: durations as people write them."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.config.source import ReconcileConfig
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\n"


PATH = Path("/nowhere/headwater.yaml")


def parse(text: str) -> Settings:
    return parse_settings(BASE + text, PATH, environ={})


def test_bucket_is_listed_at_start_and_daily_by_default() -> None:
    config = parse("").reconcile
    assert config == ReconcileConfig()
    assert (config.include_existing_files, config.backfill_interval) == (True, 86_400)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("90", 90),
        ("0", 0),
        ("off", 0),
        ("'OFF'", 0),
        ("false", 0),
        ("1 day", 86_400),
        ("12 hours", 43_200),
        ("1.5 Hours", 5_400),
        ("2weeks", 1_209_600),
        ("'30'", 30),
    ],
)
def test_durations_are_seconds_or_a_number_and_a_unit(given: str, seconds: float) -> None:
    assert parse(f"reconcile: {{backfill_interval: {given}}}").reconcile.backfill_interval == seconds


@pytest.mark.parametrize("given", ["soon", "1 fortnight", "-1", "day", "[1]"])
def test_anything_else_is_refused_where_it_stands(given: str) -> None:
    with pytest.raises(ConfigError, match=r"reconcile\.backfill_interval"):
        parse(f"reconcile: {{backfill_interval: {given}}}")


def test_the_name_of_the_table_of_reconciles_is_taken() -> None:
    with pytest.raises(ConfigError, match="one of headwater's own tables"):
        parse_settings(BASE.replace("{t:", "{reconciles:"), PATH, environ={})
