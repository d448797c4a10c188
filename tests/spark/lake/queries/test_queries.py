"""Each query on real tables of both types: the same rows on Spark and without a JVM, or a refusal."""

from datetime import date, datetime, timezone

import pytest

from headwater.errors import InstantUnavailableError, UsageError
from headwater.lake import queries
from headwater.lake.options import WriteOptions
from headwater.lake.queries import ChangeFeed, Query
from headwater.lake.queries.instants import parse_time
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table import Table

pytestmark = pytest.mark.slow

# A clean after each commit, and an archive from the fourth on.
SHORT = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clean.trigger.max.commits": "1",
}

COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def read_both(table, query):
    """The rows as (id, name), which both engines have to agree on."""
    here = queries.read(table.address, query).to_pylist()
    there = queries.read_on_spark(table.spark, table.path, query).collect()
    rows = sorted((row["id"], row["name"]) for row in here)
    assert rows == sorted((row["id"], row["name"]) for row in there)
    return rows


@pytest.fixture
def table(build):
    return build()


def test_states_are_selected_by_instant_time_or_date(table):
    first = table.write([("a", "one", 1), ("b", "one", 1)])
    second = table.write([("a", "two", 2), ("c", "two", 2)])
    third = table.delete("b")
    begun = [("a", "one"), ("b", "one")]
    assert read_both(table, Query.as_of(first.completed)) == begun
    assert read_both(table, Query.as_of(first.requested)) == begun
    assert read_both(table, Query.as_of(second.completed)) == [("a", "two"), ("b", "one"), ("c", "two")]
    between = parse_time(second.completed).isoformat(timespec="milliseconds")
    assert read_both(table, Query.as_of(between)) == [("a", "two"), ("b", "one"), ("c", "two")]
    assert read_both(table, Query.as_of(third.completed)) == [("a", "two"), ("c", "two")]
    assert read_both(table, Query.snapshot()) == [("a", "two"), ("c", "two")]
    with pytest.raises(InstantUnavailableError, match="there is no commit up to"):
        read_both(table, Query.as_of(date(2020, 1, 1).isoformat()))
    tomorrow = datetime.now(timezone.utc).date().replace(year=2100).isoformat()
    assert read_both(table, Query.as_of(tomorrow)) == [("a", "two"), ("c", "two")]


@pytest.mark.long
def test_changes_are_the_newest_state_of_the_rows_written_since(table):
    first = table.write([("a", "one", 1), ("b", "one", 1)])
    second = table.write([("a", "two", 2), ("c", "two", 2)])
    table.write([("c", "three", 3)])
    assert read_both(table, Query.changes(first.completed)) == [("a", "two"), ("c", "three")]
    assert read_both(table, Query.changes(first.completed, second.completed)) == [("a", "two"), ("c", "two")]
    assert read_both(table, Query.changes(second.completed)) == [("c", "three")]
    assert len(read_both(table, Query.changes("earliest"))) == 3
    with pytest.raises(UsageError, match="has no change log"):
        queries.read_on_spark(table.spark, table.path, Query.cdc(first.completed))


@pytest.mark.long
def test_read_optimized_returns_compacted_rows(table, table_type):
    table.write([("a", "one", 1)])
    newest = table.write([("a", "two", 2)])
    is_log = table_type == "merge_on_read"
    assert read_both(table, Query.snapshot()) == [("a", "two")]
    assert read_both(table, Query.read_optimized()) == [("a", "one" if is_log else "two")]
    # Rewriting files changes no row: nothing is told as a change.
    table.write([("b", "three", 3)], **(COMPACT if is_log else {}))
    assert any(name.action == "commit" for name in SnapshotReader(table.path).commit_names)
    assert read_both(table, Query.read_optimized()) == [("a", "two"), ("b", "three")]
    (found,) = ChangeFeed(table.address, Query.changes(newest.completed), per_commit=False).poll()
    assert [(change.op, change.key) for change in found] == [("i", "b")]


