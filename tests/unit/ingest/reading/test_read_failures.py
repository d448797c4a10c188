"""What a Spark job that reads objects threw, as one of our errors."""

from headwater.errors import IngestError, LakeNotWritableError
from headwater.ingest.reading.failures import explain_read_failure


def test_disk_that_is_full_while_objects_are_read_is_no_fault_of_them():
    error = explain_read_failure(
        "clicks",
        "SparkException: Job aborted due to stage failure: java.io.IOException: No space left on device\n"
        "\tat org.apache.spark.storage.DiskStore.put(DiskStore.scala)",
    )
    assert isinstance(error, LakeNotWritableError)
    assert error.message.startswith("table clicks: no space left for Spark's temporary files")
    assert "spark.local.dir" in error.hint


def test_executor_error_is_reported_unchanged():
    error = explain_read_failure("clicks", "x\nheadwater.errors.IngestError: a.json: odd\n  -> look at it\n")
    assert type(error) is IngestError
    assert (error.message, error.hint) == ("table clicks: a.json: odd", "look at it")
