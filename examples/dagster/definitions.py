"""Each table of objects in headwater.yaml is an asset, with a check of its completeness."""

import json
import os
import subprocess
from pathlib import Path

import dagster as dg
import yaml

HEADWATER = os.environ.get("HEADWATER", "/opt/headwater/bin/headwater")
CONFIG = os.environ.get("HEADWATER_CONFIG", "/etc/headwater/headwater.yaml")
CONFIGURED = yaml.safe_load(Path(CONFIG).read_text())["tables"]
TABLES = [name for name, table in CONFIGURED.items() if "from" not in table]  # without derived tables


def headwater(*command, accepted):
    """Return the report of a command. Dagster shows its log as stderr of the step."""
    arguments = [HEADWATER, "--config", CONFIG, *command, "--json"]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=False)
    if done.returncode not in accepted:
        # A retry does not change an invalid configuration (code 2).
        description = f"headwater {command[0]}: exit code {done.returncode}, see stderr of this step"
        raise dg.Failure(description, allow_retries=done.returncode != 2)
    return json.loads(done.stdout)


@dg.multi_asset(
    specs=[dg.AssetSpec(table, kinds={"hudi"}) for table in TABLES],
    check_specs=[dg.AssetCheckSpec("complete", asset=table) for table in TABLES],
    pool="headwater",
    retry_policy=dg.RetryPolicy(max_retries=3, delay=120),
)
def tables():
    # Code 3: rows are committed, and some objects are in quarantine, or missing.
    run = headwater("run", "--once", accepted=(0, 3))
    verified = headwater("verify", accepted=(0, 3))
    status = headwater("status", accepted=(0,))
    for table in TABLES:
        yield dg.MaterializeResult(
            asset_key=table,
            metadata={
                "dagster/row_count": status["tables"][table]["rows"],
                "commits": run["tables"][table]["commits"],
                "items in quarantine": run["quarantined"],
            },
            check_results=[
                dg.AssetCheckResult(
                    asset_key=table,
                    check_name="complete",
                    passed=verified["tables"][table]["complete"],
                    metadata={"problems": verified["tables"][table]["problems"]},
                )
            ],
        )


hourly = dg.ScheduleDefinition(name="hourly", cron_schedule="@hourly", target=[tables])
defs = dg.Definitions(assets=[tables], schedules=[hourly])
