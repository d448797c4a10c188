"""A table with `cdc:` keeps a log of what the pipeline does to it; the net changes say the same without."""

import json

import pytest

from headwater.errors import IngestError, LakeError
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.queries import ChangeFeed, Query
from headwater.lake.queries.change_log import ChangeLogFeed

pytestmark = pytest.mark.slow

TABLE_TYPES = ("copy_on_write", "merge_on_read")


def lines(**values):
    return "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in values.items())


def read_log(lake):
    feed = ChangeLogFeed(lake.app.spark, table_path(lake.lake, "things"), Query.cdc("earliest"))
    return [
        sorted((c.op, (c.before or {}).get("text"), (c.after or {}).get("text")) for c in step)
        for step in feed.poll()
    ]


def read_net(lake):
    address = TableAddress("things", table_path(lake.lake, "things"))
    feed = ChangeFeed(address, Query.changes("earliest"), per_commit=True)
    return [sorted((change.op, change.row["text"]) for change in step) for step in feed.poll()]


@pytest.mark.parametrize("table_type", TABLE_TYPES)
@pytest.mark.parametrize(
    "mode",
    [*(pytest.param(m, marks=pytest.mark.long) for m in ("op_key_only", "data_before")), "data_before_after"],
)
def test_overwrites_and_removals_are_in_the_log_of_a_mirror(build, mode, table_type):
    lake = build(things={"path": "*.json", "mode": "mirror", "cdc": mode, "table_type": table_type})
    lake.put("a.json", lines(x="one", y="two"))
    lake.ingest("things")
    lake.put("a.json", lines(x="other"))
    lake.ingest("things")
    # A new object, whose rows go into the file that is there.
    lake.put("b.json", lines(z="new"))
    lake.ingest("things")
    (lake.source / "a.json").unlink()
    lake.announce("a.json", kind="removed")
    lake.ingest("things")
    assert read_log(lake) == [
        [("i", None, "one"), ("i", None, "two")],
        [("d", "two", None), ("u", "one", "other")],
        [("i", None, "new")],
        [("d", "other", None)],
    ]
    assert read_net(lake) == [
        [("i", "one"), ("i", "two")],
        [("d", "two"), ("u", "other")],
        [("i", "new")],
        [("d", "other")],
    ]


@pytest.mark.parametrize("operation", [None, "bulk_insert"])
def test_every_row_of_an_append_table_is_in_its_log(build, operation):
    lake = build(
        things={"path": "*.json", "mode": "append", "operation": operation, "cdc": "data_before_after"}
    )
    for key, text in (("a.json", "one"), ("b.json", "two")):
        lake.put(key, lines(x=text, y=text))
        lake.ingest("things")
    assert read_log(lake) == [[("i", None, text)] * 2 for text in ("one", "two")]
    assert read_net(lake) == [[("i", text)] * 2 for text in ("one", "two")]


def test_log_cannot_be_switched_on_for_a_table_that_is_there(build):
    lake = build(things={"path": "*.json", "record_key": "id"})
    lake.put("a.json", lines(x="one"))
    lake.ingest("things")
    with_log = lake.settings.tables["things"].model_copy(update={"cdc": "data_before"})
    lake.settings.tables["things"] = with_log
    lake.put("b.json", lines(y="two"))
    with pytest.raises((IngestError, LakeError), match=r"hoodie.table.cdc.enabled is false, not true"):
        lake.ingest("things")
