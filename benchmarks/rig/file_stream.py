"""Spark's file source from a bucket to a Hudi table, as a process that runs until SIGTERM.

`python -m benchmarks.rig.file_stream CONFIG TABLE`: a stream over the bucket of a headwater.yaml, each
trigger as soon as the last one has ended. The session is headwater's.
"""

import signal
import sys
import threading
from pathlib import Path

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from headwater.app import App
from headwater.config.loader import load_settings
from headwater.lake.options import WriteOptions

SCHEMA = StructType(
    [
        StructField("id", LongType()),
        StructField("ts", LongType()),
        StructField("customer", StringType()),
        StructField("state", StringType()),
        StructField("amount", DoubleType()),
    ]
)


def run(config: Path, table: Path) -> None:
    """Follow the bucket."""
    stop = threading.Event()
    settings = load_settings(config)
    app = App(settings)
    options = WriteOptions(table_name="orders", operation="upsert", record_key=("id",), ordering=("ts",))
    reader = app.spark.readStream.format("json").schema(SCHEMA)
    stream = (
        reader.load(f"s3a://{settings.sources[0].location}/orders/")
        .writeStream.format("hudi")
        .options(**options.to_hoodie())
        .option("checkpointLocation", f"{table}-checkpoint")
        .outputMode("append")
        .start(str(table))
    )
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    while not stop.wait(0.2):
        if not stream.isActive:
            raise RuntimeError(stream.exception())
    stream.stop()
    app.close()


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
