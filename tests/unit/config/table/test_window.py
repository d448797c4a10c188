"""`modified_after` and `modified_before` in the file."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.errors import ConfigError

HEAD = "source: {type: local, path: source}\nlake: lake\ntables:\n  orders: {path: '*.json'%s}\n%s"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("modified_after: 2026-01-01T00:00:00.5Z", "modified_after: a fraction of a second is not allowed"),
        ("modified_after: yesterday", "modified_after: 'yesterday' is not allowed. Allowed: a time such as"),
        (
            "modified_after: 2026-01-02, modified_before: 2026-01-02T00:00Z",
            "modified_before: must be later than `modified_after`",
        ),
    ],
)
def test_a_window_that_no_object_can_be_in_is_an_error(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_settings(HEAD % (f", {keys}", ""), tmp_path / "headwater.yaml", {})
    assert f"tables.orders.{said}" in raised.value.message


def test_a_derived_table_has_no_window(tmp_path: Path) -> None:
    derived = "  silver: {from: orders, modified_after: 2026-01-01}\n"
    with pytest.raises(ConfigError, match=r"silver\.modified_after: cannot be combined with `from: orders`"):
        parse_settings(HEAD % ("", derived), tmp_path / "headwater.yaml", {})
