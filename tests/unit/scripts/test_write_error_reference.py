"""The committed page of errors is what errors.py says, and has a fix for each error and reason."""

from typing import get_args

import write_error_reference
from headwater.errors import HeadwaterError, ObjectError
from headwater.ingest.formats import markers, record_reasons
from headwater.ingest.isolation import bad_parts
from headwater.ingest.sets.progress import SMALL_SET
from headwater.sources.notifications.outcome import RejectReason


def list_reasons() -> set[str]:
    of_objects = {kind.reason for kind in ObjectError.__subclasses__()}
    of_records = set(markers.REASONS.values()) | set(record_reasons.DETAILS)
    return of_objects | of_records | set(get_args(RejectReason)) | {bad_parts.UNWRITABLE, SMALL_SET}


def test_committed_page_is_up_to_date() -> None:
    how = "run `python scripts/write_error_reference.py`"
    assert write_error_reference.PAGE.read_text("utf-8") == write_error_reference.write(), how


def test_every_error_has_a_fix() -> None:
    kinds = [kind.__name__ for _, kind in write_error_reference.iter_errors(HeadwaterError, 0)]
    assert kinds == list(write_error_reference.FIXES)


def test_every_reason_has_a_cause_and_a_fix() -> None:
    # These have no constant: an object without bytes, a failed check, a vector of another length.
    others = {"empty", record_reasons.FAILED_CHECK, record_reasons.BAD_VECTOR}
    assert set(write_error_reference.REASONS) == list_reasons() | others


def test_rows_have_exit_code_and_reason() -> None:
    page = write_error_reference.write()
    assert "| &emsp;`UsageError` | 2 |  | A command names" in page
    assert "| &emsp;&emsp;`TableBusyError` | 1 | yes |" in page
    assert "Reason `missing`." in page
