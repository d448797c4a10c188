"""A data table that was set back to an earlier commit takes in again what came since."""

import pytest

from headwater.lake.layout import TableAddress
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.rollback import roll_back
from headwater.lake.services.savepoints import create_savepoint, restore

pytestmark = pytest.mark.slow

MODES = {
    "merge": {"path": "*.json", "record_key": "id"},
    "append": {"path": "*.json"},
    "mirror": {"path": "*.json", "mode": "mirror"},
}


def put(lake, key: str, *numbers: int) -> None:
    lake.put(key, "".join(f'{{"id": {n}, "n": {n}}}\n' for n in numbers))


def owned(lake) -> ServiceTable:
    table = lake.table("t")
    return ServiceTable(table.spark, TableAddress("t", table.path))


@pytest.mark.parametrize(
    "mode", ["mirror", *(pytest.param(mode, marks=pytest.mark.long) for mode in ("append", "merge"))]
)
def test_restored_table_re_ingests_later_events(build, mode):
    lake = build(t=MODES[mode])
    put(lake, "1.json", 1)
    lake.ingest("t")
    create_savepoint(owned(lake), None, "")
    put(lake, "2.json", 2)
    lake.ingest("t")
    put(lake, "3.json", 3)
    lake.write("bad.json", "{")
    lake.announce("bad.json")
    lake.ingest("t")
    expected, ledger = lake.rows("t", "id", "n"), lake.ledger("key", "status", "rows")
    assert [row[0] for row in expected] == [1, 2, 3]

    restore(owned(lake), None)
    assert lake.rows("t", "id") == [(1,)]
    lake.ingest("t")
    assert lake.rows("t", "id", "n") == expected
    assert lake.ledger("key", "status", "rows") == ledger
    # And once more: the ledger is not begun anew with every start from now on.
    lake.ingest("t")
    put(lake, "2.json", 4)
    lake.ingest("t")
    assert [row[0] for row in lake.rows("t", "id")] == ([1, 3, 4] if mode == "mirror" else [1, 2, 3, 4])


def test_rolled_back_commit_is_done_again(build):
    lake = build(t=MODES["mirror"])
    put(lake, "1.json", 1)
    lake.ingest("t")
    put(lake, "1.json", 2)
    lake.ingest("t")
    roll_back(owned(lake), None)
    assert lake.rows("t", "id") == [(1,)]
    lake.ingest("t")
    assert lake.rows("t", "id") == [(2,)]