@pytest.mark.long
def test_cleaned_state_is_rejected_with_the_earliest_complete_one(build, table_type):
    table = build(**SHORT, **(COMPACT if table_type == "merge_on_read" else {}))
    commits = [table.write([("a", f"v{number}", number)]) for number in range(4)]
    for read in (
        queries.read,
        lambda address, query: queries.read_on_spark(table.spark, address.path, query),
    ):
        with pytest.raises(InstantUnavailableError) as refused:
            read(table.address, Query.as_of(commits[0].completed))
        assert "have been cleaned; the earliest readable instant is" in refused.value.message
        earliest = next(
            c.completed
            for c in commits
            if c.completed in refused.value.message.split("readable instant is ")[1]
        )
        assert read_both(table, Query.as_of(earliest))
    # What is there now is whole whatever was cleaned, also where a compaction came last.
    assert read_both(table, Query.as_of(commits[-1].completed)) == [("a", "v3")]
    assert len(list(ChangeFeed(table.address, Query.changes("earliest"), per_commit=False).poll())) == 1
    with pytest.raises(InstantUnavailableError, match="have been cleaned"):
        list(ChangeFeed(table.address, Query.changes(commits[0].completed), per_commit=True).poll())


@pytest.mark.long
def test_changes_since_archived_commits_are_complete(build):
    table = build(**SHORT)
    # Each commit writes one row again and brings one: both files and commits of the first ones are gone.
    commits = [table.write([("k", f"v{number}", number), (f"n{number}", "x", number)]) for number in range(9)]
    active = {commit.requested for commit in table.commits}
    archived = [commit for commit in commits if commit.requested not in active]
    assert len(archived) >= 4
    for commit in archived:
        number = commits.index(commit)
        reported = read_both(table, Query.changes(commit.completed))
        assert reported == [("k", "v8"), *((f"n{later}", "x") for later in range(number + 1, 9))]
    assert len(read_both(table, Query.changes("earliest"))) == 10
    with pytest.raises(InstantUnavailableError, match="earliest readable instant is"):
        list(ChangeFeed(table.address, Query.changes(archived[0].completed), per_commit=False).poll())
    (everything,) = ChangeFeed(table.address, Query.changes("earliest"), per_commit=False).poll()
    assert sorted(change.key for change in everything) == ["k", *(f"n{number}" for number in range(9))]


@pytest.mark.long
def test_archived_states_with_all_files_are_readable(build):
    kept = {**SHORT, "hoodie.clean.automatic": "false"}
    table = build(**kept)
    commits = [table.write([("k", f"v{number}", number), (f"n{number}", "x", number)]) for number in range(7)]
    assert len(table.commits) < len(commits)
    for number, commit in enumerate(commits):
        expected = [("k", f"v{number}"), *((f"n{earlier}", "x") for earlier in range(number + 1))]
        assert read_both(table, Query.as_of(commit.completed)) == expected
    feed = ChangeFeed(table.address, Query.changes(commits[0].completed), per_commit=True)
    reported = [[(change.op, change.key) for change in step] for step in feed.poll()]
    assert reported == [[("u", "k"), ("i", f"n{number}")] for number in range(1, 7)]


@pytest.mark.long
def test_added_column_is_null_in_the_past(table):
    first = table.write([("a", "one", 1)])
    frame = table.spark.createDataFrame(
        [("b", "two", 2, "new")], "id string, name string, version bigint, more string"
    )
    options = WriteOptions(
        table_name="t", operation="upsert", record_key=("id",), ordering=("version",), index="bucket",
        table_type=table.table_type,
    )  # fmt: skip
    Table(table.spark, table.path).write(frame, options)
    assert read_both(table, Query.as_of(first.completed)) == [("a", "one")]
    table.delete("a")
    (step,) = ChangeFeed(table.address, Query.changes(first.completed), per_commit=False).poll()
    assert [(change.op, change.key) for change in step] == [("i", "b"), ("d", "a")]


@pytest.mark.long
def test_restored_away_commits_are_no_base_for_changes(table):
    first = table.write([("a", "one", 1)])
    call = f"(path => '{table.path}', {{}} => '{first.requested}')"
    table.spark.sql(f"call create_savepoint{call.format('commit_time')}").collect()
    undone = table.write([("a", "two", 2), ("b", "two", 2)])
    table.spark.sql(f"call rollback_to_savepoint{call.format('instant_time')}").collect()
    table.write([("c", "three", 3)])
    for query in (Query.as_of(undone.completed), Query.changes(undone.completed)):
        with pytest.raises(InstantUnavailableError, match="a restore at"):
            read_both(table, query)
    with pytest.raises(InstantUnavailableError, match="a restore at"):
        list(ChangeFeed(table.address, Query.changes(undone.completed), per_commit=True).poll())
    assert read_both(table, Query.as_of(first.completed)) == [("a", "one")]
    (step,) = ChangeFeed(table.address, Query.changes(first.completed), per_commit=True).poll()
    assert [(change.op, change.key) for change in step] == [("i", "c")]
