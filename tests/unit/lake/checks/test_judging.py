"""Values of SQL against those of the configuration, and which failures stop a table."""

from decimal import Decimal

import pytest

from headwater.config.processing import CheckConfig
from headwater.errors import CheckFailedError
from headwater.lake.checks.judging import CheckFailure, is_equal, raise_failed


@pytest.mark.parametrize(
    ("value", "wanted", "is_same"),
    [
        (0, 0, True),
        (Decimal("12.50"), 12.5, True),
        (3, 3.0, True),
        (1, True, False),
        (True, True, True),
        (None, 0, False),
        ("2026-05-01", "2026-05-01", True),
        (7, "7", True),
        ("x", 7, False),
    ],
)
def test_numbers_are_compared_by_value_and_all_else_as_text(value, wanted, is_same):
    assert is_equal(value, wanted) is is_same


def build_failure(on_failure, label):
    check = CheckConfig.model_validate({"not_null": "id", "on_failure": on_failure})
    return CheckFailure(check, label, "1 of 2 rows: null in id", '{"v":1}')


def test_blocking_failures_are_reported_together_and_warnings_do_not_block():
    raise_failed("t", [build_failure("warn", "check 'a'")])
    with pytest.raises(CheckFailedError) as raised:
        raise_failed("t", [build_failure(f, n) for f, n in (("warn", "a"), ("fail", "b"), ("fail", "c"))])
    example = 'for example {"v":1}'
    text = f"1 of 2 rows: null in id; {example}"
    assert raised.value.message == f"table t: b: {text}; c: {text}"
