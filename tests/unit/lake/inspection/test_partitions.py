"""What lies in each partition."""

from headwater.lake import inspection
from tests.fixtures.inspection.addresses import find_fixture, list_disk


def test_partitions_have_rows_bytes_and_when_they_were_written():
    eu, us = inspection.list_partitions(find_fixture("orders_cow"), small_file_limit=8_165)
    assert (eu.partition, eu.rows, eu.file_groups, eu.small_files) == ("region=eu", 5, 1, 0)
    assert (us.partition, us.rows, us.file_groups, us.small_files) == ("region=us", 3, 1, 1)
    assert us.last_instant == "20261121060031722"
    assert us.last_written_at is not None
    assert us.last_written_at.isoformat() == "2026-11-21T06:00:31.722000+00:00"
    assert eu.last_instant > us.last_instant


def test_rows_under_logs_are_unknown_and_bytes_are_with_them():
    address = find_fixture("orders_mor")
    eu, us = inspection.list_partitions(address)
    assert [(one.rows, one.log_files) for one in (eu, us)] == [(None, 2), (None, 1)]
    assert eu.bytes + us.bytes == sum(list_disk(address).values())


def test_rows_under_logs_are_counted_when_asked():
    assert [one.rows for one in inspection.list_partitions(find_fixture("orders_mor"), merged=True)] == [5, 3]
    assert [one.rows for one in inspection.list_partitions(find_fixture("managed"), merged=True)] == [3, 1]


def test_table_without_partitions_is_one():
    (one,) = inspection.list_partitions(find_fixture("archived"))
    assert (one.partition, one.rows, one.file_groups) == ("", 7, 7)


def test_odd_names_are_as_they_are():
    found = inspection.list_partitions(find_fixture("odd_partitions"))
    assert {one.partition: one.rows for one in found} == {
        "place=Zürich": 1,
        "place=a b+c": 1,
        "place=50%": 1,
        "place=plain": 1,
    }
