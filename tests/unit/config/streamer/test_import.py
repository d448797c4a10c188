"""HoodieStreamer's settings become a headwater.yaml that loads; nothing is dropped silently."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.config.settings import Settings
from headwater.config.streamer import Conversion, convert, read_jobs, render_conversion
from headwater.config.streamer.jobs import StreamerJob
from headwater.errors import UsageError

ROOT = Path(__file__).parents[4]
HOW_TO = (ROOT / "docs/how-to/from-hoodie-streamer.md").read_text("utf-8")
SUBMIT = "spark-submit --class org.apache.hudi.utilities.streamer.HoodieStreamer hudi-utilities-bundle.jar"
INCREMENTAL = "--source-class org.apache.hudi.utilities.sources.S3EventsHoodieIncrSource"
KEY = "--hoodie-conf hoodie.datasource.write.recordkey.field=id"
FLAGS_OF_HUDI = {
    "--allow-commit-on-no-checkpoint-change": "",
    "--base-file-format": "ORC",
    "--bootstrap-index-class": "a.B",
    "--bootstrap-overwrite": "",
    "--checkpoint": "20260101000000",
    "--cluster-scheduling-minshare": "1",
    "--cluster-scheduling-weight": "1",
    "--commit-on-errors": "",
    "--compact-scheduling-minshare": "1",
    "--compact-scheduling-weight": "1",
    "--config-hot-update-strategy-class": "a.B",
    "--continuous": "",
    "--delta-sync-scheduling-minshare": "1",
    "--delta-sync-scheduling-weight": "1",
    "--disable-compaction": "",
    "--enable-hive-support": "",
    "--enable-hive-sync": "",
    "--enable-sync": "",
    "--filter-dupes": "",
    "--force-empty-sync": "",
    "--help": "",
    "--hoodie-conf": "hoodie.parquet.max.file.size=1000000",
    "--ignore-checkpoint": "x",
    "--ingestion-metrics-class": "a.B",
    "--initial-checkpoint-provider": "a.B",
    "--max-pending-clustering": "7",
    "--max-pending-compactions": "7",
    "--max-retry-count": "3",
    "--merge-impl-classes": "a.B",
    "--merge-mode": "COMMIT_TIME_ORDERING",
    "--merge-strategy-id": "x",
    "--min-sync-interval-seconds": "60",
    "--op": "UPSERT",
    "--payload-class": "a.B",
    "--post-write-termination-strategy-class": "a.NoNewDataTerminationStrategy",
    "--props": "t.properties",
    "--record-merge-custom-implementation-classes": "a.B",
    "--record-merge-mode": "EVENT_TIME_ORDERING",
    "--record-merge-strategy-id": "x",
    "--retry-interval-seconds": "30",
    "--retry-last-pending-inline-clustering": "",
    "--retry-last-pending-inline-compaction": "",
    "--retry-on-source-failures": "",
    "--run-bootstrap": "",
    "--schemaprovider-class": "a.B",
    "--source-limit": "1000",
    "--source-ordering-field": "ts",
    "--source-ordering-fields": "ts",
    "--spark-app-name": "x",
    "--spark-master": "yarn",
    "--sync-tool-classes": "a.B",
    "--table-type": "MERGE_ON_READ",
    "--target-table": "orders",
    "--transformer-class": "a.B",
}


def convert_command(folder: Path, words: str, properties: str = "", **options: Any) -> Conversion:
    """One job over events, with a bucket."""
    script = folder / "run.sh"
    script.write_text(f"{SUBMIT} --target-base-path s3a://lake/orders --props t.properties {words}\n")
    (folder / "t.properties").write_text(properties)
    return convert(read_jobs([script]), **{"bucket": "b"} | options)


def tables_of(conversion: Conversion) -> dict[str, dict[str, Any]]:
    tables: Any = conversion.data["tables"]
    found: dict[str, dict[str, Any]] = tables
    return found


def table_of(conversion: Conversion, name: str = "orders") -> dict[str, Any]:
    Settings.model_validate(conversion.data)
    return tables_of(conversion)[name]


def convert_table(folder: Path, words: str, properties: str = "") -> dict[str, Any]:
    return table_of(convert_command(folder, f"{INCREMENTAL} --target-table orders {words}", properties))


def test_the_example_of_the_how_to(tmp_path: Path) -> None:
    for block in re.findall(r"```(?:properties|sh)\n# (\S+)\n(.*?)```", HOW_TO, re.DOTALL):
        (tmp_path / block[0]).write_text(block[1])
    shown = YAML(typ="safe").load(HOW_TO.rpartition("```yaml\n")[2].partition("```")[0])
    conversion = convert(read_jobs([tmp_path / "run.sh"]), bucket="acme-landing")
    assert YAML(typ="safe").load(render_conversion(conversion, "run.sh")) == shown == conversion.data
    assert "reports:" not in render_conversion(conversion, "run.sh")


@pytest.mark.parametrize("flag", FLAGS_OF_HUDI)
def test_every_flag_is_converted_or_has_its_reason(tmp_path: Path, flag: str) -> None:
    value = FLAGS_OF_HUDI[flag]
    found = convert_command(tmp_path, f"{INCREMENTAL} {KEY} {flag} {value}")
    assert not [left for left in found.left_out if left.reason in ("", "unknown here", "no equivalent")]
    before = convert_command(tmp_path, f"{INCREMENTAL} {KEY}")
    is_default = flag in ("--op", "--props", "--enable-hive-sync", "--enable-sync")
    assert is_default or (found.data, found.left_out, found.notes) != (
        before.data,
        before.left_out,
        before.notes,
    )


INCR = "hoodie.streamer.source.hoodieincr"


@pytest.mark.parametrize(
    ("words", "properties", "start", "left"),
    [
        ("--checkpoint 20260131120000000", "", "2026-01-31T12:00:00Z", []),
        ("--checkpoint 20260131120000", "", "2026-01-31T12:00:00Z", []),
        ("--checkpoint '20260131120000000#a/1.json'", "", "2026-01-31T12:00:00Z", []),
        ("--checkpoint topic,0:17", "", None, ["--checkpoint=topic,0:17"]),
        ("", f"{INCR}.read_latest_on_missing_ckpt=true", "latest", []),
        ("", f"{INCR}.read_latest_on_missing_ckpt=false", None, []),
        ("", f"{INCR}.missing.checkpoint.strategy=READ_LATEST", "latest", []),
        ("", f"{INCR}.missing.checkpoint.strategy=READ_UPTO_LATEST_COMMIT", None, []),
        ("", f"{INCR}.missing.checkpoint.strategy=X", None, [f"{INCR}.missing.checkpoint.strategy=X"]),
        (
            "--checkpoint 20260131120000000",
            f"{INCR}.missing.checkpoint.strategy=READ_LATEST",
            "2026-01-31T12:00:00Z",
            [],
        ),
    ],
)
def test_a_table_begins_where_the_job_does(
    tmp_path: Path, words: str, properties: str, start: str | None, left: list[str]
) -> None:
    found = convert_command(tmp_path, f"{INCREMENTAL} {KEY} --target-table t {words}", properties)
    assert table_of(found, "t").get("start_from") == start
    assert [one.setting for one in found.left_out] == left


def test_a_flag_that_is_unknown_is_listed(tmp_path: Path) -> None:
    (left,) = convert_command(tmp_path, f"{INCREMENTAL} {KEY} --colour red").left_out
    assert (left.origin, left.setting, left.reason) == ("run.sh", "--colour=red", "unknown here")


def test_every_option_of_the_how_to_is_converted_or_has_its_reason() -> None:
    rows = HOW_TO.split("## Stage 1")[1].split("## The command line")[0].splitlines()
    cells = [line.split("|")[1] for line in rows if line.count("|") >= 5]
    keys = [key for cell in cells for key in re.findall(r"`((?:s3|source)\.[a-z0-9._]+)`", cell)]
    assert len(keys) > 30
    for key in keys:
        source = "S3EventsSource" if key.startswith("s3.") or "gcs" in key else "S3EventsHoodieIncrSource"
        properties = {f"hoodie.deltastreamer.{key}": "{}" if key.endswith("options") else "1"}
        flags = {"source-class": f"a.{source}", "target-table": "t"}
        jobs = [
            StreamerJob(Path("x"), flags, properties, {}),
            StreamerJob(Path("y"), {"source-class": "a.S3EventsHoodieIncrSource"}, {}, {}),
        ]
        found = convert(jobs, bucket="b")
        assert "no equivalent" not in [left.reason for left in found.left_out], key


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (KEY, {"record_key": ["id"]}),
        (f"{KEY} --source-ordering-field a,b", {"record_key": ["id"], "ordering": ["a", "b"]}),
        (f"{KEY} --op INSERT", {"mode": "append"}),
        (f"{KEY} --op BULK_INSERT", {"mode": "append", "operation": "bulk_insert"}),
        (
            f"{KEY} --op INSERT --filter-dupes",
            {"mode": "append", "filter_duplicates": True, "record_key": ["id"]},
        ),
        ("", {"mode": "append"}),
        (f"{KEY} --op INSERT_OVERWRITE", {"record_key": ["id"]}),
        (
            f"{KEY} --source-ordering-field ts --merge-mode COMMIT_TIME_ORDERING",
            {"record_key": ["id"], "merge_mode": "commit_time"},
        ),
        (
            f"{KEY} --payload-class org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
            {"record_key": ["id"], "merge_mode": "commit_time"},
        ),
        (
            f"{KEY} --payload-class org.apache.hudi.common.model.AWSDmsAvroPayload "
            "--transformer-class org.apache.hudi.utilities.transform.AWSDmsTransformer "
            "--source-ordering-field committed_at",
            {"record_key": ["id"], "changes": {"preset": "dms", "sequence": ["committed_at"]}},
        ),
        (
            f"{KEY} --payload-class org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload "
            "--source-ordering-field _event_lsn",
            {"record_key": ["id"], "changes": {"preset": "debezium"}},
        ),
        (f"{KEY} --payload-class com.acme.Own", {"record_key": ["id"], "payload": "com.acme.Own"}),
        (
            f"{KEY} --merge-mode CUSTOM --merge-impl-classes com.acme.Own",
            {"record_key": ["id"], "merger": "com.acme.Own"},
        ),
        (f"{KEY} --source-limit 9223372036854775807", {"record_key": ["id"]}),
        (f"{KEY} --source-limit 1000", {"record_key": ["id"], "max_bytes_per_trigger": 1000}),
        (
            f"{KEY} --transformer-class a.FlatteningTransformer,com.acme.Own",
            {"record_key": ["id"], "transform": [{"flatten": {}}, {"java": "com.acme.Own"}]},
        ),
        (
            f"{KEY} --transformer-class t1:a.SqlQueryBasedTransformer "
            "--hoodie-conf 'hoodie.streamer.transformer.sql.t1=SELECT * FROM <SRC> a WHERE x = 1'",
            {"record_key": ["id"], "transform": [{"sql": "SELECT * FROM input a WHERE x = 1"}]},
        ),
    ],
)
def test_flags_of_a_table(tmp_path: Path, words: str, wanted: dict[str, Any]) -> None:
    assert convert_table(tmp_path, words) == wanted | {"path": "**/*.parquet"}


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ("source.cloud.data.datafile.format=json", {"path": "**/*.json"}),
        (
            "source.cloud.data.datafile.format=json\nhoodie.streamer.source.cloud.data.select.file.extension=.gz",
            {"path": "**/*.gz", "format": "json"},
        ),
        (
            "source.cloud.data.datafile.format=csv\n"
            "hoodie.streamer.source.cloud.data.select.file.extension=csv,csv.gz",
            {"path": "**/*{.csv,.csv.gz}"},
        ),
        ("source.cloud.data.select.relpath.prefix=a[1]/b/", {"path": "a\\[1\\]/b/**/*.parquet"}),
        ("source.s3incr.key.prefix=a", {"path": "**/*.parquet", "prefix": "a"}),
        (
            "source.cloud.data.datafile.format=json\n"
            "hoodie.streamer.source.cloud.data.select.file.extension=_a[1].json",
            {"path": "**/*_a\\[1\\].json"},
        ),
        (
            "source.cloud.data.select.relpath.prefix=a/b\n"
            "hoodie.streamer.source.cloud.data.select.relative.path.regex=x[0-9]|y",
            {"path": "**/*.parquet", "regex": ".*(?:a/b/x[0-9]|y).*"},
        ),
        (
            "source.cloud.data.select.relpath.prefix=a/\n"
            "hoodie.streamer.source.cloud.data.select.relative.path.regex=^x",
            {"path": "**/*.parquet", "regex": ".*(?:a/^x).*"},
        ),
        ("source.s3incr.ignore.key.substring=tmp", {"path": "**/*.parquet", "ignore_substring": "tmp"}),
        (
            'source.cloud.data.datasource.options={"mergeSchema": true, "x": "y=z"}',
            {"path": "**/*.parquet", "options": {"mergeSchema": "true", "x": "y=z"}},
        ),
        (
            "source.cloud.data.partition.fields.from.path=a, b",
            {"path": "**/*.parquet", "partition_columns": ["a", "b"]},
        ),
    ],
)
def test_objects_of_a_table(tmp_path: Path, properties: str, wanted: dict[str, Any]) -> None:
    conversion = convert_command(
        tmp_path, f"{INCREMENTAL} --target-table orders --op INSERT", f"hoodie.streamer.{properties}"
    )
    assert tables_of(conversion)["orders"] == {"mode": "append", **wanted}


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ("hoodie.datasource.write.partitionpath.field=a,b", {"partition": ["a", "b"]}),
        (
            "hoodie.datasource.write.partitionpath.field=a:SIMPLE\n"
            "hoodie.datasource.write.hive_style_partitioning=false\n"
            "hoodie.datasource.write.partitionpath.urlencode=true",
            {"partition": ["a"], "partition_style": "plain", "url_encode_partitions": True},
        ),
        ("hoodie.datasource.write.partitionpath.field=a:TIMESTAMP", {}),
        (
            "hoodie.datasource.write.partitionpath.field=\n"
            "hoodie.datasource.write.keygenerator.class=a.NonpartitionedKeyGenerator",
            {},
        ),
        ("hoodie.index.type=BLOOM", {"index": {"type": "bloom"}}),
        (
            "hoodie.index.type=BUCKET\nhoodie.bucket.index.num.buckets=8",
            {"index": {"type": "bucket", "buckets": 8}},
        ),
        ("hoodie.index.type=HBASE", {}),
        ("hoodie.cleaner.commits.retained=20", {"keep_commits": 20}),
        ("hoodie.metadata.enable=true", {"metadata_table": True}),
        ("hoodie.parquet.compression.codec=gzip", {"hoodie": {"hoodie.parquet.compression.codec": "gzip"}}),
        ("hoodie.parquet.max.file.size=many", {}),
        ("hoodie.errortable.enable=true", {}),
        ("hoodie.metrics.on=true", {}),
    ],
)
def test_options_of_hudi(tmp_path: Path, properties: str, wanted: dict[str, Any]) -> None:
    found = convert_table(tmp_path, KEY, properties)
    assert found == {"path": "**/*.parquet", "record_key": ["id"], **wanted}


@pytest.mark.parametrize(
    ("name", "root", "source", "table"),
    [
        ("Json", "file:///data/in", {"type": "local", "path": "/data/in"}, {"path": "**", "format": "json"}),
        ("Csv", "/data/in", {"type": "local", "path": "/data/in"}, {"path": "**", "format": "csv"}),
        (
            "Parquet",
            "s3a://b/in/x/",
            {"type": "s3", "bucket": "b"},
            {"path": "in/x/**", "format": "parquet"},
        ),
        ("ORC", "s3://b", {"type": "s3", "bucket": "b"}, {"path": "**", "format": "orc"}),
    ],
)
def test_folders(tmp_path: Path, name: str, root: str, source: Any, table: Any) -> None:
    words = (
        f"--source-class org.apache.hudi.utilities.sources.{name}DFSSource --op INSERT --target-table orders"
    )
    found = convert_command(
        tmp_path,
        words,
        f"hoodie.deltastreamer.source.dfs.root={root}\nhoodie.streamer.csv.sep=;",
        bucket=None,
    )
    options = {"options": {"sep": ";"}}
    assert found.data["source"] == source
    assert tables_of(found)["orders"] == {**table, "mode": "append", **options}


@pytest.mark.parametrize(
    ("words", "properties", "settings"),
    [
        ("--merge-mode CUSTOM", "", ["--merge-mode=CUSTOM"]),
        ("--table-type OTHER", "", ["--table-type=OTHER"]),
        ("--source-limit all", "", ["--source-limit=all"]),
        ("", "hoodie.bucket.index.num.buckets=8", ["hoodie.bucket.index.num.buckets=8"]),
        (
            "",
            "hoodie.index.type=SIMPLE\nhoodie.index.bucket.engine=SIMPLE",
            ["hoodie.index.bucket.engine=SIMPLE"],
        ),
        (
            "",
            "hoodie.datasource.write.keygenerator.class=com.acme.Own",
            ["hoodie.datasource.write.keygenerator.class=com.acme.Own"],
        ),
        (
            "",
            "hoodie.datasource.write.keygenerator.type=NON_PARTITION\n"
            "hoodie.datasource.write.partitionpath.field=day",
            ["hoodie.datasource.write.partitionpath.field=day"],
        ),
        (
            "",
            "hoodie.table.ordering.fields=a\nhoodie.datasource.write.precombine.field=b",
            ["hoodie.datasource.write.precombine.field=b"],
        ),
        (
            "",
            "hoodie.datasource.write.partitionpath.urlencode=true",
            ["hoodie.datasource.write.partitionpath.urlencode=true"],
        ),
    ],
)
def test_nothing_is_dropped_silently(
    tmp_path: Path, words: str, properties: str, settings: list[str]
) -> None:
    found = convert_command(tmp_path, f"{INCREMENTAL} {KEY} {words}", properties)
    assert [left.setting for left in found.left_out] == settings


def test_a_lake_has_one_kind_of_source(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    google = INCREMENTAL.replace("S3Events", "GcsEvents")
    script.write_text(f"{SUBMIT} {INCREMENTAL} --target-table a\n{SUBMIT} {google} --target-table b\n")
    found = convert(read_jobs([script]), bucket="b")
    assert list(tables_of(found)) == ["a"]
    assert found.left_out[-1].reason == "a lake has one source: source.type is s3 already"


def test_flags_with_a_list_may_be_repeated(tmp_path: Path) -> None:
    words = f"{KEY} --transformer-class com.acme.One --transformer-class com.acme.Two"
    assert convert_table(tmp_path, words)["transform"] == [{"java": "com.acme.One"}, {"java": "com.acme.Two"}]


def test_includes_of_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("include=b.properties\n")
    (tmp_path / "b.properties").write_text("include=a.properties\n")
    with pytest.raises(UsageError, match="nested too deeply"):
        read_jobs([tmp_path / "a.properties"])


def test_jobs_of_other_sources_have_a_reason(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    other = f"{SUBMIT} --source-class a.JdbcSource --target-table k"
    hdfs = f"{SUBMIT} --source-class a.JsonDFSSource --hoodie-conf hoodie.streamer.source.dfs.root=hdfs:///x"
    script.write_text(f"{other}\n{hdfs}\n")
    with pytest.raises(UsageError, match="no job writes a table") as caught:
        convert(read_jobs([script]))
    assert "a.JdbcSource: headwater reads objects" in str(caught.value.hint)
    assert "cannot watch hdfs:///x" in str(caught.value.hint)
    # Alongside one that can be converted, they are listed.
    script.write_text(f"{other}\n{SUBMIT} {INCREMENTAL} --target-table t\n")
    found = convert(read_jobs([script]), bucket="b")
    assert list(tables_of(found)) == ["t"]
    assert [left.setting for left in found.left_out] == ["--source-class=a.JdbcSource"]


def test_a_lake_has_one_folder(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    job = f"{SUBMIT} --source-class a.JsonDFSSource --hoodie-conf hoodie.streamer.source.dfs.root="
    script.write_text(f"{job}/one --target-table a\n{job}/two --target-table b\n{job}/one --target-table c\n")
    found = convert(read_jobs([script]))
    assert sorted(tables_of(found)) == ["a", "c"]
    assert "a lake has one source" in found.left_out[-1].reason


def test_tables_share_what_the_lake_has_once(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    job = f"{SUBMIT} {INCREMENTAL} {KEY} --enable-sync --sync-tool-classes a.AwsGlueCatalogSyncTool"
    lock = (
        "--hoodie-conf hoodie.write.lock.provider=a.ZookeeperBasedLockProvider "
        "--hoodie-conf hoodie.write.lock.zookeeper.url=zk1,zk2 "
        "--hoodie-conf hoodie.write.lock.zookeeper.port=2182"
    )
    script.write_text(f"{job} {lock} --target-table a\n{job} {lock} --target-table a\n")
    found = convert(read_jobs([script]), bucket="b")
    assert found.data["catalogs"] == [{"type": "glue", "database": "default", "tables": ["a", "a_2"]}]
    assert found.data["lock"] == {"provider": "zookeeper", "address": "zk1:2182,zk2:2182"}
    Settings.model_validate(found.data)
    assert any("two jobs write a table a" in note for note in found.notes)


@pytest.mark.parametrize(
    ("tool", "properties", "wanted"),
    [
        (
            "HiveSyncTool",
            "hoodie.datasource.hive_sync.metastore.uris=thrift://m:9083\nhoodie.datasource.hive_sync.database=d",
            {"type": "hive", "database": "d", "address": "thrift://m:9083"},
        ),
        ("HiveSyncTool", "", None),
        (
            "BigQuerySyncTool",
            "hoodie.gcp.bigquery.sync.project_id=p\nhoodie.gcp.bigquery.sync.dataset_name=s",
            {"type": "bigquery", "database": "s", "project": "p"},
        ),
        (
            "DataHubSyncTool",
            "hoodie.meta.sync.datahub.emitter.server=http://d:8080",
            {"type": "datahub", "database": "default", "address": "http://d:8080"},
        ),
        ("AdbSyncTool", "", None),
    ],
)
def test_catalogs(tmp_path: Path, tool: str, properties: str, wanted: Any) -> None:
    words = f"{INCREMENTAL} {KEY} --target-table t --enable-sync --sync-tool-classes a.{tool}"
    found = convert_command(tmp_path, words, properties)
    assert found.data.get("catalogs") == (wanted and [{**wanted, "tables": ["t"]}])
    assert [left.setting for left in found.left_out] == ([] if wanted else [f"--sync-tool-classes=a.{tool}"])


def test_options_of_spark(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "spark-submit --master k8s://h:6443 --deploy-mode cluster --executor-memory 8g --driver-memory 4g "
        "--packages org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0,com.acme:own:1 "
        "--jars /x/hudi-aws.jar,/x/own.jar --conf spark.sql.shuffle.partitions=8 "
        "--conf spark.serializer=org.apache.spark.serializer.KryoSerializer "
        f"--class a.HoodieStreamer /x/app.jar {INCREMENTAL} --target-table t\n"
    )
    found = convert(read_jobs([script]), bucket="b")
    assert found.data["spark"] == {
        "master": "k8s://h:6443",
        "driver_memory": "4g",
        "packages": ["com.acme:own:1"],
        "config": {
            "spark.jars": "/x/own.jar",
            "spark.executor.memory": "8g",
            "spark.sql.shuffle.partitions": "8",
        },
    }
    assert [left.setting for left in found.left_out] == ["--deploy-mode=cluster"]


def test_commands_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "set -e\n"
        f"# {SUBMIT} --target-table old\n"
        "export JAR=x && /opt/spark/bin/spark-submit -c spark.a=1 --verbose --conf=spark.b=2 "
        f'"$JAR" {INCREMENTAL} \\\n'
        "  --target-table a --target-base-path $LAKE/a > log 2>&1 &\n"
        "java -cp x.jar org.apache.hudi.utilities.streamer.HoodieStreamer "
        f"{INCREMENTAL} --target-table b; echo done\n"
        f"(cd /x; {SUBMIT} {INCREMENTAL} --target-table c --hoodie-conf 'hoodie.x.y=1 > 0; 2') | tee log\n"
    )
    jobs = read_jobs([script])
    assert [job.flags["target-table"] for job in jobs] == ["a", "b", "c"]
    assert jobs[0].spark == {"spark.a": "1", "verbose": "true", "spark.b": "2"}
    assert jobs[2].properties == {"hoodie.x.y": "1 > 0; 2"}
    assert "replace the shell's $LAKE by its value" in convert(jobs, bucket="b").notes


@pytest.mark.parametrize(
    ("second", "lake", "step"),
    [
        ("s3a://acme/bronze/b", None, "set `lake: s3a://acme/bronze`, and run"),
        ("s3a://acme/bronze/b", "s3a://acme/bronze", "stop the jobs, and run"),
        ("s3a://acme/silver/b", None, ""),
        ("s3a://acme/bronze/c", None, ""),
    ],
)
def test_the_command_that_continues_the_tables_is_given_if_they_are_in_one_folder(
    tmp_path: Path, second: str, lake: str | None, step: str
) -> None:
    script = tmp_path / "run.sh"
    events = "--hoodie-conf hoodie.streamer.source.hoodieincr.path=s3a://acme/meta"
    script.write_text(
        f"{SUBMIT} {INCREMENTAL} {KEY} {events} --target-table a --target-base-path s3a://acme/bronze/a/\n"
        f"{SUBMIT} {INCREMENTAL} {KEY} {events} --target-table b --target-base-path {second}\n"
    )
    notes = convert(read_jobs([script]), bucket="b", lake=lake).notes
    found = [note for note in notes if "headwater adopt" in note]
    assert len(found) == bool(step)
    assert all(step in note and "`headwater adopt --events s3a://acme/meta`" in note for note in found)


def test_properties_follow_the_rules_of_hudi(tmp_path: Path) -> None:
    (tmp_path / "base.properties").write_text("hoodie.a.b=base\nhoodie.x.y = 1=2 \n")
    main = tmp_path / "orders.properties"
    main.write_text("# a comment = x\n\nno equals sign\ninclude=base.properties\nhoodie.a.b=own\\\n")
    (job,) = read_jobs([main])
    assert job.properties == {"hoodie.x.y": "1=2", "hoodie.a.b": "own\\"}


def test_properties_without_a_command_are_jobs_named_after_their_file(tmp_path: Path) -> None:
    events, orders = tmp_path / "events.properties", tmp_path / "My-Orders.properties"
    events.write_text(
        "hoodie.streamer.source.gcs.project.id=p\nhoodie.streamer.source.gcs.subscription.id=landing\n"
    )
    orders.write_text("hoodie.streamer.source.hoodieincr.path=gs://l/e\n")
    found = convert(read_jobs([orders, events]), bucket="b", lake="gs://l/new")
    assert found.data["source"] == {"type": "gcs", "bucket": "b", "project": "p", "subscription": "landing"}
    assert found.data["lake"] == "gs://l/new"
    assert list(tables_of(found)) == ["my_orders"]
    Settings.model_validate(found.data)


def test_secrets_are_neither_copied_nor_shown(tmp_path: Path) -> None:
    found = convert_command(
        tmp_path,
        f"{INCREMENTAL} {KEY}",
        "hoodie.datasource.hive_sync.password=hunter2\nhoodie.x.url=https://me:hunter2@host/\n",
    )
    text = render_conversion(found, "run.sh") + json.dumps(found.data)
    assert "hunter2" not in text
    assert [left.reason for left in found.left_out] == ["a secret: set it in the environment"] * 2


@pytest.mark.parametrize(
    ("script", "message", "fix"),
    [
        (f"{SUBMIT} --props other.properties", "other.properties, which does not exist", "config import"),
        (f"{SUBMIT} --op 'UPSERT", "no shell can read", "quotes"),
        (f"{SUBMIT} --op", "--op has no value", "complete"),
        (f"{SUBMIT} {INCREMENTAL}", "do not name their bucket", "--bucket"),
    ],
)
def test_errors_name_the_fix(tmp_path: Path, script: str, message: str, fix: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(script + "\n")
    with pytest.raises(UsageError, match=message) as caught:
        convert(read_jobs([path]))
    assert fix in (caught.value.hint or "")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "run.sh"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=f"cannot read {path}"):
        read_jobs([path])


@given(
    st.dictionaries(
        st.from_regex(r"hoodie\.own\.[a-z]{1,5}", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl"]), min_size=1).map(str.strip).filter(bool),
        max_size=3,
    ),
    st.sampled_from(["SELECT  'a: b' # x", "true", "null", "1", "- a", "*", "a\tb", "é", "{a}", "x: y"]),
)
def test_what_is_printed_loads_as_what_was_converted(options: dict[str, str], odd: str) -> None:
    properties = options | {"hoodie.own.odd": odd, "hoodie.streamer.source.hoodieincr.path": "x"}
    conversion = convert([StreamerJob(Path("x"), {"target-table": "t"}, properties, {})], bucket="b")
    text = render_conversion(conversion, "x")
    assert YAML(typ="safe", pure=True).load(text) == conversion.data


def test_the_command(tmp_path: Path) -> None:
    script, output = tmp_path / "run.sh", tmp_path / "headwater.yaml"
    script.write_text(f"{SUBMIT} {INCREMENTAL} {KEY} --target-table orders --checkpoint 7\n")
    words = ["config", "import", str(script), "--bucket", "b"]
    printed = CliRunner().invoke(app, words)
    assert printed.exit_code == 0
    assert YAML(typ="safe").load(printed.stdout)["tables"]["orders"]["record_key"] == ["id"]
    as_json = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert as_json["left_out"][0]["setting"] == "--checkpoint=7"
    written = CliRunner().invoke(app, [*words, "--output", str(output)])
    assert (written.exit_code, output.read_text()) == (0, printed.stdout)
    assert "without an equivalent: 1;" in written.stdout
    assert CliRunner().invoke(app, ["-c", str(output), "config", "check"]).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--output", str(output)]).exit_code == 2


PROVIDER = "org.apache.hudi.utilities.schema."
SCHEMA_FILE = "hoodie.streamer.schemaprovider.source.schema.file"
REGISTRY_URL = "hoodie.deltastreamer.schemaprovider.registry.url"


@pytest.mark.parametrize(
    ("provider", "properties", "schema"),
    [
        ("FilebasedSchemaProvider", f"{SCHEMA_FILE}=/etc/order.avsc", {"file": "/etc/order.avsc"}),
        ("FilebasedSchemaProvider", f"{SCHEMA_FILE}=file:///etc/order.avsc", {"file": "/etc/order.avsc"}),
        (
            "SchemaRegistryProvider",
            f"{REGISTRY_URL}=http://r:8081/subjects/a%2Fb-value/versions/latest",
            {"registry": "http://r:8081", "subject": "a/b-value"},
        ),
        (
            "SchemaRegistryProvider",
            f"{REGISTRY_URL}=https://r.example.com/api/subjects/orders/versions/3",
            {"registry": "https://r.example.com/api", "subject": "orders", "version": 3},
        ),
    ],
)
def test_schema_providers_become_schemas(
    tmp_path: Path, provider: str, properties: str, schema: dict[str, Any]
) -> None:
    found = convert_command(
        tmp_path,
        f"{INCREMENTAL} {KEY} --target-table orders --schemaprovider-class {PROVIDER}{provider}",
        properties,
    )
    assert table_of(found)["schema"] == schema
    assert not any("schema" in left.setting for left in found.left_out)


@pytest.mark.parametrize(
    ("provider", "properties", "reason"),
    [
        ("FilebasedSchemaProvider", "", "names no `schemaprovider.source.schema.file`"),
        ("FilebasedSchemaProvider", f"{SCHEMA_FILE}=s3://b/order.avsc", "copy it to this machine"),
        ("FilebasedSchemaProvider", f"{SCHEMA_FILE}=/etc/order.json", "copy it to this machine"),
        ("SchemaRegistryProvider", f"{REGISTRY_URL}=http://r:8081", "write `registry` and `subject`"),
        (
            "SchemaRegistryProvider",
            f"{REGISTRY_URL}=http://u:p@r/subjects/s/versions/1",
            "names no `schemaprovider.registry.url` without a secret",
        ),
        ("ProtoClassBasedSchemaProvider", "", "protoc --include_imports"),
        ("JdbcbasedSchemaProvider", "", "see `schema`"),
    ],
)
def test_schema_providers_without_an_equivalent_are_explained(
    tmp_path: Path, provider: str, properties: str, reason: str
) -> None:
    found = convert_command(
        tmp_path,
        f"{INCREMENTAL} {KEY} --target-table orders --schemaprovider-class {PROVIDER}{provider}",
        properties,
    )
    assert "schema" not in table_of(found)
    assert any(reason in left.reason for left in found.left_out)
