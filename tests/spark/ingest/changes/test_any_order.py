"""Files of changes in any order, some of them twice: the table is the database's at the end."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.change_log import (
    Change,
    Database,
    split_log,
    write_debezium,
    write_debezium_avro,
    write_debezium_orc,
    write_debezium_parquet,
    write_dms,
    write_flat,
    write_maxwell,
)
from tests.fixtures.folder_lake import FolderLake

FLAT = {"op": "op", "insert": "I", "update": "U", "delete": "D", "truncate": "T", "sequence": "at"}
KINDS: dict[str, tuple[Callable[[Sequence[Change]], bytes], str, dict[str, Any]]] = {
    "flat": (write_flat, ".json", FLAT),
    "debezium": (write_debezium, ".json", {"preset": "debezium"}),
    "debezium-parquet": (write_debezium_parquet, ".parquet", {"preset": "debezium"}),
    "debezium-avro": (write_debezium_avro, ".avro", {"preset": "debezium"}),
    "debezium-orc": (write_debezium_orc, ".orc", {"preset": "debezium"}),
    "maxwell": (write_maxwell, ".json", {"preset": "maxwell"}),
    "dms": (write_dms, ".csv", {"preset": "dms", "sequence": "committed_at"}),
}

TYPES = ("copy_on_write", "merge_on_read")
MORE_SEEDS = range(1, 6)


def list_cases() -> Iterator[Any]:
    for kind in KINDS:
        yield pytest.param(kind, 0, TYPES, marks=[pytest.mark.slow], id=kind)
        for seed in MORE_SEEDS:
            yield pytest.param(kind, seed, TYPES, marks=[pytest.mark.long], id=f"{kind}-{seed}")
    # The same batches for one of the two tables.
    yield pytest.param("debezium", 0, TYPES[:1], id=f"debezium-{TYPES[0]}")


@pytest.mark.parametrize(("kind", "seed", "types"), list(list_cases()))
@pytest.mark.slow
def test_any_order_of_files_gives_the_rows_of_the_database(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int, types: Sequence[str]
) -> None:
    write, ending, changes = KINDS[kind]
    order = random.Random(f"{kind} {seed}")
    database = Database(order.randrange(10**6), truncates=kind not in ("dms", "maxwell"))
    database.snapshot(20)
    database.change(120)
    table = {"path": f"*{ending}", "record_key": "id", "changes": changes}
    tables = {name: table | {"table_type": name} for name in types}
    lake = FolderLake(spark, tmp_path, **tables)
    files = split_log(database.log, write, ending, order)
    while files:
        count = order.randrange(2, 16)
        lake.put_many(files[:count])
        del files[:count]
        for name in tables:
            lake.ingest(name)
    for name in tables:
        assert lake.rows(name, "id", "name", "amount") == database.list_rows(), name
    assert lake.quarantine("reason") == []
