"""What HoodieStreamer's settings are called here, and why some have no equivalent."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime

Read = Callable[[str], object]

PREFIXES = ("hoodie.streamer.", "hoodie.deltastreamer.")


def read_list(text: str) -> list[str]:
    """Return the parts of a comma-separated text."""
    return [part.strip() for part in text.split(",") if part.strip()]


def read_format(text: str) -> str:
    """Return the format that Spark calls so."""
    short = text.lower()
    return short.rsplit(".", 1)[-1] if "." in short else short


def read_options(text: str) -> dict[str, str]:
    """Return reader options of a JSON object. Raises `ValueError` or `TypeError` for another text."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("not a JSON object")
    return {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}


def read_instant(text: str) -> str:
    """Return the time of a checkpoint, such as `20260131120000000#key`; empty for one without a time."""
    instant = text.partition("#")[0]
    try:
        time = datetime.strptime(instant[:14], "%Y%m%d%H%M%S")
    except ValueError:
        return ""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if instant.isdecimal() and len(instant) in (14, 17) else ""


def read_scheme(text: str) -> str:
    """Return a URL scheme without its end."""
    return text.lower().removesuffix("://")


OF_QUEUE: Mapping[str, tuple[str, Read]] = {
    "s3.source.queue.url": ("source.queue.url", str),
    "s3.source.queue.region": ("source.queue.region", str),
    "s3.source.queue.fs": ("source.file_system_scheme", read_scheme),
    "s3.source.queue.long.poll.wait": ("source.queue.long_poll_wait", int),
    "s3.source.queue.max.messages.per.batch": ("source.queue.max_messages_per_batch", int),
    "s3.source.queue.max.messages.per.request": ("source.queue.max_messages_per_request", int),
    "s3.source.queue.visibility.timeout": ("source.queue.visibility_timeout", int),
    "s3.source.queue.processing.parallelism": ("source.queue.receivers", int),
    "source.gcs.project.id": ("source.project", str),
    "source.gcs.subscription.id": ("source.subscription", str),
}
"""Keys of a job that captures events, without their prefix."""

OF_OBJECTS: Mapping[str, tuple[str, Read]] = {
    "source.hoodieincr.file.format": ("format", read_format),
    "source.cloud.data.datafile.format": ("format", read_format),
    "source.s3incr.fs.prefix": ("source.file_system_scheme", read_scheme),
    "source.cloud.data.select.relpath.prefix": ("prefix", str),
    "source.s3incr.key.prefix": ("prefix", str),
    "source.cloud.data.ignore.relpath.prefix": ("ignore_prefix", str),
    "source.s3incr.ignore.key.prefix": ("ignore_prefix", str),
    "source.cloud.data.ignore.relpath.substring": ("ignore_substring", str),
    "source.s3incr.ignore.key.substring": ("ignore_substring", str),
    "source.cloud.data.datasource.options": ("options", read_options),
    "source.cloud.data.partition.fields.from.path": ("partition_columns", read_list),
    "source.cloud.data.max.files.per.sync": ("max_files_per_trigger", int),
}
"""Keys of a job that writes a table, without their prefix. Only those of `source.` are the lake's."""

OF_TABLE: Mapping[str, tuple[str, Read]] = {
    "hoodie.clean.commits.retained": ("keep_commits", int),
    "hoodie.cleaner.commits.retained": ("keep_commits", int),
    "hoodie.compact.inline.max.delta.commits": ("compact_after", int),
    "hoodie.metadata.enable": ("metadata_table", lambda text: text.lower() == "true"),
}
"""Options of Hudi with a key of their own. Most others go to the table's `hoodie`."""

OF_BUCKETS: Mapping[str, tuple[str, Read]] = {
    "hoodie.bucket.index.num.buckets": ("index.buckets", int),
    "hoodie.index.bucket.engine": ("index.engine", str.lower),
}
"""Options of a bucket index."""

STARTS: Mapping[str, str] = {"READ_LATEST": "latest", "READ_UPTO_LATEST_COMMIT": "earliest"}
"""Strategies for a job without a checkpoint."""

PAYLOADS: Mapping[str, tuple[str, object]] = {
    "OverwriteWithLatestAvroPayload": ("merge_mode", "commit_time"),
    "DefaultHoodieRecordPayload": ("merge_mode", "event_time"),
    "EventTimeAvroPayload": ("merge_mode", "event_time"),
    "PartialUpdateAvroPayload": ("partial_updates", True),
}

_BOUNDED = "a batch ends by max_files_per_trigger and max_bytes_per_trigger"
_RETRIED = "transient failures are always retried"
_POOLS = "shares of the cores are in spark.pools"

REASONS: Mapping[str, str] = {
    "source.input.selector": "all message formats are detected by their content",
    "source.cloud.meta.": "the size of a batch decides",
    "source.hoodieincr.path": "the events table is below `lake`",
    "source.hoodieincr.num_instants": _BOUNDED,
    "source.cloud.data.check.file.exists": "every object is checked; a missing one is reported",
    "source.cloud.data.reader.comma.separated.path.format": "objects are read one by one",
    "source.cloud.data.reader.coalesce.aliases": "there are no aliases",
    "source.cloud.data.merge.schema.enable": "see schema_evolution_mode; new columns are added by default",
    "source.cloud.data.include.source.path.field": "every row has its object in _headwater_ columns",
    "source.cloud.data.partition.max.size": "small objects are grouped; see large_file_bytes for others",
    "source.dfs.listing": "a folder is watched, and a bucket announces its objects",
    "schemaprovider.": "see `schema`: DDL, a file, or a subject of a registry",
    "source.kafka.": "see `source` with `type: kafka`",
    "kafka.": "see `source` with `type: kafka`",
    "jdbc.": "headwater reads objects; JDBC is not supported",
    "keygen.timebased.": "derive the partition with a transform, such as date_format",
    "transformer.": "belongs to a transformer that is not converted",
    "checkpoint.": "see start_from for a new table",
    "ingestion.tablesToBeIngested": "each table is a job of its own here",
    "ingestion.targetBasePath": "tables are below `lake`",
}
"""Beginnings of keys without their prefix; the longest one that fits has the reason."""

