"""Archives in tables: their rows follow the archive, however many members it has."""

import gzip

import pytest

from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_7z, write_tar, write_zip

OPTIONS = {"header": "true", "members": "**/*.csv"}


@pytest.mark.parametrize(
    "mode", ["mirror", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("append", "merge"))]
)
def test_rows_follow_their_archive(spark, tmp_path, mode):
    keys = {"record_key": "id", "ordering": "n"} if mode == "merge" else {}
    lake = FolderLake(spark, tmp_path, t={"path": "*.csv.zip", "mode": mode, "options": OPTIONS, **keys})
    lake.put(
        "a.csv.zip", write_zip({"1.csv": b"id,n\n1,1\n2,1\n", "x/2.csv": b"n,id\n1,3\n", "README": b"?"})
    )
    lake.ingest("t")
    assert lake.rows("t", "id", "n") == [(1, 1), (2, 1), (3, 1)]
    assert len(set(lake.rows("t", "_headwater_row"))) == 3

    lake.put("a.csv.zip", write_zip({"1.csv": b"id,n\n1,2\n"}))
    lake.ingest("t")
    first = [(2, 1), (3, 1)]
    after = {"mirror": [(1, 2)], "append": [(1, 1), (1, 2), *first], "merge": [(1, 2), *first]}
    assert lake.rows("t", "id", "n") == after[mode]

    lake.announce("a.csv.zip", kind="removed")
    lake.ingest("t")
    assert lake.rows("t", "id", "n") == ([] if mode == "mirror" else after[mode])


def write_tgz(files):
    return gzip.compress(write_tar(files))


WRITERS = {"a.7z": write_7z, "a.tgz": write_tgz}


def test_bad_members_and_bad_records(spark, tmp_path):
    lake = FolderLake(
        spark, tmp_path, t={"path": "a.*", "format": "csv", "mode": "mirror", "options": OPTIONS}
    )

    def ingest(members):
        lake.put_many([(key, write(members)) for key, write in WRITERS.items()])
        lake.ingest("t")

    ingest({"1.csv": b"id,n\n1,1\n", "2.csv": b'id,n\n2,1\n"3,1\n'})
    assert lake.rows("t", "id", "_headwater_row") == [(1, 2), (1, 2), (2, 4), (2, 4)]
    assert lake.quarantine_of("t", "key", "level", "line") == [(key, "record", 5) for key in WRITERS]

    # One bad member is enough: the object is no longer what the rows came from.
    ingest({"1.csv": b"id,n\n9,1\n", "2.csv": bytes(range(256))})
    assert lake.rows("t", "id") == []
    assert {(key, "object") for key in WRITERS} <= set(lake.quarantine_of("t", "key", "level"))
    ingest({"1.csv": b"id,n\n9,1\n"})
    assert lake.rows("t", "id") == [(9,), (9,)]


@pytest.mark.slow
def test_columns_that_only_a_later_member_has_are_added(spark, tmp_path):
    lake = FolderLake(spark, tmp_path, t={"path": "*.zip", "format": "csv", "options": {"header": "true"}})
    members = {"1.csv": b"id\n1\n", "2.csv": b"id,x\n2,a\n", "3.csv": b"id,y\n3,b\n"}
    lake.put("a.zip", write_zip(members))
    lake.ingest("t")
    assert lake.rows("t", "id", "x", "y") == [(1, None, None), (2, "a", None), (3, None, "b")]


def test_large_archive_is_read_whole(spark, tmp_path):
    lake = FolderLake(
        spark,
        tmp_path,
        t={"path": "*.tar.gz", "format": "csv", "large_file_bytes": 100, "options": {"header": "true"}},
    )
    rows = b"".join(b"%d,%d\n" % (n, n * 7919) for n in range(2_000))
    lake.put("a.tar.gz", gzip.compress(write_tar({"1.csv": b"id,n\n" + rows, "2.csv": b"id,n\n-1,-1\n"})))
    lake.ingest("t")
    assert len(lake.rows("t", "id")) == 2_001
