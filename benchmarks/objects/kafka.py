"""How fast do messages of Kafka become rows, next to a batch read by Spark's own Kafka source?

A topic of four partitions with JSON messages of about 250 bytes, on one broker. Ours: from the poll of the
offsets over the commit of the events to the commit of the rows. Floor: `spark.read.format("kafka")` of the
same offsets, `from_json` with the known columns, and the same Hudi write; it keeps no offsets, and a bad
message becomes a row of nulls. In one warm session, in turns, each into an empty table.
"""

import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import CACHE, build_settings, open_app
from benchmarks.rig.folders import run_batches
from benchmarks.rig.orders import iter_orders
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.captured_event import CapturedEvent
from headwater.config.source import KafkaSourceConfig
from headwater.config.table import TableConfig
from headwater.demo.kafka_broker import KafkaBroker, ensure_kafka
from headwater.ingest.lineage import EVENT_ID, OBJECT, ROW, VERSION
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.table import Table
from headwater.sources.kafka.polling import build_poller
from headwater.sources.kafka.ranges import CapturedRanges
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message

MESSAGES = sized(300_000, 2_000)
PARTITIONS = 4
PAIRS = sized(3, 1)
TOPIC = "orders"
TABLES: dict[str, dict[str, Any]] = {"orders": {"path": "orders/**", "format": "json", "mode": "append"}}
# Spark 3.5.8 has no connector in Maven Central; that of 3.5.7 works with it.
_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
)
_SECONDS = 60.0


def run() -> list[BenchmarkResult]:
    """Messages a second."""
    with (
        tempfile.TemporaryDirectory() as name,
        KafkaBroker(ensure_kafka(CACHE / "kafka"), Path(name)) as broker,
    ):
        fill_topic(broker.bootstrap)
        folder = Path(name)
        source = {"type": "kafka", "bootstrap": broker.bootstrap, "topics": TOPIC}
        settings = build_settings(folder, source, TABLES, spark={"packages": list(_CONNECTOR)})
        with open_app(settings) as app:
            trials = count()

            def ours() -> float:
                return ingest(known, folder / f"ours-{next(trials)}")

            ingest(app, folder / "first")
            schema = Table(app.spark, str(folder / "first/orders")).read().schema
            columns = StructType([field for field in schema if not field.name.startswith("_")])
            known = declare_columns(app, columns)

            def floor() -> float:
                return read_by_spark(app, folder / f"spark-{next(trials)}", broker.bootstrap, columns)

            say(f"warm-up: ours {ours():,.0f}, Spark's source {floor():,.0f} messages/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return [BenchmarkResult("kafka", pair.value, pair.floor, "messages/s", 0.9, "higher")]


def fill_topic(bootstrap: str) -> None:
    """Create the topic and its messages."""
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": "2"}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(_SECONDS)
    producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
    for at, order in enumerate(islice(iter_orders(0, 7), MESSAGES)):
        producer.produce(TOPIC, order, key=str(at))
        if at % 1_000 == 0:
            producer.poll(0)
    if producer.flush(_SECONDS):
        raise RuntimeError("not all messages reached the broker")


def declare_columns(app: App, columns: StructType) -> App:
    """The same with the columns in the table's configuration, as the floor knows them."""
    declared = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
    tables = {name: TableConfig(**table, schema=declared) for name, table in TABLES.items()}
    return App(app.settings.model_copy(update={"tables": tables}), spark=app.spark)


def ingest(app: App, lake: Path) -> float:
    """Messages a second, from the poll to the commit of the rows."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    source = own.settings.source
    if not isinstance(source, KafkaSourceConfig):
        raise TypeError(source)
    started = time.monotonic()
    own.events.append(poll(source))
    pipeline = own.build_pipeline("orders")
    results = run_batches(pipeline)
    seconds = time.monotonic() - started
    pipeline.save_checkpoint()
    say(f"  {len(results)} batches in {sum(one.seconds for one in results):.2f} s")
    check_rows(app, lake)
    return MESSAGES / seconds


def poll(source: KafkaSourceConfig) -> list[CapturedEvent]:
    """The events of all messages, as capture makes them."""
    queue = MemoryQueue()
    build_poller(source, CapturedRanges({}), queue).announce_existing()
    found = []
    while messages := queue.receive(10, 0):
        queue.ack({message.message_id: message.receipt_handle for message in messages})
        for message in messages:
            (event,) = parse_message(message.body).events
            found.append(CapturedEvent(event, message.received_at, message.message_id))
    return found


def read_by_spark(app: App, lake: Path, bootstrap: str, columns: StructType) -> float:
    """Messages a second, by Spark's source and the same write."""
    table = Table(app.spark, str(lake / "orders"))
    options = TableWriter("orders", app.settings.tables["orders"], table).build_options().to_hoodie()
    started = time.monotonic()
    read = app.spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    messages = read.option("subscribe", TOPIC).option("startingOffsets", "earliest").load()
    value = F.from_json(F.col("value").cast("string"), columns).alias("row")
    address = [
        F.concat_ws("/", "topic", "partition").alias(OBJECT),
        F.lit("").alias(VERSION),
        F.concat_ws("/", "topic", "partition").alias(EVENT_ID),
        F.col("offset").alias(ROW),
    ]
    frame = messages.select(value, "topic", "partition", "offset").select("row.*", *address)
    frame.write.format("hudi").options(**options).mode("append").save(str(lake / "orders"))
    seconds = time.monotonic() - started
    check_rows(app, lake)
    return MESSAGES / seconds


def check_rows(app: App, lake: Path) -> None:
    """What left messages out would be quick."""
    found = Table(app.spark, str(lake / "orders")).read().where("id is not null").count()
    if found != MESSAGES:
        raise RuntimeError(f"{found} rows; {MESSAGES} were expected")
