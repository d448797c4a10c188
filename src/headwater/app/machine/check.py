"""Checks that this machine can run headwater: Python, PySpark, Java and the jars. Leaves no JVM running."""

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headwater.config.settings import Settings
from headwater.errors import PlatformError
from headwater.lake.prerequisites.jars import MAVEN_CENTRAL, find_download_size, plan_jars
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.lake.prerequisites.prepared_start import PreparedStart
from headwater.lake.prerequisites.spark_settings import list_provided
from headwater.sources.finding import SetupFinding, to_finding

PYTHONS = ((3, 10), (3, 11), (3, 12), (3, 13))
PYSPARK_LINE = "3.5."
MIB = 1024 * 1024


def check_machine(
    settings: Settings, environ: Mapping[str, str], central: str = MAVEN_CENTRAL
) -> list[SetupFinding]:
    """Return five findings."""
    return [
        judge_python(sys.version_info[:3]),
        check_pyspark(),
        check_java(environ),
        check_jars(settings, environ, central),
        check_start(environ),
    ]


def judge_python(found: tuple[int, int, int]) -> SetupFinding:
    """Check that PySpark's workers run on this Python."""
    text = ".".join(str(part) for part in found)
    if found[:2] in PYTHONS:
        return SetupFinding("python", "ok", text)
    return SetupFinding(
        "python",
        "problem",
        f"{text}; headwater runs on 3.10 to 3.13",
        "install headwater with one of these",
    )


def check_pyspark() -> SetupFinding:
    """Check that PySpark is of the release line that the Hudi bundle is built for."""
    fix = "pip install 'pyspark>=3.5,<3.6'"
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return SetupFinding("pyspark", "problem", "not installed", fix)
    if found.startswith(PYSPARK_LINE):
        return SetupFinding("pyspark", "ok", found)
    return SetupFinding("pyspark", "problem", f"{found} is not compatible with {HUDI_BUNDLE}", fix)


def check_java(environ: Mapping[str, str]) -> SetupFinding:
    """Check for a Java that Spark runs on."""
    try:
        java = find_java(environ)
    except PlatformError as error:
        return to_finding("java", error)
    return SetupFinding("java", "ok", f"{java.version} at {java.path}, found by {java.origin}")


def check_start(environ: Mapping[str, str]) -> SetupFinding:
    """Check that `headwater prepare` was run for the selected Java."""
    prepared = PreparedStart.find(environ)
    try:
        archive = prepared.name_archive(find_java(environ).path)
    except PlatformError:
        return SetupFinding("start", "ok", "not checked: no usable Java")
    if archive.is_file():
        return SetupFinding("start", "ok", f"prepared: {archive}")
    return SetupFinding("start", "ok", "not prepared; `headwater prepare` halves the start time of Spark")


def check_jars(settings: Settings, environ: Mapping[str, str], central: str) -> SetupFinding:
    """Check that the jars are present or can be downloaded."""
    plan = plan_jars(settings, Path(environ.get("HOME", str(Path.home()))), central)
    prepared, provided = PreparedStart.find(environ), list_provided(settings)
    if provided and not all(map(prepared.find_jar, provided)):
        return SetupFinding(
            "jars",
            "warning",
            "executors have their jars (spark.executor_jars: provided), and the driver finds them only if "
            "they are in Spark's own jars folder",
            "run headwater prepare, so that the driver has them, too",
        )
    missing = [item for item in plan.missing if not prepared.find_jar(str(item))]
    if not missing:
        count = len(plan.wanted)
        return SetupFinding("jars", "ok", f"{count} package{'' if count == 1 else 's'} on this machine")
    names = ", ".join(f"{item.artifact}-{item.version}" for item in missing)
    if not plan.repositories:
        return SetupFinding(
            "jars",
            "warning",
            f"{names} will be downloaded according to spark.jars.ivySettings, which only Spark can check",
            "run headwater doctor --spark to download them",
        )
    sizes = [find_download_size(item, plan.repositories) for item in missing]
    if None in sizes:
        return SetupFinding(
            "jars",
            "problem",
            f"{names} are neither on this machine nor available from {', '.join(plan.repositories)}",
            "check the network, or set a mirror with spark.config: {spark.jars.ivySettings: FILE} or "
            "{spark.jars.repositories: URL}",
        )
    megabytes = sum(size or 0 for size in sizes) / MIB
    return SetupFinding("jars", "ok", f"{names} will be downloaded at the first start ({megabytes:.0f} MiB)")
