"""The least that commits some rows to a Hudi table, or asks one something. Imports PySpark only.

`python benchmarks/rig/bare_session.py SPECIFICATION`, a JSON file with `spark` options and `table`. With
`rows` (a file of JSON lines) and `hudi` options the rows are written there; with `query`, on a view named t,
the first row of the answer is printed as JSON.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(specification: Path) -> None:
    """Start, write or ask, end."""
    given = json.loads(specification.read_text("utf-8"))
    builder = SparkSession.builder
    for name, value in given["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if "query" in given:
        spark.read.format("hudi").load(given["table"]).createOrReplaceTempView("t")
        for row in spark.sql(given["query"]).take(1):
            print(json.dumps(row.asDict()), flush=True)
    else:
        frame = spark.read.json(given["rows"])
        frame.write.format("hudi").options(**given["hudi"]).mode("append").save(given["table"])
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
