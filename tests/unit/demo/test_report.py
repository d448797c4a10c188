from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.demo.finale import FinaleReport
from headwater.demo.plain_reading import Expected, TableCheck
from headwater.demo.progress import TableProgress, View
from headwater.demo.report import Findings, build_report
from headwater.demo.scenario import Announce, Put, Resend, Scenario, SendText

SCENARIO = Scenario(
    openers=(Put(0, "orders/a+b.json", b"x"),),
    steps=(
        Put(1, "orders/cut.json.gz", b"x"),
        Resend(1, "orders/a+b.json"),
        Announce(2, "orders/gone.json"),
        SendText(3, "no"),
    ),
)
EXPECTED = Expected({"orders": []}, frozenset({("object", "orders/cut.json.gz", 0)}))
KEYS = ["orders/a+b.json", "orders/cut.json.gz", "orders/gone.json"]


def item(level, key, reason, **more):
    return {
        "level": level,
        "bucket": "shop",
        "key": key,
        "line": None,
        "message_id": "m-1",
        "payload": None,
        "reason": reason,
        "detail": f"{reason}, at length",
        "quarantined_at": datetime(2026, 5, 4, tzinfo=timezone.utc),
    } | more


QUARANTINE = [
    item("object", "orders/cut.json.gz", "unparsable"),
    item("object", "orders/gone.json", "missing"),
    item("message", None, "malformed_json", payload="no"),
]
GOOD = Findings([TableCheck("orders", rows=3)], QUARANTINE, KEYS)


def build_view(**changes):
    table = TableProgress(
        expected=3, announced=3, answered=3, ingested=1, unusable=2, first_freshness=9.0, freshness=[1.0, 3.0]
    )
    return View(
        stage="",
        elapsed=80.0,
        put=2,
        to_put=2,
        events=4,
        event_commits=2,
        bad_messages=1,
        waiting=0,
        in_flight=0,
        tables={"orders": table},
        recent=(),
    )


def report_of(findings, folder="demo/run 1"):
    return build_report(
        SCENARIO, EXPECTED, findings, build_view(), Path(folder) / "headwater.yaml", "headwater"
    )


def test_good_demo_has_no_problems_and_lists_locations():
    report = report_of(GOOD)
    text = "\n".join(report.lines)
    assert report.problems == ()
    assert "2 objects uploaded, 3 events captured in 2 commits; 1 notifications came twice" in text
    assert "equal to the uploads" in text
    assert "s3://shop/orders/cut.json.gz\n           unparsable: unparsable, at length" in text
    assert "m-1\n           malformed_json: malformed_json, at length\n           content: no" in text
    assert "p50 2.0 s, p99 3.0 s, over 2 objects" in text
    assert "9.0 s while Spark warmed up" in text


def test_commands_can_be_pasted_when_the_folder_has_a_space():
    lines = report_of(GOOD).lines
    assert "  headwater --config 'demo/run 1/headwater.yaml' status" in lines
    assert "  headwater --config 'demo/run 1/headwater.yaml' quarantine list" in lines
    assert any(' sql "select status, ' in line for line in lines)


@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        (
            Findings([TableCheck("orders", 2, missing=("{1}", "{2}"))], QUARANTINE, KEYS),
            "table orders: rows, 2 missing: {1}; {2}",
        ),
        (
            Findings([TableCheck("orders", 9, extra=tuple("abcdefg"))], QUARANTINE, KEYS),
            "table orders: rows, 7 unexpected: a; b; c; d; e; and 2 more",
        ),
        (Findings(GOOD.checks, QUARANTINE, KEYS[:2]), "events, 1 missing: orders/gone.json"),
        (Findings(GOOD.checks, QUARANTINE, [*KEYS, KEYS[0]]), "events, 1 unexpected: orders/a+b.json"),
        (
            Findings(GOOD.checks, QUARANTINE[:2], KEYS),
            "quarantine, 1 missing: ('message', '', 0)",
        ),
        (
            Findings(GOOD.checks, [*QUARANTINE, item("record", "orders/a+b.json", "x", line=4)], KEYS),
            "quarantine, 1 unexpected: ('record', 'orders/a+b.json', 4)",
        ),
        (Findings(GOOD.checks, QUARANTINE, KEYS, dead_letters=2), "2 messages went to the dead-letter queue"),
        (Findings(GOOD.checks, QUARANTINE, KEYS, failures=["table x: no"]), "table x: no"),
    ],
)
def test_each_difference_is_a_named_problem(findings, problem):
    report = report_of(findings)
    assert report.problems == (problem,)
    assert f"  - {problem}" in report.lines


def test_last_act_is_reported_with_duration_and_problems():
    done = FinaleReport(6.04, 3.2, None, "Hand grinder (price 49.5)", ["search: P-103 was still recommended"])
    lines = done.write_lines()
    assert lines[-1] == "  P-103's file got a lower price; the answer had it after 3.2 s"
    assert not any("recommendations stopped" in line for line in lines)
