from collections import Counter

import pytest
from rich.console import Console

from headwater.capture.consumer import CommitReport
from headwater.demo.progress import Progress, find_percentile
from headwater.demo.scenario import Announce, Put, Scenario, SendText
from headwater.demo.screen import build_picture, write_line
from headwater.ingest.planning.outcome import BatchResult

SCENARIO = Scenario(
    openers=(Put(0, "orders/1.json", b"{}"),),
    steps=(
        Put(1, "orders/2.json", b"{", "a truncated [gzip]"),
        Announce(2, "orders/3.json"),
        SendText(3, "no"),
        Put(4, "readme.txt", b"hi"),
    ),
)


def build_progress():
    return Progress(
        SCENARIO, ["orders"], lambda key: ["orders"] if key.startswith("orders/") else [], clock=lambda: 100.0
    )


def batch(rows=0, freshness=(), **objects):
    return BatchResult(
        "orders",
        "end",
        Counter(objects),
        Counter(),
        rows=rows,
        committed=bool(rows),
        freshness=freshness,
        seconds=0.5,
    )


def test_all_is_there_when_every_object_and_the_poison_have_an_answer():
    progress = build_progress()
    for step in (*SCENARIO.openers, *SCENARIO.steps):
        progress.note_step(step)
    progress.note_capture(CommitReport(messages=5, events=4, quarantined=1, seconds=0.1))
    progress.note_batch(batch(rows=3, ingested=1))
    assert not progress.has_all()
    assert progress.take_snapshot().tables["orders"].behind == 2
    progress.note_batch(batch(quarantined=1, missing=1))
    assert progress.has_all()
    view = progress.take_snapshot()
    assert (view.put, view.to_put, view.events, view.quarantined) == (3, 3, 4, 3)
    assert view.tables["orders"].behind == 0


def test_a_repeated_event_is_no_answer():
    progress = build_progress()
    progress.note_batch(batch(superseded=3))
    assert not progress.is_warm()


def test_the_first_object_is_not_in_the_freshness():
    progress = build_progress()
    progress.note_batch(batch(rows=1, ingested=1, freshness=(20.0,)))
    progress.note_batch(batch(rows=2, ingested=2, freshness=(1.0, 2.0)))
    table = progress.take_snapshot().tables["orders"]
    assert table.first_freshness == 20.0
    assert table.freshness == [1.0, 2.0]


def test_snapshot_is_immutable():
    progress = build_progress()
    view = progress.take_snapshot()
    progress.note_batch(batch(rows=1, ingested=1))
    assert view.tables["orders"].rows == 0


def test_screen_matches_expected_text():
    progress = build_progress()
    progress.enter("the shop is open")
    progress.note_step(SCENARIO.steps[0])
    progress.note_batch(batch(rows=3, ingested=1, freshness=(1.0,)))
    console = Console(width=120)
    with console.capture() as capture:
        console.print(*build_picture(progress.take_snapshot()))
    picture = capture.get()
    assert "(!) uploaded a truncated [gzip]: orders/2.json" in picture
    assert "orders: 1 object, 3 rows committed in 0.5 s" in picture
    assert "1 of 3 objects" in picture


def test_a_line_holds_the_same_counts():
    progress = build_progress()
    progress.note_step(SCENARIO.openers[0])
    assert write_line(progress.take_snapshot()) == (
        "    0 s  put 1/3, queue 0, notifications 0, orders 0 in / 1 behind, quarantine 0"
    )


@pytest.mark.parametrize(
    ("values", "percent", "expected"), [([], 50, None), ([4.0], 99, 4.0), ([1.0, 2.0, 3.0], 50, 2.0)]
)
def test_percentiles_of_few_values(values, percent, expected):
    assert find_percentile(values, percent) == expected
