"""The least that commits some rows to a Hudi table: a session, a frame, a write. Imports PySpark only.

`python benchmarks/rig/bare_session.py SPECIFICATION`, a JSON file with `spark` and `hudi` options, `rows` (a
file of JSON lines), and `table`.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(specification: Path) -> None:
    """Start, write, end."""
    given = json.loads(specification.read_text("utf-8"))
    builder = SparkSession.builder
    for name, value in given["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.read.json(given["rows"])
    frame.write.format("hudi").options(**given["hudi"]).mode("append").save(given["table"])
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
