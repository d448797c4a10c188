"""What a session is started with: jars for the pinned PySpark, and all `spark.*` settings. Starts nothing."""

import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from headwater.config.settings import PoolConfig, Settings
from headwater.lake.typed_options.locks import to_session_settings

HUDI_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
"""Matches the pinned `pyspark==3.5.x`; moves together with it and with `hudi` in pyproject.toml."""

S3A_PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.3.4",
    "com.amazonaws:aws-java-sdk-s3:1.12.262",
    "com.amazonaws:aws-java-sdk-core:1.12.262",
    "com.amazonaws:jmespath-java:1.12.262",
    "com.amazonaws:aws-java-sdk-dynamodb:1.12.262",
    "com.amazonaws:aws-java-sdk-sts:1.12.262",
)
"""All that is needed, 5.5 MB instead of the 280 MB bundle. hadoop-aws must equal PySpark's own Hadoop;
`dynamodb` is linked by S3A 3.3.4 although no call is made; `sts` serves assumed roles and web identities."""

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
    # By default a text that Spark 2 took for a date and Spark 3 does not, as `2024-02-30`, fails the batch.
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # Hudi's files do not say which calendar they have, and then Spark refuses to read or write dates before
    # 1582 and times before 1900. All of them are in the Gregorian calendar, as pyarrow and hudi-rs take them.
    **{
        f"spark.sql.{file}RebaseModeIn{action}": "CORRECTED"
        for file in ("parquet.datetime", "parquet.int96", "avro.datetime")
        for action in ("Read", "Write")
    },
}
"""Without these something is wrong or fails; so a session that somebody else has made gets them, too."""

NEEDED_HADOOP_SETTINGS = {
    # With Hudi's default, the two-level lists of old Avro, a null in an array fails the commit, and so does
    # every update of copy-on-write rows with an array of structs of one field. It is read from Hadoop's
    # configuration only: neither options of a write nor settings of a running session have an effect.
    "parquet.avro.write-old-list-structure": "false",
}
"""The same, of Hadoop's configuration of the session."""

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
    **{f"spark.hadoop.{name}": value for name, value in NEEDED_HADOOP_SETTINGS.items()},
    # Batches are small and many: a heap that is not cleaned leaves shuffle files behind.
    "spark.cleaner.periodicGC.interval": "10min",
}

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
