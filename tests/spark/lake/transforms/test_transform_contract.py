"""What every kind of step does: rows keep the mark of their origin, and what is not there is named."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.config.processing.transform import STEP_KINDS, TransformStep
from headwater.errors import TransformError
from headwater.lake.transforms.chain import Chain
from headwater.lake.transforms.protocol import TransformSecrets

ORIGIN = "_headwater_source"
CODE = """
def upper(df):
    from pyspark.sql import functions as F
    return df.withColumn("name", F.upper("name"))

def aggregate(df):
    return df.groupBy("name").count()

def fail(df):
    raise ValueError("no such day")

def nothing(df):
    return None
"""
CLASS = """
package acme;
public class Upper {
  public org.apache.spark.sql.Dataset apply(
      org.apache.spark.api.java.JavaSparkContext context, org.apache.spark.sql.SparkSession spark,
      org.apache.spark.sql.Dataset rows, org.apache.hudi.common.config.TypedProperties properties) {
    return rows.withColumn("name", org.apache.spark.sql.functions.upper(rows.col("name")));
  }
}
"""
ROWS = [
    (1, "ann", "4111222233334444", [1, 2], ("Oslo", ("NO",)), ("a", 0)),
    (2, "bob", "12", [], ("Rome", None), ("a", 1)),
    (3, None, None, None, None, ("b", 0)),
]
SCHEMA = (
    "id int, name string, card string, nums array<int>, "
    "place struct<city: string, land: struct<code: string>>, "
    f"{ORIGIN} struct<object: string, row: int>"
)


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.fixture
def java_class(spark: SparkSession):
    """Compiled by the compiler that Spark itself uses, for the thread that this test runs in."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(before)
    compiler.cook(CLASS)
    thread.setContextClassLoader(compiler.getClassLoader())
    yield "acme.Upper"
    thread.setContextClassLoader(before)


def build(folder: Path, *steps: dict[str, object]) -> Chain:
    (folder / "steps_of_contract.py").write_text(CODE)
    (folder / "names.sql").write_text("select _headwater_source, upper(name) as name from input\n")
    parsed = [TransformStep.model_validate(step, context={"folder": folder}) for step in steps]
    return Chain("people", parsed, TransformSecrets("pepper"))


STEPS: dict[str, dict[str, object]] = {
    "sql": {"sql": "select _headwater_source, upper(name) as name from input"},
    "sql_file": {"sql_file": "names.sql"},
    "flatten": {"flatten": True},
    "rename": {"rename": {"NAME": "title"}},
    "cast": {"cast": {"id": "string"}},
    "drop": {"drop": ["card"]},
    "keep": {"keep": ["name", "id"]},
    "mask": {"mask": {"columns": ["card"], "keep_last": 4}},
    "hash": {"hash": ["name"]},
    "python": {"python": "steps_of_contract:upper"},
    "java": {"java": "acme.Upper"},
}
AFTER: dict[str, dict[str, list[Any]]] = {
    "sql": {"name": ["ANN", "BOB", None]},
    "sql_file": {"name": ["ANN", "BOB", None]},
    "flatten": {"place_city": ["Oslo", "Rome", None], "place_land_code": ["NO", None, None], "id": [1, 2, 3]},
    "rename": {"title": ["ann", "bob", None]},
    "cast": {"id": ["1", "2", "3"]},
    "drop": {"name": ["ann", "bob", None]},
    "keep": {"name": ["ann", "bob", None], "id": [1, 2, 3]},
    "mask": {"card": ["*" * 12 + "4444", "**", None]},
    "hash": {"name": [*(hashlib.sha256(text).hexdigest() for text in (b"pepperann", b"pepperbob")), None]},
    "python": {"name": ["ANN", "BOB", None]},
    "java": {"name": ["ANN", "BOB", None]},
}


def test_every_kind_keeps_the_origin_of_each_row(frame, tmp_path, java_class):
    assert set(STEPS) == set(STEP_KINDS)
    for kind, step in STEPS.items():
        after = build(tmp_path, step).apply(frame, ORIGIN)
        rows = sorted(after.collect(), key=lambda row: row[ORIGIN])
        assert [tuple(row[ORIGIN]) for row in rows] == [row[-1] for row in ROWS], kind
        for column, values in AFTER[kind].items():
            assert [row[column] for row in rows] == values, kind
    assert "card" not in build(tmp_path, STEPS["drop"]).apply(frame, ORIGIN).columns
    assert build(tmp_path, STEPS["keep"]).apply(frame, ORIGIN).columns == ["name", "id", ORIGIN]
    assert "place" not in build(tmp_path, STEPS["flatten"]).apply(frame, ORIGIN).columns


