"""Each table of headwater.yaml is an asset, with checks of its completeness and its quarantine.

headwater keeps its own environment. HEADWATER is its command, HEADWATER_CONFIG its configuration.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import dagster as dg
import yaml

HEADWATER = os.environ.get("HEADWATER", "/opt/headwater/bin/headwater")
CONFIG = os.environ.get("HEADWATER_CONFIG", "/etc/headwater/headwater.yaml")
TABLES = list(yaml.safe_load(Path(CONFIG).read_text())["tables"])


def call(context, *command, accepted=(0,)):
    """Return what a command with --json prints; its log goes to the log of the run."""
    arguments = [HEADWATER, "--config", CONFIG, *command, "--json"]
    line = ""
    with tempfile.TemporaryFile("w+") as report:
        process = subprocess.Popen(arguments, stdout=report, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                context.log.info(line.rstrip())
            code = process.wait()
        except BaseException:
            # Dagster stops the run: end after the open commits.
            process.terminate()
            process.wait()
            raise
        report.seek(0)
        printed = report.read()
    if code in accepted:
        return printed
    # Code 1 may be an outage. A retry changes neither a wrong configuration (2) nor differences (3).
    description = f"headwater {command[0]}: exit code {code}: {printed or line}"
    raise dg.Failure(description, allow_retries=code not in (2, 3))


@dg.multi_asset(
    specs=[dg.AssetSpec(table, group_name="headwater", kinds={"hudi"}) for table in TABLES],
    check_specs=[dg.AssetCheckSpec(name, asset=t) for t in TABLES for name in ("complete", "quarantine")],
    can_subset=True,
    pool="headwater",
    retry_policy=dg.RetryPolicy(max_retries=3, delay=120, backoff=dg.Backoff.EXPONENTIAL),
)
def tables(context: dg.AssetExecutionContext):
    chosen = sorted(key.to_user_string() for key in context.selected_asset_keys)
    options = [word for table in chosen for word in ("--table", table)]
    ran = json.loads(call(context, "run", "--once", *options, accepted=(0, 3)))["tables"]
    status = json.loads(call(context, "status"))["tables"]
    verified = json.loads(call(context, "verify", *options, accepted=(0, 3)))["tables"]
    quarantined = [json.loads(line)["table"] for line in call(context, "quarantine", "list").splitlines()]
    for table in chosen:
        yield dg.MaterializeResult(
            asset_key=table,
            metadata={
                "dagster/row_count": status[table]["rows"],
                "written rows": ran[table]["rows"],
                "commits": ran[table]["commits"],
                "lag in seconds": status[table]["lag_seconds"],
            },
        )
        items = quarantined.count(table)
        results = [
            dg.AssetCheckResult(
                asset_key=table,
                check_name="complete",
                passed=verified[table]["complete"],
                metadata={"problems": dg.MetadataValue.json(verified[table]["problems"])},
            ),
            dg.AssetCheckResult(
                asset_key=table,
                check_name="quarantine",
                passed=not items,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"items": items},
            ),
        ]
        yield from (found for found in results if found.asset_check_key in context.selected_asset_check_keys)


defs = dg.Definitions(
    assets=[tables],
    schedules=[dg.ScheduleDefinition(name="hourly", cron_schedule="@hourly", target=[tables])],
)
