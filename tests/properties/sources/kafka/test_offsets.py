"""Every offset of a topic is in exactly one range, whatever messages are lost with their process."""

import random
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.kafka.ranges import (
    CapturedRanges,
    OffsetRange,
    Partition,
    PartitionState,
    Position,
    advance,
    split_range,
)

P0 = Partition("orders", 0)


def find_captured(ranges: Iterable[OffsetRange], begin: int) -> CapturedRanges:
    """What the events table says of ranges: as `read_captured_ranges`, without Spark."""
    found = sorted(ranges)
    if not found:
        return CapturedRanges({})
    missing, reached = [], begin
    for one in found:
        if one.begin > reached:
            missing.append(OffsetRange(P0, reached, one.begin))
        reached = max(reached, one.end)
    return CapturedRanges({P0: Position("id", 0, begin, reached)}, missing)


@given(
    steps=st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=12),
    most=st.integers(1, 9),
    first=st.integers(0, 20),
    seed=st.integers(0, 2**16),
)
def test_every_offset_is_in_one_range(
    steps: list[tuple[int, bool]], most: int, first: int, seed: int
) -> None:
    """Each step produces messages and announces; with a crash, only some announced ranges are stored."""
    chance = random.Random(seed)
    stored: list[OffsetRange] = []
    positions: dict[Partition, Position] = {}
    end = first
    for produced, crashes in [*steps, (0, True), (0, False)]:
        end += produced
        found = advance(positions, {P0: PartitionState("id", first, end)}, {}, most=most, may_restart=False)
        announced = [one.range for one in found.announcements]
        positions |= {one.range.partition: one.position for one in found.announcements}
        if crashes:
            kept = chance.sample(announced, chance.randrange(len(announced) + 1))
            stored += kept
            captured = find_captured(stored, first)
            positions = dict(captured.positions)
            stored += [part for gap in captured.missing for part in split_range(gap, most)]
        else:
            stored += announced
    offsets = [offset for one in stored for offset in range(one.begin, one.end)]
    assert sorted(offsets) == list(range(first, end))
    assert all(one.end - one.begin <= most for one in stored)
