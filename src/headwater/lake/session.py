"""The only place that builds a SparkSession, and the one that maps a PySpark version to its jars."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.config.environment import temporary_environment
from headwater.config.settings import PoolConfig, Settings
from headwater.errors import PlatformError
from headwater.lake.failures import is_no_space, measure_free
from headwater.lake.typed_options.locks import to_session_settings

HUDI_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
"""Matches the pinned `pyspark==3.5.x`; moves together with it and with `hudi` in pyproject.toml."""

S3A_PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.3.4",
    "com.amazonaws:aws-java-sdk-s3:1.12.262",
    "com.amazonaws:aws-java-sdk-dynamodb:1.12.262",
    "com.amazonaws:aws-java-sdk-sts:1.12.262",
)
"""5.5 MB instead of the 280 MB bundle. hadoop-aws must equal PySpark's own Hadoop; `dynamodb` is
linked by S3A 3.3.4 although no call is made; `sts` serves assumed roles and web identities."""

S3A_EXCLUDES = (
    "com.amazonaws:aws-java-sdk-bundle",
    "org.wildfly.openssl:wildfly-openssl",
    "com.amazonaws:aws-java-sdk-kms",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-cbor",
    "joda-time:joda-time",
    "commons-logging:commons-logging",
    "commons-codec:commons-codec",
    "org.apache.httpcomponents:httpclient",
    "software.amazon.ion:ion-java",
    "com.amazon.ion:ion-java",
)
"""What PySpark brings itself, newer; a second copy on the class path breaks at run time."""

NEEDED_SETTINGS = {
    # Every incremental read sets this for the whole session (HoodieFileGroupReaderBasedFileFormat), and a
    # snapshot that another thread has planned by then fails with a ClassCastException: so it is set from the
    # start. Measured over a million rows, batches would read them in 0.8 to 1.1 times the time.
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Pruned parsing reads fewer fields than the schema has and so sees fewer corrupt records.
    "spark.sql.optimizer.enableJsonExpressionOptimization": "false",
    "spark.sql.optimizer.enableCsvExpressionOptimization": "false",
}
"""Without these something is wrong or fails; so a session that somebody else has made gets them, too."""

_OWN_FOLDER = re.compile(r"(/\S*)/spark-[0-9a-f]{8}-[0-9a-f-]{27}/")
"""What Spark makes for itself in its folder for temporary files."""

_SPARK_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Records are kept for the seconds of one batch: compressing them takes longer than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # One Python stage waits for a whole batch of the one before it: with Spark's 10,000, for a second.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    **NEEDED_SETTINGS,
    # Batches are small and many: a heap that is not cleaned leaves shuffle files behind.
    "spark.cleaner.periodicGC.interval": "10min",
}

_POOLS_SETTING = "spark.scheduler.allocation.file"

_S3A_SETTINGS = {
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    # The same order as boto3: environment, profile, container, instance.
    "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
}


def list_packages(needs_s3a: bool) -> tuple[str, ...]:
    """Maven coordinates that a session needs."""
    return (HUDI_BUNDLE, *S3A_PACKAGES) if needs_s3a else (HUDI_BUNDLE,)


def uses_s3a(settings: Settings) -> bool:
    """Whether Spark itself touches S3: an S3 lake, or a source whose large objects it splits."""
    return settings.source.type == "s3" or settings.lake.startswith(("s3a://", "s3://"))


def build_spark_settings(settings: Settings) -> dict[str, str]:
    """All `spark.*` settings of a run; the user's own win."""
    needs_s3a = uses_s3a(settings)
    built = dict(_SPARK_SETTINGS)
    built["spark.master"] = settings.spark.master
    built["spark.app.name"] = "headwater"
    built["spark.driver.memory"] = settings.spark.driver_memory
    built["spark.jars.packages"] = ",".join((*list_packages(needs_s3a), *settings.spark.packages))
    if not settings.spark.master.startswith("local["):
        # By default the number of executors at that moment decides how files are split, and two passes
        # over large objects would disagree after one was added.
        built["spark.sql.files.minPartitionNum"] = "64"
    if settings.spark.master.startswith("local"):
        built["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
        built["spark.driver.host"] = "127.0.0.1"
        built["spark.driver.bindAddress"] = "127.0.0.1"
    if needs_s3a:
        built["spark.jars.excludes"] = ",".join(S3A_EXCLUDES)
        built |= _S3A_SETTINGS
        built |= dict(_iter_s3a_buckets(settings))
    return built | to_session_settings(settings.lock) | settings.spark.config


def _iter_s3a_buckets(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.lake.startswith(("s3a://", "s3://")):
        store = settings.lake_storage
        path_style = bool(store.endpoint) if store.path_style is None else store.path_style
        yield from _iter_s3a_bucket(urlsplit(settings.lake).netloc, store.endpoint, store.region, path_style)
    source = settings.source
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


def build_session(settings: Settings, *, java_home: str, log_file: Path) -> SparkSession:
    """Build the one SparkSession. The JVM's own output goes to `log_file`, not to the terminal.

    Raises `PlatformError` when the jars cannot be fetched or the JVM does not start.
    """
    conf = SparkConf()
    for name, value in build_spark_settings(settings).items():
        conf.set(name, value)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    if settings.spark.pools and _POOLS_SETTING not in settings.spark.config:
        pools_file = log_file.with_name("pools.xml")
        pools_file.write_bytes(build_pools(settings.spark.pools))
        conf.set(_POOLS_SETTING, pools_file.absolute().as_uri())
    with _jvm_environment({"JAVA_HOME": java_home}), _output_to(log_file):
        try:
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
        except (PySparkException, Py4JError, OSError, RuntimeError) as error:
            raise _explain_start_failure(log_file, str(error)) from error
    spark.sparkContext.setLogLevel("WARN")
    return spark


def build_pools(pools: Mapping[str, PoolConfig]) -> bytes:
    """Spark's file of fair pools: XML."""
    root = Element("allocations")
    for name, pool in pools.items():
        element = SubElement(root, "pool", name=name)
        SubElement(element, "schedulingMode").text = "FIFO"
        SubElement(element, "weight").text = str(pool.weight)
        SubElement(element, "minShare").text = str(pool.min_share)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def is_session_alive(spark: SparkSession) -> bool:
    """Whether the JVM behind a session still runs; one that this process did not start counts as running."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def find_jvm_process(spark: SparkSession) -> int | None:
    """The number of the JVM's process; None when this process did not start it."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return None if process is None else int(process.pid)


def _explain_start_failure(log_file: Path, text: str) -> PlatformError:
    if is_no_space(text):
        found = _OWN_FOLDER.search(text)
        where = found[1] if found else tempfile.gettempdir()
        return PlatformError(
            f"Spark did not start: no space left for its temporary files in {where}{measure_free(where)}",
            hint="it copies its jars there, some 90 MB: free space, or name a larger place: "
            "`spark: {config: {spark.local.dir: FOLDER}}`",
        )
    log = log_file.read_text("utf-8", errors="replace")[-50_000:]
    if "UNRESOLVED DEPENDENCIES" in log or "unresolved dependency" in log or "download failed" in log:
        return PlatformError(
            "the Hudi jars could not be downloaded from Maven Central",
            hint="check the network or proxy, or name a mirror with spark.config: "
            f"{{spark.jars.ivySettings: FILE}}; what Ivy said is in {log_file}",
        )
    if "UnsupportedClassVersionError" in log:
        return PlatformError("this Java is too old for Spark and Hudi", hint="use Java 11 or 17")
    return PlatformError(
        "Spark did not start", hint=f"the JVM's own output is in {log_file}; `headwater doctor` checks Java"
    )


@contextmanager
def _jvm_environment(values: Mapping[str, str]) -> Iterator[None]:
    # PySpark starts the JVM from the process environment and offers no other way to name a Java.
    with temporary_environment({**values, "PYSPARK_PYTHON": sys.executable}):
        yield


@contextmanager
def _output_to(log_file: Path) -> Iterator[None]:
    """Let a child process started meanwhile inherit the file as its output: our own stdout may be JSON."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        with log_file.open("ab") as log:
            for descriptor in saved:
                os.dup2(log.fileno(), descriptor)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, copy in saved.items():
            os.dup2(copy, descriptor)
            os.close(copy)
