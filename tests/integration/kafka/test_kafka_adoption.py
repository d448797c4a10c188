"""A table of HoodieStreamer over a topic continues at the offsets of its checkpoint."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.lake.jvm import save
from tests.fixtures.end_to_end.product import Product
from tests.fixtures.kafka import Kafka

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_each_partition_continues_at_its_offset(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic(3)
    for partition in range(2):
        kafka.send(topic, *(f'{{"id": "{partition}-{at}"}}' for at in range(10)), partition=partition)
    source = {"type": "kafka", "bootstrap": kafka.bootstrap, "topics": [topic]}
    table = {"path": f"{topic}/**", "format": "json", "generated_keys": True}
    product = Product(tmp_path, source, {"clicks": table}, os.environ)
    rows = spark.createDataFrame([("before",)], "id string")
    options = {
        "hoodie.table.name": "clicks",
        "hoodie.datasource.write.operation": "insert",
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer.",
        "deltastreamer.checkpoint.key": f"{topic},0:7,1:10",
    }
    save(rows, str(product.path_of("clicks")), options)

    refused = product.run_once().expect(1)
    assert "error: table clicks: HoodieStreamer wrote the existing table" in refused.stderr
    assert product.records("events") == []
    done = json.loads(product.command("adopt", "--json", timeout=120).expect(0).stdout)
    assert [one["status"] for one in done["report"]["tables"]] == ["adopted"]
    kafka.send(topic, '{"id": "1-10"}', partition=1)
    kafka.send(topic, '{"id": "2-0"}', partition=2)
    product.run_once().expect(0)
    assert product.rows("clicks", "id") == Counter(
        [(id_,) for id_ in ("before", "0-7", "0-8", "0-9", "1-10", "2-0")]
    )
    product.command("verify", timeout=120).expect(0)
