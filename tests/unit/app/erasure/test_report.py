"""The report says what remains and where, and a change of it is noticed."""

import json
from dataclasses import replace

import pytest

from headwater.app.erasure.report import (
    ErasureReport,
    Remaining,
    Structure,
    check_signature,
    describe,
    format_report,
    judge_scan,
    sign,
)
from headwater.errors import UsageError
from headwater.lake.erasure.scanning import FoundFile, Scan
from headwater.lake.erasure.subjects import Secret

SECRET = Secret(b"s" * 32)
REPORT = ErasureReport("orders", ("id",), ("h1",), "2026-01-01", "2026-01-02", (Structure("orders", 2),))


def test_file_of_a_savepoint_is_named_with_it() -> None:
    scan = Scan(2, 20, (FoundFile("p/f.parquet", {"h1": 2}), FoundFile("g.log", unreadable="a log file")))
    remaining = judge_scan(scan, {"20260101": frozenset({"f.parquet"}), "20260102": frozenset({"f.parquet"})})
    assert remaining == (
        Remaining("p/f.parquet", 2, "", ("20260101", "20260102")),
        Remaining("g.log", 0, "a log file"),
    )


def test_report_with_a_remaining_file_is_not_erased() -> None:
    assert REPORT.is_erased
    left = replace(REPORT, structures=(Structure("orders", remaining=(Remaining("f", 1),)),))
    assert not left.is_erased
    assert "orders: f: 1 rows" in describe(left)


def test_signature_is_valid_for_the_content_and_the_lake_only() -> None:
    content = format_report(sign(REPORT, SECRET))
    assert check_signature(content, SECRET)["table"] == "orders"
    changed = content.replace(b'"rows_deleted": 2', b'"rows_deleted": 3')
    assert changed != content
    for wrong, secret in ((changed, SECRET), (content, Secret(b"t" * 32))):
        with pytest.raises(UsageError, match="signature is not valid"):
            check_signature(wrong, secret)


@pytest.mark.parametrize("content", [b"x", b"[]", json.dumps({"table": "orders"}).encode(), b"\xff"])
def test_other_file_is_no_report(content: bytes) -> None:
    with pytest.raises(UsageError, match="not a report"):
        check_signature(content, SECRET)