def test_transforms_are_chained_and_array_elements_become_rows(frame, tmp_path):
    chain = build(
        tmp_path,
        {"flatten": {"explode": ["nums"], "separator": "__"}},
        {"rename": {"place__city": "city"}},
        {"sql": f"with a as (select {ORIGIN}, city, nums n from input where id < 3) select * from a; -- two"},
        {"mask": {"columns": ["city"], "replace_with": "somewhere"}},
    )
    assert chain.may_multiply
    rows = {(row["city"], row["n"], *row[ORIGIN]) for row in chain.apply(frame, ORIGIN).collect()}
    assert rows == {("somewhere", 1, "a", 0), ("somewhere", 2, "a", 0), ("somewhere", None, "a", 1)}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"drop": ["nane"]}, "step 1 (drop): no column 'nane' (did you mean 'name'?)"),
        ({"name": "mine", "keep": [ORIGIN]}, f"step 'mine': no column '{ORIGIN}'"),
        ({"mask": {"columns": ["place"]}}, "step 1 (mask): 'place' is struct<"),
        ({"hash": ["nums"]}, "step 1 (hash): 'nums' is array<int>, not a single value"),
        ({"flatten": {"explode": ["name"]}}, "step 1 (flatten): `explode` of 'name': it is not an array"),
        ({"rename": {"name": "card"}}, "step 1 (rename): several columns are named 'card'"),
        ({"cast": {"id": "decimal(10"}}, "step 1 (cast): 'decimal(10' is not a type"),
        ({"sql": "select _headwater_source, nane from input"}, "step 1 (sql): SQL: [UNRESOLVED_COLUMN"),
        ({"sql": "select count(*) from input"}, "step 1 (sql): SQL: COUNT(*) without GROUP BY"),
        ({"sql": "select id from input"}, f"step 1 (sql): SQL: the result must contain `{ORIGIN}` unchanged"),
        ({"python": "steps_of_contract:aggregate"}, f":aggregate lacks the column {ORIGIN}"),
        ({"python": "steps_of_contract:fail"}, ":fail raised ValueError: no such day"),
        ({"python": "steps_of_contract:nothing"}, ":nothing returned NoneType, not a DataFrame"),
        ({"java": "acme.NotThere"}, "there is no class acme.NotThere on the class path"),
        ({"java": "java.util.ArrayList"}, "java.util.ArrayList has no public method apply(Java"),
    ],
)  # fmt: skip
def test_failing_transform_is_named_with_cause(frame, tmp_path, step, said):
    with pytest.raises(TransformError) as raised:
        build(tmp_path, step).apply(frame, ORIGIN)
    assert raised.value.message.startswith("table people: step ")
    assert said in raised.value.message
    assert raised.value.hint


LOOKUP = "(select 1 as code, 'one' as label union all select 2, 'two')"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"select {ORIGIN}, id as v from input where id < 3 "
         f"union all select {ORIGIN}, -id from input where id = 1",
         [("a", 0, -1), ("a", 0, 1), ("a", 1, 2)]),
        (f"select i.{ORIGIN}, label as v from {LOOKUP} l join input i on l.code = i.id",
         [("a", 0, "one"), ("a", 1, "two")]),
        (f"with a as (select *, row_number() over (order by -id) as v from input) select {ORIGIN}, v from a",
         [("a", 0, 3), ("a", 1, 2), ("b", 0, 1)]),
        (f"select {ORIGIN}, v from (select {ORIGIN}, id + 1 as v from input) where v > 2",
         [("a", 1, 3), ("b", 0, 4)]),
        (f"select {ORIGIN}, v from input lateral view explode(nums) as v", [("a", 0, 1), ("a", 0, 2)]),
        (f"select {ORIGIN}, sum(v) as v from (select {ORIGIN}, explode(nums) as v from input) "
         f"group by {ORIGIN}",
         [("a", 0, 3)]),
        (f"select distinct {ORIGIN}, size(nums) > 0 as v from input where nums is not null",
         [("a", 0, True), ("a", 1, False)]),
        ("select *, id as v from input where id in (select code from " + LOOKUP + ")",
         [("a", 0, 1), ("a", 1, 2)]),
    ],
)  # fmt: skip
def test_statements_that_select_the_origin_keep_it(frame, tmp_path, text, found):
    after = build(tmp_path, {"sql": text}).apply(frame, ORIGIN)
    assert sorted((*row[ORIGIN], row["v"]) for row in after.collect()) == found


def test_transforms_of_two_tables_are_isolated(spark, frame, tmp_path):
    one = build(tmp_path, {"sql": "select _headwater_source, name as a from input"}).apply(frame, ORIGIN)
    other = build(tmp_path, {"sql": "select _headwater_source, id as b from input"}).apply(
        frame.where("id = 1"), ORIGIN
    )
    assert (one.count(), other.count()) == (3, 1)
    assert [table.name for table in spark.catalog.listTables() if "headwater" in table.name] == []
