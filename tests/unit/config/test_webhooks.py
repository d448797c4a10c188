"""The `webhooks` section, and the headers that come from the environment."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.webhooks import find_topic, parse_headers
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\nwebhooks: "
TOPIC = "arn:aws:sns:eu-west-1:123456789012:alerts"


def test_one_target_or_several_are_given() -> None:
    text = BASE + f"{{on_commit: 'https://example.com/hook', on_quarantine: ['http://a:1', 'sns:{TOPIC}']}}"
    webhooks = parse_settings(text, Path("/shop/headwater.yaml"), {}).webhooks
    assert webhooks.on_commit == ("https://example.com/hook",)
    assert webhooks.on_quarantine == ("http://a:1", f"sns:{TOPIC}")


def test_topics_are_recognized_with_their_region() -> None:
    assert find_topic(f"sns:{TOPIC}") == find_topic(TOPIC) == (TOPIC, "eu-west-1")
    assert find_topic("https://example.com") is None


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        ("{on_commit: 'example.com/hook'}", "webhooks.on_commit", "neither an HTTP(S) URL nor the ARN"),
        ("{on_commit: 'ftp://example.com'}", "webhooks.on_commit", "neither an HTTP(S) URL nor the ARN"),
        ("{on_commit: 'http://example.com:many'}", "webhooks.on_commit", "neither an HTTP(S) URL"),
        ("{on_quarantine: 'sns:alerts'}", "webhooks.on_quarantine", "neither an HTTP(S) URL nor the ARN"),
        ("{on_quarantine: 'arn:aws:sqs:eu-west-1:123456789012:q'}", "webhooks.on_quarantine", "SNS topic"),
        ("{on_commit: 'http://me:pass@host'}", "webhooks.on_commit", "secrets are not allowed"),
        ("{timeout: 0}", "webhooks.timeout", "0"),
    ],
)
def test_invalid_settings_are_reported_before_start(given: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_settings(BASE + given, Path("/shop/headwater.yaml"), {})
    lines = [line for line in raised.value.message.splitlines() if f" {key}" in line]
    assert any(said in line for line in lines), raised.value.message


def test_headers_are_pairs_with_encoded_values() -> None:
    assert parse_headers("") == {}
    assert parse_headers("Authorization=Bearer%20a%2Cb, X-Team=data,") == {
        "Authorization": "Bearer a,b",
        "X-Team": "data",
    }


@pytest.mark.parametrize("text", ["secret", "=secret", "a=b,my key=secret", "a=secret%0d%0ab", "X: secret"])
def test_invalid_headers_are_named_by_position_only(text: str) -> None:
    with pytest.raises(ValueError, match=r"entry [12] is not NAME=VALUE") as raised:
        parse_headers(text)
    assert "secret" not in str(raised.value)
