"""Ranges of offsets: their keys, and which follow."""

import pytest

from headwater.sources.kafka.ranges import (
    OffsetRange,
    Partition,
    PartitionState,
    Position,
    advance,
    find_offset,
    parse_offset,
    parse_range,
)

P0 = Partition("orders", 0)


def follow(position: Position | None, state: PartitionState, *, most: int = 100, may_restart: bool = False):
    positions = {} if position is None else {P0: position}
    return advance(positions, {P0: state}, {}, most=most, may_restart=may_restart)


def list_ranges(found) -> list[tuple[int, int]]:
    return [(one.range.begin, one.range.end) for one in found.announcements]


@pytest.mark.parametrize("one", [OffsetRange(P0, 0, 1), OffsetRange(P0, 7, 5_000), OffsetRange(P0, 9, 9)])
def test_a_key_is_parsed_to_its_range(one: OffsetRange) -> None:
    assert parse_range(one.key) == one


def test_keys_are_in_the_order_of_offsets() -> None:
    keys = [OffsetRange(P0, begin, begin + 5).key for begin in (0, 5, 100, 99_999, 1_000_000)]
    assert keys == sorted(keys)


@pytest.mark.parametrize("key", ["orders/0/5-9", "orders/x/" + "0" * 20, "a.json", f"o/0/{9:020d}-{2:020d}"])
def test_other_keys_are_no_ranges(key: str) -> None:
    assert parse_range(key) is None


def test_a_new_partition_begins_with_a_mark_and_its_messages_in_ranges() -> None:
    found = follow(None, PartitionState("id", 10, 250))
    assert list_ranges(found) == [(10, 10), (10, 110), (110, 210), (210, 250)]
    assert found.announcements[0].range.is_start
    assert found.announcements[-1].position == Position("id", 0, 10, 250)


def test_only_what_is_new_follows() -> None:
    position = Position("id", 0, 0, 40)
    assert list_ranges(follow(position, PartitionState("id", 0, 45))) == [(40, 45)]
    assert list_ranges(follow(position, PartitionState("id", 0, 40))) == []


def test_messages_that_retention_removed_are_announced_so_that_reading_them_reports_it() -> None:
    found = follow(Position("id", 0, 0, 40), PartitionState("id", 60, 70))
    assert list_ranges(found) == [(40, 70)]


@pytest.mark.parametrize("state", [PartitionState("other", 0, 50), PartitionState("id", 0, 30)])
def test_another_topic_of_the_name_and_lost_messages_are_faults(state: PartitionState) -> None:
    found = follow(Position("id", 0, 0, 40), state)
    assert not found.announcements
    assert [fault.partition for fault in found.faults] == [P0]


def test_a_topic_created_again_begins_at_its_first_message_if_allowed() -> None:
    found = follow(Position("id", 2, 0, 40), PartitionState("other", 3, 50), may_restart=True)
    assert list_ranges(found) == [(3, 3), (3, 50)]
    assert found.announcements[-1].position == Position("other", 3, 3, 50)


def test_a_topic_that_lost_messages_continues_at_its_end_if_allowed() -> None:
    found = follow(Position("id", 0, 0, 40), PartitionState("id", 0, 30), may_restart=True)
    assert list_ranges(found) == [(30, 30)]


def test_a_fault_of_one_partition_leaves_the_others_alone() -> None:
    p1 = Partition("orders", 1)
    positions = {P0: Position("id", 0, 0, 40), p1: Position("id", 0, 0, 1)}
    states = {P0: PartitionState("id", 0, 30), p1: PartitionState("id", 0, 2)}
    found = advance(positions, states, {}, most=10, may_restart=False)
    assert list_ranges(found) == [(1, 2)]
    assert len(found.faults) == 1


def test_the_number_of_a_record_is_its_offset_in_the_range() -> None:
    key = OffsetRange(P0, 100, 110).key
    assert [find_offset(key, number) for number in (1, 10, 11)] == [(P0, 100), (P0, 109), None]
    assert find_offset("a.json", 1) is None


@pytest.mark.parametrize("offset", [100, 105, 109])
def test_an_offset_is_between_the_key_of_its_range_and_the_next(offset: int) -> None:
    parsed = parse_offset(f"orders/0/{offset}")
    assert parsed is not None
    prefix, before = parsed
    own, following = OffsetRange(P0, 100, 110).key, OffsetRange(P0, 110, 111).key
    assert own.startswith(prefix)
    assert own < before < following


@pytest.mark.parametrize("address", ["orders/0", "orders/0/x", OffsetRange(P0, 1, 2).key, "orders/5"])
def test_other_addresses_are_no_offsets(address: str) -> None:
    assert parse_offset(address) is None
