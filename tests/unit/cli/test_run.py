"""What `headwater run` says at its end."""

from collections import Counter

from headwater.app.components import RunReport, TableTotals
from headwater.capture.consumer import CaptureStats
from headwater.cli.run import list_unmatched, render_report
from tests.fixtures.lakes import load_fixture_settings


def render(capsys, report: RunReport, quarantined: int = 0) -> list[str]:
    render_report(report, quarantined)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_report_has_captured_events_and_one_line_per_table(capsys):
    orders = TableTotals(
        commits=2,
        rows=12345,
        bad_rows=1,
        objects=Counter(ingested=7, skipped=3),
        reasons=Counter(empty_object=1, removed=2),
    )
    capture = CaptureStats(messages=20, events=15, duplicates=5)
    first, header, table = render(capsys, RunReport(capture, {"orders": orders}, {}))
    assert first == "15 events captured from 20 messages, 5 duplicates"
    assert header.startswith("table")
    assert table.split(maxsplit=4)[:4] == ["orders", "7", "12,345", "1"]
    assert "1 empty_object, 2 removed" in table
    assert table.endswith(" 2")


def test_quiet_run_says_nothing_of_duplicates_and_quarantine(capsys):
    lines = render(capsys, RunReport(CaptureStats(), {"orders": TableTotals()}, {}))
    assert lines[0] == "0 events captured from 0 messages"
    assert len(lines) == 3


def test_quarantine_is_pointed_to(capsys):
    lines = render(capsys, RunReport(CaptureStats(quarantined=1), {}, {}), quarantined=1200)
    assert lines[0].endswith(", 1 unusable")
    assert lines[-1] == "1,200 items in quarantine; list them: headwater quarantine list"


def test_empty_table_with_unmatched_path_gets_a_hint(capsys):
    report = RunReport(CaptureStats(), {"orders": TableTotals(filtered=9)}, {})
    render_report(report, 0, ["orders"])
    output = capsys.readouterr().out
    assert "orders: no rows yet; its path matches no key of 9 events. List the keys:" in output
    assert 'headwater sql "select distinct key from events limit 10"' in output


def test_healthy_tables_without_new_files_are_not_suspected(tmp_path):
    settings = load_fixture_settings(tmp_path)
    totals = {
        "orders_cow": TableTotals(filtered=2),
        "coming": TableTotals(filtered=2),
        "archived": TableTotals(filtered=0),
    }
    assert list_unmatched(settings, RunReport(CaptureStats(), totals, {})) == ["coming"]
    busy = {"coming": TableTotals(filtered=2, objects=Counter(quarantined=1))}
    assert list_unmatched(settings, RunReport(CaptureStats(), busy, {})) == []
