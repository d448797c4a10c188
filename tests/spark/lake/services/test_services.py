"""What services leave on disk, and that they change no row."""

import pyarrow.parquet as pq
import pytest

from headwater.errors import TableNotFoundError, UsageError
from headwater.lake.services.archiving import archive
from headwater.lake.services.cleaning import CleanPolicy, clean, plan_clean
from headwater.lake.services.clustering import ClusterOptions, cluster, plan_clustering
from headwater.lake.services.compaction import compact, plan_compaction

pytestmark = pytest.mark.slow

MERGE_ON_READ = {"table_type": "merge_on_read"}


def test_compaction_merges_all_logs_and_changes_no_row(build):
    owned = build(**MERGE_ON_READ)
    for n in range(3):
        owned.write(("a", n, "x"), ("b", n, "y"))
    before = plan_compaction(owned.services.address)
    assert (before.partitions, before.file_groups, before.files) == (2, 2, 4)
    assert before.bytes == sum(
        file.stat().st_size for file in owned.files(".*.log.*") if ".crc" not in file.name
    )
    done = compact(owned.services)
    assert len(done.instants) == 1
    assert (done.files, done.rows) == (2, 2)
    assert plan_compaction(owned.services.address).files == 0
    assert owned.rows() == [("a", 2), ("b", 2)]
    assert compact(owned.services).instants == ()


@pytest.mark.long
def test_compaction_that_was_planned_and_not_done_is_done(build):
    owned = build(**MERGE_ON_READ)
    for n in range(2):
        owned.write(("a", n, "x"))
    with owned.services.open_client({"hoodie.compact.inline.max.delta.commits": "1"}) as client:
        planned = client.scheduleCompaction(owned.services.java.build_none()).get()
    assert plan_compaction(owned.services.address).pending == (planned,)
    # No write in between: Hudi's writer would do it on the side.
    assert compact(owned.services).instants == (planned,)
    assert plan_compaction(owned.services.address).pending == ()
    assert owned.rows() == [("a", 1)]


@pytest.mark.long
def test_copy_on_write_compaction_error_names_alternatives(build):
    owned = build()
    owned.write(("a", 1, "x"))
    with pytest.raises(UsageError, match="copy-on-write") as raised:
        compact(owned.services)
    assert "cluster" in raised.value.hint


def test_clustering_makes_one_sorted_file_of_many(build):
    owned = build(operation="bulk_insert", changelog=True)
    for n in (3, 1, 2):
        owned.write((f"k{n}", n, "x"), (f"l{n}", -n, "x"))
    owned.write(("z", 0, "y"))
    options = ClusterOptions(sort=("n",), partitions=("day=x",))
    found = plan_clustering(owned.services.address, options)
    assert (found.partitions, found.files) == (1, 3)
    done = cluster(owned.services, options)
    assert (done.files, done.rows) == (1, 6)
    (name,) = {file.name for file in owned.files(f"*_{done.instants[0]}.parquet")}
    (file,) = owned.files(name)
    assert pq.read_table(file, columns=["n"])["n"].to_pylist() == [-3, -2, -1, 1, 2, 3]
    assert plan_clustering(owned.services.address, options).files == 1
    assert len(owned.rows()) == 7


@pytest.mark.long
@pytest.mark.parametrize("layout", ["z-order", "hilbert"])
def test_layouts_by_several_columns_are_written(build, layout):
    owned = build(operation="bulk_insert", changelog=True)
    for n in range(2):
        owned.write(*((f"{n}{m}", m, "x") for m in range(5)))
    assert cluster(owned.services, ClusterOptions(sort=("n", "id"), layout=layout)).rows == 10
    assert len(owned.rows()) == 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ClusterOptions(sort=("m",)), "no column m"),
        (ClusterOptions(partitions=("day=z",)), "no partition day=z"),
    ],
)
def test_clustering_by_missing_column_is_invalid_input(build, options, said):
    owned = build()
    owned.write(("a", 1, "x"))
    with pytest.raises(UsageError, match=said) as raised:
        cluster(owned.services, options)
    assert "id, n, day" in raised.value.hint or "day=x" in raised.value.hint


def test_clean_removes_planned_files_and_keeps_the_newest_state(build):
    owned = build()
    for n in range(4):
        owned.write(("a", n, "x"))
    policy = CleanPolicy("versions", 1)
    plan = plan_clean(owned.services, policy)
    assert len(plan.files) == 3
    assert len(owned.files("*.parquet")) == 4
    done = clean(owned.services, policy)
    assert done.files == 3
    assert len(owned.files("*.parquet")) == 1
    assert owned.rows() == [("a", 3)]
    assert clean(owned.services, policy).files == 0


@pytest.mark.long
def test_clean_by_commits_says_how_far_back_the_table_can_be_read(build):
    owned = build()
    instants = [owned.write(("a", n, "x")) for n in range(4)]
    policy = CleanPolicy("commits", 2)
    assert plan_clean(owned.services, policy).earliest_retained == instants[2]
    assert clean(owned.services, policy).earliest_retained == instants[2]
    past = owned.table.spark.read.format("hudi").option("as.of.instant", instants[2]).load(str(owned.path))
    assert [row["n"] for row in past.collect()] == [2]


@pytest.mark.long
def test_archive_leaves_as_many_commits_as_asked_and_loses_none(build):
    owned = build(operation="bulk_insert", changelog=True)
    for n in range(6):
        owned.write((f"k{n}", n, "x"))
    done = archive(owned.services, 3)
    assert done.before == 6
    timeline = owned.table.load_timeline()
    assert len(timeline.commits) == done.after < 6
    assert len(timeline.commits) + len(timeline.list_archived()) == 6
    assert len(owned.rows()) == 6


@pytest.mark.long
@pytest.mark.parametrize("service", [compact, lambda t: archive(t, 3), lambda t: clean(t, CleanPolicy())])
def test_missing_table_is_reported(build, service):
    with pytest.raises(TableNotFoundError, match="no Hudi table exists"):
        service(build().services)
