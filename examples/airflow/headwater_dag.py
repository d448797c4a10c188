"""Each hour: ingest pending objects, then prove that the tables are complete."""

import json
import os
from datetime import datetime, timedelta

from airflow.sdk import Asset, dag, task
from airflow.sdk.exceptions import AirflowFailException

HEADWATER = os.environ.get("HEADWATER", "/opt/headwater/bin/headwater --config /etc/headwater/headwater.yaml")


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def headwater():
    @task.bash(
        retries=3,
        retry_delay=timedelta(minutes=2),
        outlets=[Asset("headwater")],
        output_processor=json.loads,
    )
    def ingest():
        # Code 3: rows are committed, and something is in quarantine, which must not hold up other tasks.
        # XCom gets the last line that a command prints: the report, without its line breaks.
        return f"set -o pipefail; {HEADWATER} run --once --json | tr -d '\\n' || [ $? = 3 ]"

    @task.bash
    def verify():
        return f"{HEADWATER} verify"

    @task
    def quarantine(report):
        if report["quarantined"]:
            raise AirflowFailException(f"{report['quarantined']} items: headwater quarantine list")

    ingested = ingest()
    ingested >> verify()
    quarantine(ingested)


headwater()
