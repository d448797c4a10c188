"""Which failures a batch is bisected for."""

import pytest

from headwater.errors import LakeError, LakeNotWritableError, TransformError
from headwater.ingest.isolation.data_failure import is_data_failure, is_data_message

DATA = [
    "org.apache.hudi.exception.SchemaCompatibilityException: Field a has no default value",
    "java.lang.NullPointerException: Array contains a null element at 1",
    "java.lang.ClassCastException: optional int32 x is not a group",
    "org.apache.hudi.exception.HoodieKeyException: recordKey value: null for field: id cannot be null",
    "org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero",
    "org.apache.spark.SparkDateTimeException: [CAST_INVALID_INPUT] The value 'x' cannot be cast",
    "java.lang.RuntimeException: seven is bad",
    'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "steps.py", '
    "line 3\nZeroDivisionError: division by zero",
    "java.lang.UnsupportedOperationException: Unsupported type",
    "org.apache.avro.AvroRuntimeException: Illegal character in: a-b",
    "java.lang.StackOverflowError",
    "java.net.URISyntaxException: Illegal character in scheme name at index 1: p=a:b",
    "java.io.FileNotFoundException: File file:/lake/t/p=xxx/.hoodie_partition_metadata.1c01 does not exist",
]
OTHERS = [
    "java.io.IOException: Input/output error",
    "java.lang.OutOfMemoryError: Java heap space",
    "org.apache.hudi.exception.HoodieLockException: Unable to acquire the lock",
    "org.apache.hudi.exception.HoodieWriteConflictException: overlapping writes",
    "java.net.ConnectException: Connection refused",
    "java.util.concurrent.TimeoutException: Futures timed out",
    "org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down",
    "org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN] a column `x` cannot be resolved",
    "software.amazon.awssdk.services.s3.model.S3Exception: Slow Down",
    "java.io.FileNotFoundException: File file:/lake/t/a.parquet does not exist",
    'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "sandbox.py", '
    "line 3\nheadwater.errors.MissingExtraError: `format: document` needs the extra 'documents'",
]
TRACE = """An error occurred while calling o1.save.
: org.apache.hudi.exception.HoodieUpsertException: Failed to upsert for commit time 1
\tat org.apache.hudi.table.action.commit.BaseWriteHelper.write(BaseWriteHelper.java:88)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
Caused by: {root}
\tat org.apache.hudi.Somewhere.write(Somewhere.java:1)
"""


@pytest.mark.parametrize("message", DATA)
def test_failures_caused_by_rows_are_bisected(message):
    assert is_data_message(message)
    assert is_data_message(TRACE.format(root=message))


@pytest.mark.parametrize("message", OTHERS)
def test_transient_and_global_failures_are_not_bisected(message):
    assert not is_data_message(message)
    assert not is_data_message(TRACE.format(root=message))


def test_a_lost_executor_is_no_failure_of_the_data_whatever_comes_of_it():
    trace = TRACE.format(root="java.lang.NullPointerException")
    assert is_data_message(trace)
    assert not is_data_message(trace.replace("Task 0", "ExecutorLostFailure (executor 1 exited), task 0"))


def raised(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


def test_errors_that_are_explained_already_are_not():
    cause = ValueError(TRACE.format(root=DATA[1]))
    assert is_data_failure(raised(LakeError("it fails"), cause))
    assert is_data_failure(raised(TransformError("it fails"), cause))
    assert not is_data_failure(raised(LakeNotWritableError("no space"), cause))
    assert not is_data_failure(LakeError("headwater's own words"))
