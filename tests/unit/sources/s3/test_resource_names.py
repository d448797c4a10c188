"""Queue, topic and rule are called after bucket and prefix, within what AWS takes."""

import re

import pytest

from headwater.config.source import S3SourceConfig
from headwater.sources.s3.resource_names import (
    MAX_NAME,
    derive_name,
    name_queue_of,
    name_resources,
    name_rule,
)

SAFE = re.compile(r"[A-Za-z0-9_-]+")


def source(**fields: object) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **fields})


def test_a_bucket_alone_gives_a_name_that_people_can_read() -> None:
    assert derive_name("acme-landing") == "headwater-acme-landing"


@pytest.mark.parametrize(
    ("bucket", "prefix"), [("a.b", ""), ("acme", "in/"), ("b" * 63, "long/" * 50), ("acme", "ä ö/\ud800")]
)
def test_any_bucket_and_prefix_give_a_name_that_sqs_takes(bucket: str, prefix: str) -> None:
    name = derive_name(bucket, prefix)
    assert SAFE.fullmatch(name)
    assert len(name) <= MAX_NAME
    assert name == derive_name(bucket, prefix)


def test_similar_prefixes_give_different_names() -> None:
    names = {derive_name("acme", prefix) for prefix in ("", "in", "in/", "in//", "in.", "IN/")}
    assert len(names) == 6


def test_a_bucket_that_is_called_like_bucket_and_prefix_gets_another_name() -> None:
    assert derive_name("acme-in") != derive_name("acme", "in")


def test_a_configured_name_and_a_url_win() -> None:
    assert name_resources(source(resources={"name": "landing"})) == "landing"
    url = "https://sqs.eu-west-1.amazonaws.com/1/own/"
    assert name_queue_of(source(queue={"url": url}, resources={"name": "landing"})) == "own"
    assert name_queue_of(source()) == "headwater-acme"


def test_a_rule_has_a_shorter_name() -> None:
    assert name_rule("short") == "short"
    assert len(name_rule("x" * 75)) <= 64
    assert name_rule("x" * 75) != name_rule("x" * 74)
