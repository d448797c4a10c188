from pathlib import Path

import pytest
from pydantic import ValidationError

from headwater.config.source import LocalSourceConfig, QueueConfig, S3SourceConfig
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.registry import build_queue
from headwater.sources.s3.queue import SqsQueue, find_endpoint


def build_source(url: str, **queue: str) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "b", "queue": {"url": url, **queue}})


def test_a_folder_gets_a_queue_in_this_process(tmp_path: Path) -> None:
    assert isinstance(build_queue(LocalSourceConfig(type="local", path=tmp_path)), MemoryQueue)


def test_a_bucket_gets_its_sqs_queue() -> None:
    queue = build_queue(build_source("https://sqs.eu-central-1.amazonaws.com/123456789012/landing"))
    assert isinstance(queue, SqsQueue)
    queue.close()
    queue.close()


@pytest.mark.parametrize(
    ("url", "endpoint", "region"),
    [
        ("https://sqs.eu-central-1.amazonaws.com/123456789012/q", None, "eu-central-1"),
        ("https://eu-west-1.queue.amazonaws.com/123456789012/q", None, "eu-west-1"),
        ("https://queue.amazonaws.com/123456789012/q", None, None),
        ("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", None, "cn-north-1"),
        ("http://127.0.0.1:4566/000000000000/q", "http://127.0.0.1:4566", None),
    ],
)
def test_region_and_endpoint_come_from_the_url(url: str, endpoint: str | None, region: str | None) -> None:
    assert find_endpoint(QueueConfig(url=url)) == (endpoint, region)


def test_configuration_overrides_the_url() -> None:
    config = QueueConfig(url="http://localhost:1/0/q", endpoint="http://sqs:9324", region="eu-west-3")
    assert find_endpoint(config) == ("http://sqs:9324", "eu-west-3")


@pytest.mark.parametrize(
    "url", ["https://sqs.eu-west-1.amazonaws.com/1/q.fifo", "http://localhost/0/q.fifo/"]
)
def test_a_fifo_queue_is_refused_because_s3_cannot_notify_it(url: str) -> None:
    with pytest.raises(ValidationError, match="FIFO"):
        build_source(url)
