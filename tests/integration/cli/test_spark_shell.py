"""`headwater spark` as processes: statements through a pipe, a script, and a run that writes the tables."""

import json
import os
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import HEADWATER, Running, run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONFIG = """
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", mode: merge, record_key: id, ordering: at}
  later: {path: "later/*.json"}
"""
STATEMENTS = """
-- One row is changed, one is added; both are seen by the query after them.
update orders set price = 9 where id = 1;
merge into orders t using (select 3L id, 30L price, 3L at) s on t.id = s.id
when not matched then insert (id, price, at) values (s.id, s.price, s.at);
select id, price from orders order by id;
call run_clustering(table => 'orders');
"""
SCRIPT = """
import sys
print(sys.argv[1:], spark.table("orders").count(), lake["orders"].count())
spark.sql("delete from orders")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    rows = ({"id": n, "price": n, "at": n} for n in (1, 2))
    (tmp_path / "source/a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_command("run", "--once", folder=tmp_path).expect(0)
    return tmp_path


def read(folder: Path) -> list[tuple[int, int]]:
    query = "select id, price from orders order by id"
    lines = run_command("sql", query, "--json", folder=folder).expect(0).stdout.splitlines()
    return [(row["id"], row["price"]) for row in map(json.loads, lines)]


def test_piped_statements_write_and_the_table_stays_readable_and_complete(folder: Path) -> None:
    done = run_command("spark", "--sql", "--allow-writes", "--json", folder=folder, piped=STATEMENTS)
    update, merge, *rows, clustering = map(json.loads, done.expect(0).stdout.splitlines())
    assert (update["updated"], merge["inserted"], clustering["state"]) == (1, 1, "COMPLETED")
    assert [(row["id"], row["price"]) for row in rows] == read(folder) == [(1, 9), (2, 2), (3, 30)]
    run_command("verify", folder=folder).expect(0)
    run_command("run", "--once", folder=folder).expect(0)
    assert read(folder) == [(1, 9), (2, 2), (3, 30)]


def test_run_of_another_process_rejects_writes_but_not_queries(folder: Path) -> None:
    (folder / "job.py").write_text(SCRIPT)
    (folder / "run").mkdir()
    run = Running(("-c", str(folder / "headwater.yaml"), "run"), folder / "run", os.environ)
    try:
        leases = folder / "lake/_headwater/writers"
        run.wait_until(lambda: leases.exists() and any(leases.iterdir()), "a lease")
        done = run_command("spark", "--allow-writes", "job.py", "--day", "mo", folder=folder).expect(1)
        assert "['--day', 'mo'] 2 2\n" in done.stdout
        assert f"orders: being written by run (process {run.process.pid} on " in done.stderr
        assert "hint: stop it first" in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        run.finish_by_force()
    only_reads = run_command("spark", "job.py", folder=folder).expect(2)
    assert "DELETE would write table orders, and this shell only reads" in only_reads.stderr
    (folder / "job.py").write_text("def fail():\n    1 / 0\nfail()\n")
    failed = run_command("spark", "job.py", folder=folder).expect(1)
    assert failed.stderr.count("File ") == 2
    assert 'File "job.py", line 2, in fail' in failed.stderr
    assert HEADWATER.name not in failed.stderr.partition("Traceback")[2]
