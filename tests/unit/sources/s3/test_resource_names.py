"""Queue and rule: the configured name, or one after bucket and prefix, within the limits of AWS."""

from headwater.config.source import S3SourceConfig
from headwater.sources.s3.resource_names import name_queue_of, name_resources, name_rule


def source(**fields: object) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **fields})


def test_a_configured_name_and_a_url_win() -> None:
    assert name_resources(source(resources={"name": "landing"})) == "landing"
    url = "https://sqs.eu-west-1.amazonaws.com/1/own/"
    assert name_queue_of(source(queue={"url": url}, resources={"name": "landing"})) == "own"
    assert name_queue_of(source()) == "headwater-acme"


def test_a_rule_has_a_shorter_name() -> None:
    assert name_rule("short") == "short"
    assert len(name_rule("x" * 75)) <= 64
    assert name_rule("x" * 75) != name_rule("x" * 74)
