"""Order keys compare as S3 documents sequencers: the shorter one padded on the right with zeros, as text."""

import dataclasses
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from headwater.sources.object_event import ORDER_KEY_WIDTH, ObjectEvent, build_order_key

SEQUENCERS = st.text("0123456789abcdefABCDEF", min_size=1, max_size=ORDER_KEY_WIDTH)
EVENT = ObjectEvent(
    provider="s3",
    bucket="landing",
    key="a",
    version_id=None,
    sequencer=None,
    order_key=None,
    kind="created",
    event_name="ObjectCreated:Put",
    event_time=datetime(2026, 5, 1, tzinfo=timezone.utc),
    size=1,
    etag="e",
)


def as_fraction(sequencer: str) -> Fraction:
    """Padding on the right is comparing digits after the point."""
    return Fraction(int(sequencer, 16), 16 ** len(sequencer))


def order_key(sequencer: str) -> str:
    key = build_order_key(sequencer)
    assert key is not None
    return key


@given(SEQUENCERS, SEQUENCERS)
@example("67F8AB0912345678", "67F8AB09123456780A")
@example("67f8ab0912345678", "67F8AB091234567800")
@example("f", "0FFF")
def test_order_keys_compare_like_the_digits_after_a_point(one: str, other: str) -> None:
    keys, numbers = (order_key(one), order_key(other)), (as_fraction(one), as_fraction(other))
    assert (keys[0] < keys[1]) == (numbers[0] < numbers[1])
    assert (keys[0] == keys[1]) == (numbers[0] == numbers[1])


@given(SEQUENCERS, SEQUENCERS)
def test_padding_to_the_width_is_padding_the_shorter_one(one: str, other: str) -> None:
    width = max(len(one), len(other))
    padded = [sequencer.lower().ljust(width, "0") for sequencer in (one, other)]
    assert (order_key(one) < order_key(other)) == (padded[0] < padded[1])


@given(st.lists(SEQUENCERS))
def test_sorting_by_order_key_is_sorting_by_value(sequencers: list[str]) -> None:
    assert sorted(sequencers, key=order_key) == sorted(sequencers, key=as_fraction)


@given(SEQUENCERS)
def test_an_order_key_is_lower_case_and_of_full_width_and_stays_itself(sequencer: str) -> None:
    key = order_key(sequencer)
    assert len(key) == ORDER_KEY_WIDTH
    assert key == key.lower()
    assert order_key(key) == key


def test_without_a_sequencer_there_is_no_order_key() -> None:
    assert build_order_key(None) is None
    assert build_order_key("") is None


CUTS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


@given(st.text(st.sampled_from("ab:0123|"), max_size=12), CUTS, CUTS)
def test_text_moved_from_one_field_to_the_next_is_another_event(
    text: str, one: list[int], other: list[int]
) -> None:
    def cut(at: list[int]) -> dict[str, Any]:
        return {"bucket": text[: at[0]], "key": text[at[0] : at[1]], "version_id": text[at[1] :]}

    ids = [dataclasses.replace(EVENT, **cut(at)).event_id for at in (one, other)]
    assert (ids[0] == ids[1]) == (cut(one) == cut(other))


@given(st.integers(-14, 14))
def test_an_event_id_does_not_depend_on_the_zone_its_time_is_in(hours: int) -> None:
    local = EVENT.event_time.astimezone(timezone(timedelta(hours=hours)))
    assert dataclasses.replace(EVENT, event_time=local).event_id == EVENT.event_id