REASONS_OF_HUDI: Mapping[str, str] = {
    "hoodie.errortable.": "bad records and objects are always quarantined: headwater quarantine list",
    "hoodie.precommit.validators": "write `checks` on the table",
    "hoodie.prewrite.validators": "write `checks` on the table",
    "hoodie.metrics.": "metrics are served at observability.listen",
    "hoodie.datasource.hive_sync.": "the catalog's columns, partitions and location follow the table",
    "hoodie.datasource.meta.sync.": "see `catalogs`",
    "hoodie.datasource.meta_sync.": "see `catalogs`",
    "hoodie.meta.sync.": "see `catalogs`",
    "hoodie.gcp.bigquery.sync.": "see `catalogs`",
    "hoodie.datasource.write.keygenerator.": "record_key and partition decide",
    "hoodie.datasource.write.reconcile.schema": "see schema_evolution_mode",
    "hoodie.keygen.timebased.": "derive the partition with a transform, such as date_format",
    "hoodie.table.keygenerator.": "record_key and partition decide",
    "hoodie.write.lock.": "see `lock`",
    "hoodie.write.concurrency.": "see `lock`",
    "hoodie.clean.failed.writes.policy": "follows from `lock`",
    "hoodie.cleaner.policy.failed.writes": "follows from `lock`",
    "hoodie.compact.inline": "see compact_after and services",
    "hoodie.bucket.index.": "options of a bucket index",
    "hoodie.index.bucket.": "options of a bucket index",
    "hoodie.datasource.write.partitionpath.": "see partition and url_encode_partitions",
    "hoodie.base.path": "the table is below `lake`",
    "hoodie.datasource.write.hive_style_partitioning": "see partition_style",
    "hoodie.datasource.write.insert.drop.duplicates": "see filter_duplicates",
}

REASONS_OF_FLAGS: Mapping[str, str] = {
    "allow-commit-on-no-checkpoint-change": "a batch without rows needs no commit",
    "bootstrap-index-class": "see headwater table NAME bootstrap",
    "bootstrap-overwrite": "see headwater table NAME bootstrap",
    "cluster-scheduling-minshare": _POOLS,
    "cluster-scheduling-weight": _POOLS,
    "commit-on-errors": "bad records are quarantined, and good ones committed",
    "compact-scheduling-minshare": _POOLS,
    "compact-scheduling-weight": _POOLS,
    "config-hot-update-strategy-class": "SIGHUP reloads the configuration",
    "delta-sync-scheduling-minshare": _POOLS,
    "delta-sync-scheduling-weight": _POOLS,
    "disable-compaction": "see services",
    "enable-hive-support": "a catalog is a section of `catalogs`",
    "force-empty-sync": "a catalog is compared at every start",
    "help": "see headwater --help",
    "ignore-checkpoint": "see headwater replay",
    "ingestion-metrics-class": "metrics are served at observability.listen",
    "initial-checkpoint-provider": "set start_from to a time",
    "max-retry-count": _RETRIED,
    "merge-strategy-id": "follows from `merger`",
    "post-write-termination-strategy-class": "see stop_when, such as `stop_when: {idle_for: 10m}`",
    "retry-interval-seconds": _RETRIED,
    "retry-last-pending-inline-clustering": "pending plans are always completed",
    "retry-last-pending-inline-compaction": "pending plans are always completed",
    "retry-on-source-failures": _RETRIED,
    "run-bootstrap": "see headwater table NAME bootstrap",
    "schemaprovider-class": "see `schema` of a table",
    "merge-impl-classes": "follows from `merge_mode`",
    "sync-tool-classes": "see `catalogs`",
    "spark-app-name": "the application is named after the lake",
}

REASONS_OF_SPARK: Mapping[str, str] = {
    "class": "",
    "verbose": "",
    "name": "",
    "deploy-mode": "the driver runs where headwater runs",
    "properties-file": "set its lines in spark.config",
    "spark.serializer": "",
    "spark.sql.extensions": "",
    "spark.kryo.registrator": "",
    "spark.sql.catalog.spark_catalog": "",
    "spark.sql.hive.convertMetastoreParquet": "",
}
"""Options of `spark-submit`; those without a reason are what headwater sets itself."""

SPARK_SETTINGS: Mapping[str, str] = {
    "executor-memory": "spark.executor.memory",
    "executor-cores": "spark.executor.cores",
    "num-executors": "spark.executor.instances",
    "total-executor-cores": "spark.cores.max",
    "driver-cores": "spark.driver.cores",
    "queue": "spark.yarn.queue",
    "files": "spark.files",
    "archives": "spark.archives",
    "repositories": "spark.jars.repositories",
    "driver-java-options": "spark.driver.extraJavaOptions",
    "driver-class-path": "spark.driver.extraClassPath",
}

CHANGE_RECORDS: Mapping[str, str] = {
    "AWSDmsAvroPayload": "dms",
    "AWSDmsTransformer": "dms",
    "MySqlDebeziumAvroPayload": "debezium",
    "PostgresDebeziumAvroPayload": "debezium",
}
"""Classes for change records, and the preset of `changes` that replaces them."""
