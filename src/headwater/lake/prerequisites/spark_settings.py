"""Builds the settings of a session: its jars, and all `spark.*`. Starts nothing."""

import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from headwater.config.azure_account import AZURE_SCHEMES
from headwater.config.settings import Settings
from headwater.config.spark import PoolConfig, SparkConfig
from headwater.lake.allocator import ARENAS, ARENAS_VARIABLE
from headwater.lake.prerequisites.driver_memory import (
    choose_driver_memory,
    count_local_cores,
    measure_memory,
)
from headwater.lake.prerequisites.packages import FileSystem, ReadFormat, list_excludes, list_packages
from headwater.lake.typed_options.locks import to_session_settings

NEEDED_SETTINGS = {
    # Every incremental read sets this for the whole session (`HoodieFileGroupReaderBasedFileFormat`). A
    # snapshot read that another thread has planned before then fails with a ClassCastException. Set from the
    # start, no plan differs. Vectorized reads of a million rows took 0.8 to 1.1 times the time.
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Pruned parsing reads fewer fields than the schema has, and therefore misses corrupt records.
    "spark.sql.optimizer.enableJsonExpressionOptimization": "false",
    "spark.sql.optimizer.enableCsvExpressionOptimization": "false",
    # By default, a date that only Spark 2 accepts, such as `2024-02-30`, fails the batch.
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # Hudi files do not record their calendar. By default, Spark therefore rejects dates before 1582 and times
    # before 1900. All values are Gregorian, as pyarrow and hudi-rs assume.
    **{
        f"spark.sql.{file}RebaseModeIn{action}": "CORRECTED"
        for file in ("parquet.datetime", "parquet.int96", "avro.datetime")
        for action in ("Read", "Write")
    },
}
"""Required for correctness, so sessions built by other code get these settings, too."""

NEEDED_HADOOP_SETTINGS = {
    # Hudi's default is the two-level list structure of old Avro. With it, a null in an array fails the
    # commit, and so does updating copy-on-write rows with an array of single-field structs. Hudi reads this
    # only from the Hadoop configuration: write options and runtime settings have no effect.
    "parquet.avro.write-old-list-structure": "false",
}
"""Required settings of the session's Hadoop configuration."""

_JAVA_OPTIONS = " ".join(
    (
        # Spark caches rows in arrays of 4 MB. With the default region of a small heap, 1 MB, each of them
        # takes regions of its own, and a heap with free space runs out of memory. Other collectors ignore it.
        "-XX:G1HeapRegionSize=16m",
        # Spark generates classes for each plan, and the JVM compiles them: three tables had 142 MB of code
        # after an hour, of 240 by default. Without space, a JVM stops compiling, or ends. Only used space
        # takes memory.
        "-XX:ReservedCodeCacheSize=512m",
    )
)

_SPARK_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Records are cached for the seconds of one batch: compression takes longer than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Each core holds blocks of this size in memory: as read, as cached, and as written.
    "spark.sql.files.maxPartitionBytes": "64m",
    **{f"spark.{role}.defaultJavaOptions": _JAVA_OPTIONS for role in ("driver", "executor")},
    # A Python stage waits for a full batch of the previous one: about a second with Spark's default of
    # 10,000.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    **NEEDED_SETTINGS,
    **{f"spark.hadoop.{name}": value for name, value in NEEDED_HADOOP_SETTINGS.items()},
    # Batches are small and frequent: without garbage collection on the driver, shuffle files accumulate.
    "spark.cleaner.periodicGC.interval": "10min",
    # Three tables have about 220 generated classes. With Spark's default of 100, most batches compile some
    # of them again.
    "spark.sql.codegen.cache.maxEntries": "1000",
}
# The optimizing compiler takes a third of the CPU of a run of a few rows, and ends after it.
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1"

_DELTA_SETTINGS = {
    # Without the extension, Spark reads deleted rows of files with deletion vectors. Hudi's comes first, and
    # keeps the session's catalog.
    "spark.sql.extensions": ",".join(
        (_SPARK_SETTINGS["spark.sql.extensions"], "io.delta.sql.DeltaSparkSessionExtension")
    ),
    # Delta reads its log in this many tasks; the default of 50 takes seconds on a single machine.
    "spark.databricks.delta.snapshotPartitions": "2",
}

_S3A_SETTINGS = {
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    # The same order as boto3: environment, profile, container, instance.
    "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
}


def list_provided(settings: Settings) -> tuple[str, ...]:
    """Return the packages that executors have without the driver's help."""
    if settings.spark.executor_jars == "ship" or is_local(settings.spark.master):
        return ()
    return list_packages(list_file_systems(settings), list_formats(settings))


def is_local(master: str) -> bool:
    """True if driver and executors share one JVM."""
    return master == "local" or master.startswith("local[")


def choose_python(spark: Mapping[str, str], environ: Mapping[str, str], own: str) -> str:
    """Return the interpreter of the executors' Python workers: the user's, else `own`, the driver's.

    PySpark reads `PYSPARK_PYTHON`, and the setting only in programs that spark-submit starts. For a `local`
    master the variable counts for nothing: it may name a Python without headwater.
    """
    if given := spark.get("spark.pyspark.python"):
        return given
    return own if is_local(spark["spark.master"]) else environ.get("PYSPARK_PYTHON") or own


