"""What Hudi and Hadoop throw, in one sentence; the texts are theirs."""

import re

import pytest

from headwater.errors import (
    LakeError,
    LakeNotWritableError,
    TableBusyError,
    TableDamagedError,
    TableMismatchError,
    TableUnsupportedError,
    WriteConflictError,
)
from headwater.lake.failures import explain_lake_failure
from headwater.lake.snapshot_reader import explain_read_failure


@pytest.mark.parametrize(
    "text",
    [
        "java.io.IOException: No space left on device",
        "java.io.IOException: Disk quota exceeded",
        "org.apache.hudi.exception.HoodieUpsertException ... java.io.IOException: File too large",
    ],
)
def test_full_disk_is_reported_with_free_space(text, tmp_path):
    error = explain_lake_failure(f"{tmp_path}/lake/t", RuntimeError(text), ["/spark"])
    assert isinstance(error, LakeNotWritableError)
    match = re.fullmatch(
        rf"no space left under {tmp_path}/lake/t \(([\d,.]+) of ([\d,.]+) MB free\); "
        "this write was not committed",
        error.message,
    )
    assert match
    free, total = (float(amount.replace(",", "")) for amount in match.groups())
    assert 0 <= free < total
    assert "clean" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "HoodieLockException: Unable to acquire the lock. Current lock owner information : x",
        "HoodieException: Unable to instantiate class org.apache.hudi.hive.HiveMetastoreBasedLockProvider",
    ],
)
def test_unavailable_lock_is_a_busy_table(text):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, TableBusyError)
    assert error.message == "/lake/t: cannot acquire the table's lock"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "IllegalArgumentException: FileGroup count for MDT partition column_stats should be > 0",
            "another process has just started to build an index",
        ),
        (
            "HoodieWriteConflictException: Cannot resolve conflicts for overlapping writes",
            "another writer changed the same files concurrently",
        ),
    ],
)
def test_concurrent_write_is_a_retryable_conflict(text, sentence):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, WriteConflictError)
    assert error.message == f"/lake/t: {sentence}; this write was not committed"


def test_properties_being_rewritten_are_read_again():
    text = "TableNotFoundException: Hoodie table not found in path Table does not exist"
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, WriteConflictError)
    assert error.message == "/lake/t: another process is changing .hoodie/hoodie.properties"


def test_a_store_without_space_has_no_amount():
    error = explain_lake_failure("s3a://lake/t", RuntimeError("java.io.IOException: Disk quota exceeded"))
    assert error.message == "no space left under s3a://lake/t; this write was not committed"


@pytest.mark.parametrize(
    "frame",
    [
        "org.apache.spark.storage.DiskStore.put(DiskStore.scala:89)",
        "org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter.write(BypassMergeSortShuffleWriter.java:1)",
        "org.apache.hudi.common.util.collection.BitCaskDiskMap.put(BitCaskDiskMap.java:1)",
    ],
)
def test_full_temporary_folder_is_distinguished_from_a_full_lake(frame, tmp_path):
    text = f"java.io.IOException: No space left on device\n\tat {frame}"
    error = explain_lake_failure("/lake/t", RuntimeError(text), [f"{tmp_path}/blockmgr-1"])
    assert isinstance(error, LakeNotWritableError)
    assert f"no space left for Spark's temporary files in {tmp_path}/blockmgr-1 (" in error.message
    assert "spark.local.dir" in error.hint


def test_lake_full_during_spill_is_reported_as_the_lake(tmp_path):
    text = (
        "Caused by: java.io.IOException: No space left on device\n"
        "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n"
        "\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java)\n"
        "\tat org.apache.parquet.hadoop.ParquetFileWriter.end(ParquetFileWriter.java)\n"
        "\tat org.apache.spark.storage.BlockManager.doPutIterator(BlockManager.scala)\n"
    )
    error = explain_lake_failure("/lake/t", RuntimeError(text), [f"{tmp_path}/blockmgr-1"])
    assert error.message.startswith("no space left under /lake/t (")


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (
            "Caused by: org.apache.hudi.exception.CorruptedLogFileException: HoodieLogFile("
            "pathStr=file:/lake/t/.a_1.log.1_0-1-1, fileSize=1229) could not be read.",
            "file:/lake/t/.a_1.log.1_0-1-1",
        ),
        (
            "HoodieIOException: IOException when reading logfile "
            "HoodieLogFile(pathStr=file:/t/.b.log.1, fileSize=1)",
            "file:/t/.b.log.1",
        ),
        (
            "ChecksumException: Checksum error: file:/t/.b.log.1_0-1-1 at 512 exp: 1 got: 2",
            "file:/t/.b.log.1_0-1-1",
        ),
        ("HoodieException: Exception when reading log file \n\tat x", ""),
    ],
)
def test_corrupt_file_is_named_where_hudi_names_it(text, file):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, TableDamagedError)
    named = f"a file of the table is corrupt: {file}" if file else "a log file is corrupt"
    assert error.message == f"/lake/t: {named}"
    assert "check --contents" in error.hint


def test_schema_that_is_nested_too_deeply_for_hudi_rs_is_left_to_spark():
    text = "Data type error: Failed to parse Avro schema: Failed to parse schema from JSON"
    assert isinstance(explain_read_failure("/lake/t", text), TableUnsupportedError)


@pytest.mark.parametrize("text", ["Invalid magic", "Invalid log format version: 4294967294"])
def test_corrupt_log_is_reported_without_a_jvm(text):
    error = explain_read_failure("/lake/t", text)
    assert isinstance(error, TableDamagedError)
    assert error.message == "/lake/t: a log file is corrupt"


@pytest.mark.parametrize(
    "text",
    [
        "java.io.FileNotFoundException: File file:/lake/t/a.parquet does not exist",
        "Caused by: java.io.FileNotFoundException: file:/lake/t/a.parquet (No such file or directory)",
    ],
)
def test_missing_file_is_named_with_the_repair(text):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert type(error) is LakeError
    assert error.message == "/lake/t: a file of the table is missing: file:/lake/t/a.parquet"
    assert "verify" in error.hint


def test_a_frame_without_the_types_of_the_table_is_reported():
    text = (
        "SchemaBackwardsCompatibilityException: Schema validation backwards compatibility check failed with "
        "the following issues: {MISSING_UNION_BRANCH: reader union lacking writer type: VECTOR for field: "
        "'t_record.e'}"
    )
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, TableMismatchError)
    assert error.message == "/lake/t: column e is a vector in the table, but not in the rows to write"
