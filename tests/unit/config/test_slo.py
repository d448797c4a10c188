"""The `slo` section: durations in any unit, and combinations that make sense."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.slo import SloConfig
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\n"


def parse(text: str) -> SloConfig:
    return parse_settings(BASE + text, Path("/shop/headwater.yaml"), {}).slo


def test_defaults_are_a_minute_and_a_quarter_of_an_hour() -> None:
    slo = parse("")
    assert (slo.fresh, slo.complete, slo.target) == (60, 900, 0.99)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("{fresh: 90s, complete: 1 hour}", (90, 3600)),
        ("{fresh: 5, complete: off}", (5, 0)),
        ("{fresh: off}", (0, 900)),
    ],
)
def test_durations_are_seconds(given: str, seconds: tuple[float, float]) -> None:
    slo = parse(f"slo: {given}")
    assert (slo.fresh, slo.complete) == seconds


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        ("{fresh: 20m}", "complete", "900 seconds are less than `fresh` (1200)"),
        ("{fresh: 2 days, complete: off}", "fresh", "172800 seconds are too long. Allowed: one day"),
        ("{fresh: soon}", "fresh", "not a duration"),
        ("{target: 0.5}", "target", "0.95"),
        ("{target: 99}", "target", "0.9999"),
        ("{latency: 5s}", "latency", "unknown key"),
    ],
)
def test_invalid_objectives_are_reported(given: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(f"slo: {given}")
    (line,) = raised.value.message.splitlines()
    assert f" slo.{key}: " in line
    assert said in line
