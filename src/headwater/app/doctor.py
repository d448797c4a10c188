"""`diagnose`: finds problems of the setup that can be seen from this machine, and their fixes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone

from headwater.app.catalogs.check import iter_catalog_findings
from headwater.app.iceberg.check import iter_iceberg_findings
from headwater.app.lake_check import check_lake, check_spark
from headwater.app.machine.check import check_machine
from headwater.app.other_buckets import iter_other_buckets
from headwater.app.schema_check import iter_schema_findings
from headwater.app.scope import label_source, locate
from headwater.app.services.lock_check import check_lock
from headwater.app.services.version_check import check_versions
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.lake.prerequisites.jars import MAVEN_CENTRAL
from headwater.observability.clock import Clock, SystemClock
from headwater.sources.finding import SetupFinding
from headwater.sources.registry import build_source


def diagnose(
    settings: Settings,
    environ: Mapping[str, str],
    start_spark: bool = False,
    *,
    clock: Clock | None = None,
    central: str = MAVEN_CENTRAL,
) -> list[SetupFinding]:
    """Return findings in the order of the data: machine, source, lake. Never raises expected errors.

    `start_spark` writes a tiny table to the lake, reads and removes it; this takes tens of seconds. `central`
    is the Maven repository that is asked last for missing jars.
    """
    lake = check_lake(settings)
    findings = [
        *check_machine(settings, environ, central),
        *check_source(settings, clock or SystemClock()),
        *lake,
        *check_lock(settings, environ),
        *iter_schema_findings(settings),
        *iter_catalog_findings(settings),
        *iter_iceberg_findings(settings, datetime.now(timezone.utc)),
        # Each request to a lake that does not answer takes long.
        *(check_versions(settings) if is_healthy(lake) else []),
        *(iter_other_buckets(settings) if is_healthy(lake) else []),
    ]
    if start_spark:
        findings.append(check_spark(settings, environ))
    return findings


def check_source(settings: Settings, clock: Clock) -> list[SetupFinding]:
    """Return findings about each source: its folder, or bucket, queue and the resources between them."""
    found: list[SetupFinding] = []
    for source in settings.sources:
        label = label_source(settings, source)
        checked = build_source(source).check(needs_removals=_has_mirror(settings, source), clock=clock)
        found += [replace(one, name=f"{label}: {one.name}") if label else one for one in checked]
    return found


def _has_mirror(settings: Settings, source: SourceConfig) -> bool:
    """True if a table needs events of deleted objects of the source."""
    return any(
        table.effective_mode == "mirror"
        and any(locate(source) == locate(one) for one in settings.list_sources_of(name))
        for name, table in settings.object_tables.items()
    )


def is_healthy(findings: list[SetupFinding]) -> bool:
    """True if there is no problem; warnings are allowed."""
    return all(finding.status != "problem" for finding in findings)