def list_file_systems(settings: Settings) -> frozenset[FileSystem]:
    """Return the object stores that Spark itself accesses: of the lake, and of large objects in splits."""
    found: set[FileSystem] = set()
    if any(source.type == "s3" for source in settings.sources) or settings.lake.startswith(
        ("s3a://", "s3://")
    ):
        found.add("s3a")
    if settings.lake.startswith("gs://") or any(
        source.type == "gcs" and source.file_system_scheme for source in settings.sources
    ):
        found.add("gs")
    if settings.lake.startswith(AZURE_SCHEMES) or any(
        source.type == "azure" and source.file_system_scheme for source in settings.sources
    ):
        found.add("abfss")
    return frozenset(found)


def list_formats(settings: Settings) -> frozenset[ReadFormat]:
    """Return the formats of source tables that are read with further jars."""
    found: set[ReadFormat] = set()
    for table in settings.derived_tables.values():
        for outside in table.outside_tables.values():
            if outside.format != "hudi":
                found.add(outside.format)
    return frozenset(found)


def build_spark_settings(settings: Settings, *, is_brief: bool = False) -> dict[str, str]:
    """Build all `spark.*` settings of a run; the user's settings win.

    `is_brief`: the session ends before optimized code saves the time that it takes to compile.
    """
    file_systems, formats = list_file_systems(settings), list_formats(settings)
    built = dict(_SPARK_SETTINGS)
    if is_brief:
        built["spark.driver.defaultJavaOptions"] = f"{_JAVA_OPTIONS} {_QUICK_COMPILER}"
    built["spark.master"] = settings.spark.master
    built["spark.app.name"] = "headwater"
    built["spark.driver.memory"] = settings.spark.driver_memory or choose_driver_memory(
        count_local_cores(settings.spark.master), measure_memory()
    )
    built["spark.jars.packages"] = ",".join((*list_packages(file_systems, formats), *settings.spark.packages))
    if not settings.spark.master.startswith("local["):
        # By default, file splits depend on the current number of executors. Two passes over large objects
        # would differ after an executor was added.
        built["spark.sql.files.minPartitionNum"] = "64"
        built[f"spark.executorEnv.{ARENAS_VARIABLE}"] = ARENAS
    if settings.spark.master.startswith("local"):
        built["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
        built["spark.driver.host"] = "127.0.0.1"
        built["spark.driver.bindAddress"] = "127.0.0.1"
    built |= dict(_iter_addresses(settings.spark))
    if excludes := list_excludes(file_systems, formats):
        built["spark.jars.excludes"] = ",".join(excludes)
    if "delta" in formats:
        built |= _DELTA_SETTINGS
    if "s3a" in file_systems:
        built |= _S3A_SETTINGS
        built |= dict(_iter_s3a_buckets(settings))
    if "gs" in file_systems:
        built |= dict(_iter_gcs(settings))
    return built | to_session_settings(settings.lock) | settings.spark.config


def _iter_addresses(spark: SparkConfig) -> Iterator[tuple[str, str]]:
    given = {
        "spark.driver.host": spark.driver_host,
        "spark.driver.bindAddress": spark.driver_bind_address,
        "spark.driver.port": spark.driver_port,
        "spark.blockManager.port": spark.block_manager_port,
    }
    yield from ((name, str(value)) for name, value in given.items() if value is not None)


def _iter_s3a_buckets(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.lake.startswith(("s3a://", "s3://")):
        store = settings.lake_storage
        path_style = bool(store.endpoint) if store.path_style is None else store.path_style
        yield from _iter_s3a_bucket(urlsplit(settings.lake).netloc, store.endpoint, store.region, path_style)
    for source in settings.sources:
        if source.type == "s3":
            yield from _iter_s3a_bucket(source.bucket, source.endpoint, source.region, bool(source.endpoint))


def _iter_s3a_bucket(
    bucket: str, endpoint: str | None, region: str | None, path_style: bool
) -> Iterator[tuple[str, str]]:
    prefix = f"spark.hadoop.fs.s3a.bucket.{bucket}"
    if endpoint:
        yield f"{prefix}.endpoint", endpoint
        yield f"{prefix}.connection.ssl.enabled", str(endpoint.startswith("https")).lower()
    if endpoint or region:
        yield f"{prefix}.endpoint.region", region or "us-east-1"
    if path_style:
        yield f"{prefix}.path.style.access", "true"


def _iter_gcs(settings: Settings) -> Iterator[tuple[str, str]]:
    # One for all buckets: the configuration has no two different ones.
    endpoint = settings.lake_storage.endpoint
    for source in settings.sources if not settings.lake.startswith("gs://") else ():
        if source.type == "gcs" and source.file_system_scheme:
            endpoint = source.endpoint
    # Hadoop lists its file systems before Spark adds jars, and has no setting of its own for this one.
    yield "spark.hadoop.fs.gs.impl", "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
    if endpoint:
        yield "spark.hadoop.fs.gs.storage.root.url", f"{endpoint}/"
        if endpoint.startswith("http://"):
            yield "spark.hadoop.fs.gs.auth.service.account.enable", "false"
            yield "spark.hadoop.fs.gs.auth.null.enable", "true"


def build_pools(pools: Mapping[str, PoolConfig]) -> bytes:
    """Build Spark's fair scheduler file (XML)."""
    root = Element("allocations")
    for name, pool in pools.items():
        element = SubElement(root, "pool", name=name)
        SubElement(element, "schedulingMode").text = "FIFO"
        SubElement(element, "weight").text = str(pool.weight)
        SubElement(element, "minShare").text = str(pool.min_share)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written
