"""Each hour: ingest pending objects, prove that the tables are complete, and report what is in quarantine.

headwater keeps its own environment. HEADWATER is its command, HEADWATER_CONFIG its configuration.
"""

import json
import os
import subprocess
import tempfile
from datetime import datetime, timedelta

from airflow.sdk import Asset, BaseOperator, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

HEADWATER = os.environ.get("HEADWATER", "/opt/headwater/bin/headwater")
CONFIG = os.environ.get("HEADWATER_CONFIG", "/etc/headwater/headwater.yaml")


class HeadwaterOperator(BaseOperator):
    """Run a command with --json: its log goes to the task's log, its report to XCom."""

    template_fields = ("command",)

    def __init__(self, *, command, accepted=(0,), **arguments):
        super().__init__(**arguments)
        self.command = command
        self.accepted = accepted
        self.process = None

    def execute(self, context):
        arguments = [HEADWATER, "--config", CONFIG, *self.command, "--json"]
        line = ""
        with tempfile.TemporaryFile("w+") as report:
            self.process = subprocess.Popen(arguments, stdout=report, stderr=subprocess.PIPE, text=True)
            for line in self.process.stderr:
                self.log.info(line.rstrip())
            code = self.process.wait()
            report.seek(0)
            printed = report.read()
        if code in self.accepted:
            return json.loads(printed)
        # Code 1 may be an outage. A retry changes neither a wrong configuration (2) nor differences (3).
        kind = AirflowException if code not in (2, 3) else AirflowFailException
        raise kind(f"headwater {self.command[0]}: exit code {code}: {printed or line}")

    def on_kill(self):
        """End the run after the open commits: Airflow calls this for a stopped task and a timeout."""
        if self.process:
            self.process.terminate()
            self.process.wait()


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def headwater():
    retries = {"retries": 3, "retry_delay": timedelta(minutes=2), "retry_exponential_backoff": True}
    # Code 3: rows are committed, and bad objects are in quarantine. They must not hold up what follows.
    ingest = HeadwaterOperator(
        task_id="ingest",
        command=["run", "--once"],
        accepted=(0, 3),
        outlets=[Asset("headwater")],
        **retries,
    )
    verify = HeadwaterOperator(task_id="verify", command=["verify"], **retries)

    @task
    def quarantine(report: dict):
        if report["quarantined"]:
            raise AirflowFailException(f"{report['quarantined']} items: headwater quarantine list")

    ingest >> verify
    quarantine(ingest.output)


headwater()
