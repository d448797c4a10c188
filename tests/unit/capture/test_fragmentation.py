"""Which days of the events table are merged."""

from datetime import date

from headwater.capture.fragmentation import choose_fragmented

TODAY = date(2026, 11, 25)


def path(day: str) -> str:
    return f"event_day=2026-{day}"


def test_a_day_that_gets_events_is_merged_less_often_than_one_that_is_over() -> None:
    small = {path("11-25"): 300, path("11-24"): 301, path("11-23"): 11, path("11-22"): 10, path("11-21"): 2}
    assert choose_fragmented(small, TODAY) == (path("11-23"), path("11-24"))


def test_worst_days_of_an_old_table_come_first() -> None:
    small = {
        path(f"{month:02}-{day:02}"): month * 100 + day for month in range(1, 11) for day in range(1, 29)
    }
    chosen = choose_fragmented(small, TODAY)
    assert chosen == tuple(path(f"10-{day:02}") for day in range(9, 29))


def test_nothing_to_merge() -> None:
    assert choose_fragmented({}, TODAY) == ()
