"""The jars of a session, as Maven coordinates for the pinned PySpark."""

from collections.abc import Collection, Mapping
from typing import Literal

FileSystem = Literal["s3a", "gs", "abfss"]
"""A file system that Spark has only with further jars."""

ReadFormat = Literal["delta", "iceberg"]
"""A table format that Spark reads only with further jars."""

HUDI_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
"""Matches the pinned `pyspark==3.5.x`; change it together with that and `hudi` in `pyproject.toml`."""

S3A_PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.3.4",
    "com.amazonaws:aws-java-sdk-s3:1.12.262",
    "com.amazonaws:aws-java-sdk-core:1.12.262",
    "com.amazonaws:jmespath-java:1.12.262",
    "com.amazonaws:aws-java-sdk-dynamodb:1.12.262",
    "com.amazonaws:aws-java-sdk-sts:1.12.262",
)
"""The required jars: 5.5 MB instead of the 280 MB bundle.

hadoop-aws must match PySpark's Hadoop. S3A 3.3.4 links `dynamodb` without calling it. `sts` serves assumed
roles and web identities.
"""

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
"""Excluded, because PySpark includes newer versions, and a second copy on the class path fails at run
time."""

GCS_PACKAGE = "org.apache.spark:spark-hadoop-cloud_2.12:3.5.8"
"""Brings `GCS_CONNECTOR`, in the version that this release of Spark is tested with.

The connector's main jar conflicts with Spark's Guava. Its `shaded` jar does not, but `spark.jars.packages`
selects no classifier. Only as a dependency of another package does Ivy resolve it.
"""

GCS_CONNECTOR = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.14:shaded"

GCS_EXCLUDES = (
    "org.apache.hadoop:hadoop-aws",
    "org.apache.hadoop:hadoop-azure",
    "org.apache.hadoop:hadoop-cloud-storage",
    "org.apache.hadoop:hadoop-client-runtime",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-cbor",
    "joda-time:joda-time",
    "org.apache.httpcomponents:httpclient",
    "org.apache.httpcomponents:httpcore",
    "org.eclipse.jetty:jetty-util",
    "org.eclipse.jetty:jetty-util-ajax",
)
"""All other dependencies of `GCS_PACKAGE`: the connector needs none of them."""

AZURE_PACKAGE = "org.apache.hadoop:hadoop-azure:3.3.4"
"""Must match PySpark's Hadoop."""

AZURE_EXCLUDES = (
    "com.microsoft.azure:azure-storage",
    "com.microsoft.azure:azure-keyvault-core",
    "com.google.guava:guava",
    "org.apache.hadoop.thirdparty:hadoop-shaded-guava",
    "org.apache.httpcomponents:httpclient",
    "org.codehaus.jackson:jackson-core-asl",
    "org.codehaus.jackson:jackson-mapper-asl",
    "org.eclipse.jetty:jetty-util-ajax",
    "org.wildfly.openssl:wildfly-openssl",
)
"""Excluded, because PySpark includes them, or only the older driver (`wasb`) needs them."""

DELTA_VERSION = "3.3.2"

FORMAT_PACKAGES: Mapping[ReadFormat, tuple[str, ...]] = {
    "delta": (f"io.delta:delta-spark_2.12:{DELTA_VERSION}", f"io.delta:delta-storage:{DELTA_VERSION}"),
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1",),
}
"""The readers of table formats that headwater reads and does not write; for the pinned PySpark."""

DELTA_EXCLUDES = ("org.antlr:antlr4-runtime",)
"""PySpark includes it in the same version."""

_NEEDED_JARS: Mapping[str, str] = {GCS_PACKAGE: GCS_CONNECTOR}


def list_packages(
    file_systems: Collection[FileSystem], formats: Collection[ReadFormat] = ()
) -> tuple[str, ...]:
    """Return the Maven coordinates that a session needs.

    The Hudi bundle is the first one: an archive of classes fits any class path that begins with the one it
    was written with.
    """
    s3a = S3A_PACKAGES if "s3a" in file_systems else ()
    gcs = (GCS_PACKAGE,) if "gs" in file_systems else ()
    azure = (AZURE_PACKAGE,) if "abfss" in file_systems else ()
    readers = (
        package for name, packages in FORMAT_PACKAGES.items() if name in formats for package in packages
    )
    return (HUDI_BUNDLE, *s3a, *gcs, *azure, *readers)


def list_excludes(
    file_systems: Collection[FileSystem], formats: Collection[ReadFormat] = ()
) -> tuple[str, ...]:
    """Return `group:artifact` of the dependencies that a session must not load."""
    s3a = S3A_EXCLUDES if "s3a" in file_systems else ()
    gcs = GCS_EXCLUDES if "gs" in file_systems else ()
    azure = AZURE_EXCLUDES if "abfss" in file_systems else ()
    delta = DELTA_EXCLUDES if "delta" in formats else ()
    # An exclude also removes a package that is needed itself, such as hadoop-aws.
    needed = {package.rpartition(":")[0] for package in list_packages(file_systems)}
    return tuple(name for name in dict.fromkeys((*s3a, *gcs, *azure, *delta)) if name not in needed)


def find_needed_jar(package: str) -> str:
    """Return the coordinate `group:artifact:version[:classifier]` of the jar for which a package is needed.

    That is the package itself, unless it only brings another one.
    """
    return _NEEDED_JARS.get(package, package)
