"""Classes of Hudi's, or of a user, that say which of two rows with one key stays."""

import re
from functools import partial

import pytest

from headwater.errors import LakeError
from headwater.lake.jvm import connect
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark

pytestmark = pytest.mark.long

# In a partition without a new key, an update is a log file of its own.
DAYS = {"path": "*.json", "record_key": "id", "ordering": "ts", "partition": "day"}
FIRST = '{"id": 1, "ts": 1, "day": "mo", "v": "a"}\n{"id": 2, "ts": 1, "day": "tu", "v": "b"}\n'
UPDATE = '{"id": 1, "ts": 2, "day": "mo", "v": "A"}\n{"id": 3, "ts": 2, "day": "tu", "v": "c"}\n'

LOWEST_PRICE = """
package org.apache.hudi;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.RecordContext;
import org.apache.hudi.common.table.read.BufferedRecord;

public class LowestPrice extends HoodieSparkRecordMerger {
  public String getMergingStrategy() { return "5b1f0c52-6b0b-4c6c-9d1d-0b7a5a7e9a11"; }

  public BufferedRecord merge(
      BufferedRecord older, BufferedRecord newer, RecordContext context, TypedProperties properties) {
    if (newer.isDelete()) { return newer; }
    return price(older, context) <= price(newer, context) ? older : newer;
  }

  private static double price(BufferedRecord row, RecordContext context) {
    Object value = context.getValue(row.getRecord(), context.getSchemaFromBufferRecord(row), "price");
    return ((Number) value).doubleValue();
  }
}
"""


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_class_of_a_payload_merges_rows_and_sql_says_so_whoever_reads(build, spark, table_type):
    name = "org.apache.hudi.common.model.ReverseOrderHoodieRecordPayload"
    lake = build(t=DAYS | {"payload": name, "table_type": table_type})
    lake.ingest_each("t", FIRST, UPDATE)
    # With the default the newer row stays: `A`.
    assert lake.rows("t", "id", "v") == [(1, "a"), (2, "b"), (3, "c")]
    result = run_query(
        "select v from t order by id", {"t": lake.table("t").path}, fallback=partial(run_on_spark, spark)
    )
    assert [row["v"] for row in result.rows] == ["a", "b", "c"]
    assert (result.engine == "spark") == (table_type == "merge_on_read")


def compile_alongside_hudi(spark, source: str) -> None:
    """Define the class of a source beside Hudi's own, as if its jar had been in `spark.jars`.

    Spark brings the compiler. The class is in Hudi's package, as its loader takes no other one now.
    """
    neighbour = connect(spark).load_class("org.apache.hudi.DefaultSparkRecordMerger")
    compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(neighbour.getClassLoader())
    compiler.cook(source)
    handles = spark._jvm.java.lang.invoke.MethodHandles
    for code in dict(compiler.getBytecodes()).values():
        handles.privateLookupIn(neighbour, handles.lookup()).defineClass(code)


def test_class_of_a_merger_says_which_row_stays(build, spark):
    compile_alongside_hudi(spark, LOWEST_PRICE)
    lake = build(t={"path": "*.json", "record_key": "id", "merger": "org.apache.hudi.LowestPrice"})
    lake.ingest_each(
        "t",
        '{"id": 1, "price": 3.0, "v": "a"}\n{"id": 2, "price": 3.0, "v": "b"}\n',
        '{"id": 1, "price": 2.0, "v": "cheap"}\n{"id": 2, "price": 9.0, "v": "dear"}\n'
        '{"id": 3, "price": 1.0, "v": "c"}\n',
    )
    assert lake.rows("t", "id", "v") == [(1, "cheap"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(
    ("name", "said"), [("java.lang.String", "is not a record merger"), ("shop.Nowhere", "cannot be loaded")]
)
def test_class_that_is_no_merger_is_named(build, name, said):
    lake = build(t={"path": "*.json", "record_key": "id", "merger": name})
    lake.put("0.json", '{"id": 1}\n')
    with pytest.raises(LakeError, match=re.escape(f"`merger: {name}` {said}")):
        lake.ingest("t")
