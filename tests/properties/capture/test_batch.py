from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer.batch import BatchLimits, MessageBatch, Pace
from headwater.capture.consumer.reading import MessageReading
from tests.fixtures.events import build_event

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
EVENTS = st.builds(build_event, st.sampled_from(["a", "b", "c"]), st.integers(1, 4))


@st.composite
def readings(draw: st.DrawFn) -> list[MessageReading]:
    contents = draw(st.lists(st.lists(EVENTS, max_size=4), max_size=12))
    return [
        MessageReading(
            f"m{number}", 10, tuple(CapturedEvent(event, NOW, f"m{number}") for event in events), (), ()
        )
        for number, events in enumerate(contents)
    ]


@given(readings())
def test_every_event_is_in_the_batch_once_and_every_further_one_is_counted(
    messages: list[MessageReading],
) -> None:
    batch = MessageBatch()
    for at, reading in enumerate(messages):
        batch.add(reading, float(at))
    ids = [captured.event.event_id for reading in messages for captured in reading.events]
    assert set(batch.events) == set(ids)
    assert len(batch.events) + batch.duplicates == len(ids)
    assert batch.message_ids == [reading.message_id for reading in messages]


@given(
    readings(),
    st.floats(0, 10),
    st.builds(Pace, st.floats(0, 50), st.floats(50, 99), st.floats(0, 60), st.booleans(), st.floats(0, 1e6)),
    st.floats(0, 100),
)
def test_a_batch_closes_in_time_whatever_the_pace(
    messages: list[MessageReading], min_interval: float, pace: Pace, waited: float
) -> None:
    batch = MessageBatch()
    for reading in messages:
        batch.add(reading, 100.0)
    limits = BatchLimits(seconds=0.5, messages=5, bytes=80, min_interval=min_interval)
    left = batch.seconds_until_close(limits, pace, 100 + waited)
    if messages:
        assert 0 <= left <= max(5.0, min_interval)
        assert (left > 0) or waited >= 0
