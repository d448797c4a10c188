"""`source: {type: gcs}`: what may be combined, and what is said of the rest."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.config.source import GcsSourceConfig
from headwater.errors import ConfigError

PATH = Path("/nowhere/headwater.yaml")
REST = "\ntables: {t: {path: '*.json'}}\n"


def parse(options: str, *, lake: str = "gs://acme-lake/bronze", installed: bool = True) -> Settings:
    source = f"source: {{type: gcs, bucket: acme, {options}}}\nlake: {lake}"
    return parse_settings(source + REST, PATH, environ={}, installed=lambda _: installed)


def find_problem(options: str, *, lake: str = "gs://acme-lake/bronze") -> str:
    with pytest.raises(ConfigError) as caught:
        parse(options, lake=lake)
    return caught.value.message


def test_bucket_and_subscription_suffice() -> None:
    source = parse("subscription: landing").sources[0]
    assert isinstance(source, GcsSourceConfig)
    assert source.address == "gs://acme/"
    assert source.notified_by == {"notifications": "pubsub", "subscription": "landing"}
    # A heartbeat extends fourfold, and Pub/Sub allows ten minutes.
    assert 4 * source.queue.visibility_timeout <= 600


@pytest.mark.parametrize("name", ["landing", "projects/acme/subscriptions/landing", "a.b_c~d+e%f"])
def test_names_of_subscriptions(name: str) -> None:
    assert parse(f"subscription: {name}").sources[0].type == "gcs"


@pytest.mark.parametrize("name", ["projects/acme/topics/landing", "ab", "9landing", "a b c", "https://x/y"])
def test_other_names_are_rejected(name: str) -> None:
    assert "source.subscription" in find_problem(f"subscription: {name}")


def test_the_subscription_has_a_default_name() -> None:
    source = parse("prefix: in/").sources[0]
    assert isinstance(source, GcsSourceConfig)
    assert source.subscription is None
    assert source.notified_by == {"notifications": "pubsub"}


def test_topic_and_labels_can_be_named() -> None:
    source = parse("resources: {topic: landing, labels: {team: data, cost: 12}}").sources[0]
    assert isinstance(source, GcsSourceConfig)
    assert source.resources.labels == {"team": "data", "cost": "12"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("labels: {Team: data}", "'Team'"),
        ("labels: {team: Data}", "lowercase letters"),
        ("labels: {headwater_owner: me}", "reserved prefix"),
        ("labels: {goog-a: b}", "reserved prefix"),
        (f"labels: {{{', '.join(f'l{at}: x' for at in range(61))}}}", "at most 60"),
        ("topic: projects/acme/topics/landing", "source.resources.topic"),
        ("max_delivery_attempts: 4", "source.resources.max_delivery_attempts"),
    ],
)
def test_resources_that_google_rejects_are_rejected(resources: str, expected: str) -> None:
    assert expected in find_problem(f"resources: {{{resources}}}")


def test_an_address_is_no_bucket() -> None:
    text = "source: {type: gcs, bucket: 'gs://acme/in', subscription: landing}\nlake: lake" + REST
    with pytest.raises(ConfigError, match="bucket: acme"):
        parse_settings(text, PATH, environ={}, installed=lambda _: True)


def test_the_extra_is_named_when_it_is_missing() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("subscription: landing", installed=False)
    assert "headwater[gcs]" in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("clean_source: move", "requires a target location"),
        ("clean_source: delete, clean_source_delay: 1m", "too short"),
        ("clean_source: delete, clean_source_move_to: 'gs://other/'", "not applicable"),
        ("clean_source: move, clean_source_move_to: 'gs://acme/in/old'", "inside the source"),
        ("clean_source: move, clean_source_move_to: 'gs://acme-lake/bronze/x'", "inside the lake"),
        ("clean_source: move, clean_source_move_to: 's3://other/'", "clean_source_move_to"),
        ("clean_source: tag", "clean_source"),
        ("moved_from: old", "moved_from"),
    ],
)
def test_what_does_not_fit_is_named(options: str, expected: str) -> None:
    assert expected in find_problem(f"subscription: landing, prefix: in/, {options}")


def test_objects_move_to_another_bucket() -> None:
    source = parse("subscription: landing, clean_source: move, clean_source_move_to: 'gs://old/in'").sources[
        0
    ]
    assert isinstance(source, GcsSourceConfig)
    assert source.clean_source_target == "old/in/"
