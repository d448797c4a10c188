"""What Hudi and Hadoop throw, in one sentence; the texts are theirs."""

import pytest

from headwater.errors import LakeError, LakeNotWritableError, TableMismatchError
from headwater.lake.jvm import explain_lake_failure


@pytest.mark.parametrize(
    "text",
    [
        "java.io.IOException: No space left on device",
        "java.io.IOException: Disk quota exceeded",
        "org.apache.hudi.exception.HoodieUpsertException ... java.io.IOException: File too large",
    ],
)
def test_a_place_that_takes_no_more_is_told(text):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, LakeNotWritableError)
    assert error.message == "no space left under /lake/t"


@pytest.mark.parametrize(
    "text",
    [
        "java.io.FileNotFoundException: File file:/lake/t/a.parquet does not exist",
        "Caused by: java.io.FileNotFoundException: file:/lake/t/a.parquet (No such file or directory)",
    ],
)
def test_a_file_that_is_gone_is_named_with_what_brings_its_rows_back(text):
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert type(error) is LakeError
    assert error.message == "/lake/t: a file of the table is gone: file:/lake/t/a.parquet"
    assert "verify" in error.hint


def test_a_frame_without_the_types_of_the_table_is_told():
    text = (
        "SchemaBackwardsCompatibilityException: Schema validation backwards compatibility check failed with "
        "the following issues: {MISSING_UNION_BRANCH: reader union lacking writer type: VECTOR for field: "
        "'t_record.e'}"
    )
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert isinstance(error, TableMismatchError)
    assert error.message == "/lake/t: column e is a vector there, and what was to be written has none"
