"""Where a new table begins, as written in the file."""

from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.errors import ConfigError

HEAD = (
    "source: {type: local, path: source}\nlake: lake\ntables:\n  orders: {path: '*.json', start_from: %s}\n"
)
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def load(folder: Path, start: str) -> object:
    return parse_settings(HEAD % start, folder / "headwater.yaml", {}).tables["orders"].start_from


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("latest", "latest"),
        ("earliest", "earliest"),
        ("", None),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T12:00", NOON),
        ("2026-01-31 13:00:00+01:00", NOON),
        ("2026-01-31", NOON.replace(hour=0)),
    ],
)
def test_a_start_is_a_word_or_a_time_in_utc(tmp_path: Path, start: str, expected: object) -> None:
    assert load(tmp_path, start) == expected


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (
            "lates",
            "'lates' is not allowed. Did you mean 'latest'? Allowed: latest, earliest, or a time such as",
        ),
        ("2026-13-01", "'2026-13-01' is not allowed. Allowed: latest, earliest, or a time such as"),
        ("5", "5 is not allowed. Allowed: latest, earliest, or a time such as"),
    ],
)
def test_anything_else_is_an_error_that_names_what_is_allowed(tmp_path: Path, start: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, start)
    assert f"tables.orders.start_from: {said}" in raised.value.message
