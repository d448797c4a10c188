"""Checks that this machine can run headwater: Python, PySpark, Java and the jars. Leaves no JVM running."""

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headwater.config.settings import Settings
from headwater.errors import PlatformError
from headwater.lake.prerequisites.jars import MAVEN_CENTRAL, find_download_size, plan_jars
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.prepared_start import PreparedStart, is_local
from headwater.lake.prerequisites.spark_settings import HUDI_BUNDLE
from headwater.sources.finding import SetupFinding, to_finding

PYTHONS = ((3, 10), (3, 11), (3, 12))
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
        check_start(settings, environ),
    ]


def judge_python(found: tuple[int, int, int]) -> SetupFinding:
    """Check that PySpark's workers run on this Python."""
    text = ".".join(str(part) for part in found)
    if found[:2] in PYTHONS:
        return SetupFinding("python", "ok", text)
    return SetupFinding(
        "python",
        "problem",
        f"{text}; PySpark 3.5 requires 3.10 to 3.12",
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


def check_start(settings: Settings, environ: Mapping[str, str]) -> SetupFinding:
    """Check that `headwater prepare` was run for the selected Java."""
    prepared = PreparedStart.find(environ)
    if not is_local(settings.spark.master):
        return SetupFinding("start", "ok", f"{settings.spark.master} gets its jars from Spark")
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
    prepared = PreparedStart.find(environ) if is_local(settings.spark.master) else None
    missing = [item for item in plan.missing if not (prepared and prepared.find_jar(str(item)))]
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
