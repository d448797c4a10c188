"""The same with the Python API, in headwater's own interpreter."""

import os
from datetime import datetime

from airflow.sdk import dag, task

PYTHON = os.environ.get("HEADWATER_PYTHON", "/opt/headwater/bin/python")


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def headwater_from_python():
    @task.external_python(python=PYTHON, expect_airflow=False, retries=3)
    def ingest():
        import headwater as hw

        with hw.open() as lake:
            report = lake.run()
            assert lake.verify().is_complete
            return {name: table.rows for name, table in report.tables.items()}

    ingest()


headwater_from_python()
