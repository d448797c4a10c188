"""Changes of a PostgreSQL table as files of Debezium and of AWS DMS, shuffled, some twice, and runs killed in
between: the Hudi tables equal the database's table at the end."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.kill_workload import kill_during_commit
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.servers.postgres import SCHEMA, Postgres, start_postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

COLUMNS = ("id", "customer", "total", "note")
DECLARED = "id int, customer string, total decimal(12,2), note string"
TABLES: dict[str, dict[str, Any]] = {
    "debezium": {
        "path": "debezium/*.json",
        "record_key": "id",
        "changes": {"preset": "debezium"},
        "schema": DECLARED,
    },
    "debezium_log": {
        "path": "debezium/*.json",
        "record_key": "id",
        "changes": {"preset": "debezium"},
        "schema": DECLARED,
        "table_type": "merge_on_read",
    },
    "dms": {
        "path": "dms/*.csv",
        "record_key": "id",
        "changes": {"preset": "dms", "sequence": "lsn", "truncate": "T"},
        "schema": f"Op string, lsn bigint, {DECLARED}, BI_id int",
        "options": {"header": "true"},
    },
}
# On either side of what must not happen twice, for each kind of table.
POINTS = ("after_tombstones_commit", "before_data_commit", "after_data_commit", "after_tombstones_commit:3")
ROUNDS = (*POINTS, "data files", "")
Change = dict[str, Any]


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with start_postgres() as server:
        server.run(SCHEMA)
        yield server


def change_rows(database: Postgres, chance: random.Random, count: int) -> None:
    """Statements of all kinds; rows come back under their old keys, and some transactions are rolled back."""
    statements = []
    for number in range(count):
        one, other = chance.randrange(60), chance.randrange(60)
        customer = chance.choice(["Zoë", "O''Brien", 'say "x"', "a,b", "", "日本"])
        choice = chance.random()
        if choice < 0.45:
            note = chance.choice(["null", f"'note {number}'", "'two\nlines'"])
            total = chance.randrange(10**9) / 100
            insert = f"insert into orders values ({one}, '{customer}', {total}, {note}) on conflict (id) do "
            statements.append(insert + "update set total = excluded.total, note = excluded.note")
        elif choice < 0.60:
            statements.append(f"update orders set total = total + 0.10 where id between {one} and {one + 3}")
        elif choice < 0.70:
            free = f"not exists (select from orders where id = {other})"
            statements.append(f"update orders set id = {other} where id = {one} and {free}")
        elif choice < 0.97:
            statements.append(f"delete from orders where id = {one}")
        elif choice < 0.985:
            statements.append("truncate orders")
        else:
            statements.append("begin; delete from orders; rollback")
    database.run(";\n".join(statements) + ";")


def read_changes(database: Postgres, after: int) -> list[Change]:
    return database.select(f"select * from changes where number > {after} order by number")


def write_debezium(changes: Sequence[Change]) -> bytes:
    lines = []
    for change in changes:
        source = {"connector": "postgresql", "schema": "public", "table": "orders", "lsn": change["lsn"]}
        record = {"before": change["before"], "after": change["after"], "op": change["op"], "source": source}
        lines.append(json.dumps(record, ensure_ascii=False, default=str))
        lines += ["null"] if change["op"] == "d" else []
    return "\n".join(lines).encode()


def write_dms(changes: Sequence[Change]) -> bytes:
    letters = {"c": "I", "r": "", "u": "U", "d": "D", "t": "T"}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["Op", "lsn", *COLUMNS, "BI_id"])
    for change in changes:
        row = change["after"] or change["before"] or {}
        old = change["before"]["id"] if change["op"] == "u" else ""
        values = ["" if row.get(name) is None else row[name] for name in COLUMNS]
        writer.writerow([letters[change["op"]], change["lsn"], *values, old])
    return buffer.getvalue().encode()


def build_files(changes: Sequence[Change], chance: random.Random, start: int) -> dict[str, bytes]:
    """Files of a few changes each, named in their order; those of existing rows as DMS names them."""
    files: dict[str, bytes] = {}
    at = 0
    while at < len(changes):
        some = changes[at : at + chance.randrange(1, 40)]
        is_full = some[0]["op"] == "r"
        some = [change for change in some if (change["op"] == "r") is is_full]
        name = f"LOAD{start + at:08}" if is_full else f"20260501-{start + at:09}"
        files[f"debezium/{name}.json"] = write_debezium(some)
        files[f"dms/{name}.csv"] = write_dms(some)
        at += len(some)
    for key in chance.sample(sorted(files), len(files) // 5):
        if "LOAD" not in key:
            folder, name = key.split("/")
            files[f"{folder}/again-{name}"] = files[key]
    return files


def add_bad_records(files: dict[str, bytes]) -> None:
    """Add records that cannot be applied to a file of each kind."""
    debezium, dms = (
        next(key for key in sorted(files) if key.startswith(kind)) for kind in ("debezium", "dms")
    )
    files[debezium] += b'\n{"op": "x", "source": {"lsn": 1}}\n{"op": "c", "source": {"lsn": 1}}\n{half'
    files[dms] += b"X,1,1,a,1,b,\nI,1,,a,1,b,\n"


def count_rows(database: Postgres) -> Counter[tuple[Any, ...]]:
    rows = database.select("select id, customer, total::text as total, note from orders")
    return Counter((row["id"], row["customer"] or None, Decimal(row["total"]), row["note"]) for row in rows)


def test_the_tables_equal_the_database_after_kills(
    emulator: EmulatorSession, database: Postgres, tmp_path: Path
) -> None:
    chance = random.Random(4)
    pipeline = Pipeline(emulator, tmp_path, TABLES)
    change_rows(database, chance, 60)
    existing = database.select("select * from orders")
    lsn = int(database.run("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn;"))
    number = int(database.run("select coalesce(max(number), 0) from changes;"))
    reads: list[Change] = [{"op": "r", "lsn": lsn, "before": None, "after": row} for row in existing]
    files = build_files(reads, chance, 0)
    late: dict[str, bytes] = {}
    for at, place in enumerate(ROUNDS):
        change_rows(database, chance, 150)
        changes = read_changes(database, number)
        number = changes[-1]["number"]
        files |= late | build_files(changes, chance, number)
        # Some files of each round arrive with the next one.
        late = {key: files.pop(key) for key in chance.sample(sorted(files), len(files) // 3)} if place else {}
        if at == 1:
            add_bad_records(files)
        order = sorted(files)
        chance.shuffle(order)
        pipeline.put_all({key: files[key] for key in order})
        files = {}
        run_round(pipeline, place)
    wanted = count_rows(database)
    for table in TABLES:
        found = Counter(
            (row[0], row[1] or None, row[2], row[3]) for row in pipeline.rows(table, *COLUMNS).elements()
        )
        assert found == wanted, table
    reasons = Counter(reason for (reason,) in pipeline.rows("quarantine", "reason").elements())
    assert reasons == {"unknown_change": 3, "no_row": 2, "unparsable": 2, "missing_key": 1}
    pipeline.command("verify", "--deep", timeout=300).expect(0)


def run_round(pipeline: Pipeline, place: str) -> None:
    if place == "":
        pipeline.run_once().expect(3)
        return
    if place in POINTS:
        run = pipeline.run_once(crash_point=place)
    else:
        running = pipeline.start("run", "--once")
        kill_during_commit(running, pipeline.path_of("debezium_log"))
        run = running.finish(10)
    assert run.was_killed, f"{place}: {run.stderr}"
