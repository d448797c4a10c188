"""The python, SQL and YAML of docs/how-to/orchestrators.md run in Airflow, Dagster and dbt, over one lake.

tests/unit/docs/test_orchestrators.py compares the page with examples/.
"""

import json
import os
import shutil
import sqlite3

import pytest

from headwater.lake.prerequisites.java import find_java
from tests.fixtures.orchestrators import BUILD, EXAMPLES, MATERIALIZE, RUN_DAG, open_lake

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def build_order(order_id, amount, day):
    return {"order_id": order_id, "amount": amount, "updated_at": f"2026-01-{day:02}T10:00:00Z"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = open_lake(tmp_path_factory.mktemp("shop"))
    lake.put("customers/a.json", {"id": 1, "name": "Ada"})
    lake.put("orders/a.json", build_order(1, 20, 1), build_order(2, 35, 1), raw='{"order_id": 3, "amount":')
    return lake


def test_airflow_ingests_and_verifies_and_reports_quarantine(lake):
    home = lake.folder / "airflow"
    log = lake.run_program(
        RUN_DAG,
        code=1,  # a task has failed
        HEADWATER=f"{lake.command} --config {lake.config}",
        AIRFLOW_HOME=str(home),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__CORE__DAGS_FOLDER=str(EXAMPLES / "airflow"),
    )
    with sqlite3.connect(home / "airflow.db") as database:
        states = dict(database.execute("select task_id, state from task_instance"))
        (report,) = database.execute("select value from xcom where task_id = 'ingest'").fetchone()
    database.close()
    # A bad record is in quarantine: exit code 3 of `run` fails neither the ingest nor what depends on it.
    assert states == {"ingest": "success", "verify": "success", "quarantine": "failed"}, log
    assert json.loads(report)["tables"]["orders"]["rows"] == 2
    assert "All changes before" in log
    assert "1 items: headwater quarantine list" in log


def test_dagster_materializes_each_table_and_checks_its_completeness(lake):
    lake.put("customers/b.json", {"id": 2, "name": "Grace"})
    lake.put("orders/bad.json", raw="no JSON")
    printed = lake.run_program(
        MATERIALIZE,
        HEADWATER=str(lake.command),
        HEADWATER_CONFIG=str(lake.config),
        PYTHONPATH=str(EXAMPLES / "dagster"),
    )
    found = json.loads(printed.splitlines()[-1])
    assert found["success"]
    assert found["complete"] == {"orders": False, "customers": True}
    assert found["metadata"]["customers"]["dagster/row_count"] == 2
    assert found["metadata"]["orders"]["dagster/row_count"] == 2
    assert found["metadata"]["orders"]["items in quarantine"] == 2


def test_dbt_builds_models_incrementally_and_never_writes_to_the_source(lake):
    if not (lake.lake / "orders").exists():
        lake.run()
    shutil.copytree(EXAMPLES / "dbt", lake.folder, dirs_exist_ok=True)
    before = (lake.lake / "orders/.hoodie/hoodie.properties").read_bytes()
    lake.put("orders/b.json", build_order(4, 99, 2), build_order(5, 1, 2))
    printed = lake.run_program(
        BUILD,
        "sh",
        "-c",
        f"{lake.command} --config {lake.config} run --once || [ $? = 3 ]",
        LAKE=str(lake.lake),
        JAVA_HOME=str(find_java(os.environ).path),
    )
    found = json.loads(printed.splitlines()[-1])
    names = ("large_orders", "revenue", "unique_revenue_day", "not_null_revenue_day")
    hook = {name: status for name, status in found["built"][0].items() if name not in names}
    assert set(hook.values()) == {"success"}
    for built in found["built"]:
        assert {name: built[name] for name in names} == dict(
            zip(names, ["success"] * 2 + ["pass"] * 2, strict=True)
        )
    assert found["revenue"] == [
        {"day": "2026-01-01", "orders": 2, "amount": 55},
        {"day": "2026-01-02", "orders": 2, "amount": 100},
    ]
    assert found["large_orders"] == [{"order_id": 2, "amount": 35}, {"order_id": 4, "amount": 99}]
    assert (lake.lake / "orders/.hoodie/hoodie.properties").read_bytes() == before
