"""The `lineage` section: one place for the events, and no secrets."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\nlineage: "


def test_relative_file_resolves_from_the_configuration() -> None:
    settings = parse_settings(BASE + "{file: lineage.jsonl}", Path("/shop/headwater.yaml"), {})
    assert settings.lineage is not None
    assert settings.lineage.file == Path("/shop/lineage.jsonl")


def test_no_lineage_is_sent_by_default() -> None:
    text = BASE.removesuffix("lineage: ")
    assert parse_settings(text, Path("/shop/headwater.yaml"), {}).lineage is None


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        ("{namespace: shop}", "lineage", "neither `url` nor `file`"),
        ("{url: 'http://a:1', file: b}", "lineage.file", "cannot be combined with `url`"),
        ("{url: 'marquez:5000'}", "lineage.url", "is not a valid URL; write"),
        ("{url: 'http://marquez:many'}", "lineage.url", "is not a valid URL; write"),
        ("{file: b, endpoint: v2}", "lineage.endpoint", "not applicable with `file`"),
        ("{file: lake/b.jsonl}", "lineage.file", "is inside the lake"),
        ("{file: landing/b.jsonl}", "lineage.file", "is inside the source folder"),
        ("{url: 'http://me:pass@marquez'}", "lineage.url", "secrets are not allowed"),
        ("{url: 'http://marquez', api_key: k}", "lineage.api_key", "secrets are not allowed"),
        ("{urll: 'http://marquez'}", "lineage.urll", "url"),
    ],
)
def test_invalid_settings_are_reported_before_start(given: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_settings(BASE + given, Path("/shop/headwater.yaml"), {})
    lines = [line for line in str(raised.value).splitlines() if f" {key}: " in line]
    assert any(said in line for line in lines), str(raised.value)
